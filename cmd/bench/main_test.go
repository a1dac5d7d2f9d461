package main

import (
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evergate/evergate/policy"
	decoding "github.com/evergate/evergate/review"
)

func TestRatios(t *testing.T) {
	c := &cost{floor: []float64{1, 2, 4}, example: []float64{2, 6, 4}, many: []float64{4, 6, 2}}
	if got := c.ratio(); got != 2 { // of 2, 3, 1
		t.Errorf("ratio %v, want 2", got)
	}
	if got := c.growth(c.many); got != 1 { // of 2, 1, 0.5
		t.Errorf("growth %v, want 1", got)
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that does not respond for 100 ms also delays calls that have not been sent yet.
func TestPaceCountsWaiting(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		answering := make(chan struct{})
		time.AfterFunc(100*time.Millisecond, func() { close(answering) })
		client := &http.Client{Transport: roundTrip(func(*http.Request) (*http.Response, error) {
			<-answering
			return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(""))}, nil
		})}
		c := newSender(reviews()[0], &server{floor: true}, client)
		took, err := c.pace(t.Context(), 1000, 200*time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range map[int]time.Duration{0: 100 * time.Millisecond, 50: 50 * time.Millisecond, 150: 0} {
			if took[i] != want { // of a clock that only sleeping moves
				t.Errorf("call %d took %v, want %v", i, took[i], want)
			}
		}
	})
}

func TestCheck(t *testing.T) {
	const frame = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":` +
		`{"uid":%q,"allowed":true,"auditAnnotations":{"policy":%q}}}`
	for name, test := range map[string]struct {
		uid, policy string
		wrong       bool
	}{
		"right":                 {"2-2", "p", false},
		"the uid of another":    {"1-1", "p", true},
		"no uid":                {"", "p", true},
		"differs after the uid": {"2-2", "q", true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newSender(line(t, "Service"), &server{}, nil).worker()
			if err := w.check([]byte("1-1"), fmt.Appendf(nil, frame, "1-1", "p")); err != nil {
				t.Fatal(err)
			}
			if err := w.check([]byte("2-2"), fmt.Appendf(nil, frame, test.uid, test.policy)); (err != nil) != test.wrong {
				t.Errorf("got %v", err)
			}
		})
	}
}

func TestVerifyPatch(t *testing.T) {
	const (
		image  = "docker.io/acme/shop-00:v1.0.0"
		record = `{\"containers/app-00\":\"` + image + `\"}`
		frame  = `[{"op":"replace","path":"/spec/containers/0/image","value":"%s"},` +
			`{"op":"add","path":"/metadata/annotations","value":{"evergate.dev/original-images":"%s"}}%s]`
	)
	for name, test := range map[string]struct {
		image, record, more string
		wrong               bool
	}{
		"right":            {mirror + "/" + image, record, "", false},
		"another registry": {"evil.example/" + image, record, "", true},
		"another tag":      {mirror + "/docker.io/acme/shop-00:v1", record, "", true},
		"no record":        {mirror + "/" + image, "", "", true},
		"something else":   {mirror + "/" + image, record, `,{"op":"remove","path":"/metadata/labels"}`, true},
	} {
		t.Run(name, func(t *testing.T) {
			err := line(t, "small Pod").verifyPatch(fmt.Appendf(nil, frame, test.image, test.record, test.more))
			if (err != nil) != test.wrong {
				t.Errorf("got %v", err)
			}
		})
	}
}

func line(t *testing.T, name string) *review {
	t.Helper()
	for _, r := range reviews() {
		if strings.HasPrefix(r.name, name) {
			return r
		}
	}
	t.Fatalf("no line of the table begins with %q", name)
	return nil
}

// Each limit, if exceeded, fails only its own row.
func TestRows(t *testing.T) {
	for _, test := range []struct {
		row, got string // the row that fails, and its value
		spoil    func(*results)
	}{
		{"", "", func(*results) {}},
		{"title (", "2.10", func(r *results) { r.costs[0].example[0], r.costs[0].many[0] = 2.1, 2.1 }},
		{"mirrors and", "+16 %", func(r *results) { r.costs[0].many[0] = 2.32 }},
		{"owned hosts", "+21 %", func(r *results) { r.costs[0].owned[0] = 2.42 }},
		{"p99", "3.10", func(r *results) { r.latency.example[0] = 3.1 }},
		{"p99", "not measured", func(r *results) { r.latency = nil }},
		{"p99", "noise: the floor's is 11 ms", func(r *results) { r.latency.floor[0], r.latency.example[0] = 11, 11 }},
		{"idle", "31 MiB", func(r *results) { r.memory.idle = 31 << 20 }},
		{"peak", "73 MiB", func(r *results) { r.memory.most = 73 << 20 }},
		{"growth of", "+12 %", func(r *results) { r.memory.tenths[9] = 112 }},
		{"exec to ready", "151 ms", func(r *results) { r.startTook[0] = 151 }},
		{"binary", "29.0 MiB", func(r *results) { r.size = 29 << 20 }},
	} {
		t.Run(test.row+test.got, func(t *testing.T) {
			r := &results{
				costs: []*cost{{
					review: &review{name: "title", limit: 2},
					floor:  []float64{1}, example: []float64{2}, many: []float64{2.1}, owned: []float64{2.1},
				}},
				memory:    &memories{idle: 30 << 20, most: 72 << 20, tenths: []int64{100, 200, 0, 0, 0, 0, 0, 0, 0, 109}},
				latency:   &latencies{floor: []float64{1}, example: []float64{3}},
				startTook: []float64{150}, size: 27 << 20,
			}
			test.spoil(r)
			failed := slices.DeleteFunc(r.rows(), func(r row) bool { return r.pass })
			switch {
			case test.row == "" && len(failed) == 0:
			case len(failed) != 1 || !strings.Contains(failed[0].what, test.row) || failed[0].got != test.got:
				t.Errorf("failed: %v", failed)
			}
		})
	}
}

// The documented number of rules applies to each object.
func TestPolicies(t *testing.T) {
	for name, text := range map[string]string{
		"example": examplePolicy(), "many": manyPolicy(), "owned": ownedPolicy(),
	} {
		p, err := policy.Load(policy.File{Name: name + ".yaml", Data: []byte(text)})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range reviews() {
			want := map[string]int{"/validate/services": 9, "/validate/ingresses": 10, "/validate/routes": 4}[r.path]
			if name == "owned" && want > 0 {
				want++ // the owners
			}
			if got := asked(t, p, r); got != want {
				t.Errorf("%s, %s: %d rules look at it, want %d", name, r.name, got, want)
			}
		}
	}
}

// asked returns the number of rules that apply to the object of a review. Rules for Pods are not evaluated when a Pod
// is rewritten.
func asked(t *testing.T, p *policy.Policy, r *review) (n int) {
	t.Helper()
	var traces []policy.RuleTrace
	switch r.path {
	case "/validate/services":
		req, err := decoding.Services().Decode(r.body)
		if err != nil {
			t.Fatal(err)
		}
		traces = policy.Services.Explain(p, req.Attributes, req.Object)
	case "/validate/ingresses":
		req, err := decoding.Ingresses().Decode(r.body)
		if err != nil {
			t.Fatal(err)
		}
		traces = policy.Ingresses.Explain(p, req.Attributes, req.Object)
	case "/validate/routes":
		req, err := decoding.Routes().Decode(r.body)
		if err != nil {
			t.Fatal(err)
		}
		traces = policy.Routes.Explain(p, req.Attributes, req.Object)
	}
	for _, trace := range traces {
		if trace.Applies {
			n++
		}
	}
	return n
}
