package selfprobe

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func mustNew(t *testing.T) *Prober {
	t.Helper()
	p, err := New()
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWrongAnswersAreRejected(t *testing.T) {
	const uid = "705ab4f5"
	const deny, patch = false, true
	tests := []struct {
		name  string
		patch bool // a patch is the right response
		body  string
		want  string
	}{
		{"a denial", deny, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",` +
			`"response":{"uid":"705ab4f5","allowed":false}}`, ""},
		{
			"a patch", patch, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",
				"response":{"uid":"705ab4f5","allowed":true,"patch":"W10=","patchType":"JSONPatch"}}`, "",
		},
		{"no JSON", deny, `<html>`, "the response is not JSON: invalid character '<' looking for beginning of value"},
		{
			"another version", deny, `{"apiVersion":"admission.k8s.io/v1beta1","kind":"AdmissionReview",` +
				`"response":{"uid":"705ab4f5"}}`,
			"the response is a admission.k8s.io/v1beta1 AdmissionReview, not an admission.k8s.io/v1 AdmissionReview",
		},
		{"no response", deny, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview"}`,
			"the response field is missing"},
		{
			"another's uid", deny, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"8"}}`,
			`the response has the uid "8", not "705ab4f5"`,
		},
		{
			"allowed", deny, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",` +
				`"response":{"uid":"705ab4f5","allowed":true}}`,
			"the response has allowed: true",
		},
		{
			"allowed and not patched", patch, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",` +
				`"response":{"uid":"705ab4f5","allowed":true}}`,
			`the response has a patch of type "" and 0 bytes`,
		},
		{
			"a patch without its type", patch, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview",
				"response":{"uid":"705ab4f5","allowed":true,"patch":"W10="}}`,
			`the response has a patch of type "" and 4 bytes`,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			if err := verify(uid, []byte(tt.body), tt.patch); err != nil {
				got = err.Error()
			}
			if got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestHangsAreTimeouts(t *testing.T) {
	over := make(chan struct{})
	tests := []struct {
		name    string
		handler http.HandlerFunc
		hangs   bool
		want    string
	}{
		{
			"busy", func(w http.ResponseWriter, _ *http.Request) {
				http.Error(w, "overloaded", http.StatusTooManyRequests)
			}, false,
			"self-probe of /mutate/pods: 429 Too Many Requests: overloaded",
		},
		{
			"hung", func(http.ResponseWriter, *http.Request) { <-over }, true, "",
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			s := httptest.NewTLSServer(tt.handler)
			t.Cleanup(s.Close)
			ctx := t.Context()
			if tt.hangs {
				t.Cleanup(func() { close(over) }) // before the server is closed, because closing waits for its handlers
				var cancel context.CancelFunc
				ctx, cancel = context.WithTimeout(ctx, 50*time.Millisecond)
				defer cancel()
			}
			err := mustNew(t).Check(ctx, s.Client(), s.URL)
			if err == nil {
				t.Fatal("no error")
			}
			if timeout, ok := errors.AsType[net.Error](err); (ok && timeout.Timeout()) != tt.hangs {
				t.Errorf("%v is a timeout: want %t", err, tt.hangs)
			}
			if tt.want != "" && err.Error() != tt.want {
				t.Errorf("%q, want %q", err, tt.want)
			}
		})
	}
}
