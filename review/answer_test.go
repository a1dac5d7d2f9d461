package review

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/util/net"
)

func TestEncode(t *testing.T) {
	const head = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","response":{"uid":"u-1",`
	patch := []byte(`[{"op":"replace","path":"/spec/containers/0/image","value":"m.example/nginx"}]`)
	for name, test := range map[string]struct {
		answer Answer
		want   string
	}{
		"allowed": {Answer{UID: "u-1", Allowed: true}, head + `"allowed":true}}`},
		"no uid":  {Answer{Allowed: true}, strings.Replace(head, "u-1", "", 1) + `"allowed":true}}`},
		"denied": {
			Answer{UID: "u-1", Message: "hosts/hosts.allowed: \"a\" is no host\nof yours"},
			head + `"allowed":false,"status":{"status":"Failure","message":"hosts/hosts.allowed: ` +
				`\"a\" is no host\nof yours","reason":"Forbidden","code":403}}}`,
		},
		"denied without a word": {Answer{UID: "u-1"},
			head + `"allowed":false,"status":{"status":"Failure","message":"","reason":"Forbidden","code":403}}}`},
		"message of an allowed one": {Answer{UID: "u-1", Allowed: true, Message: "x"}, head + `"allowed":true}}`},
		"patch": {
			Answer{UID: "u-1", Allowed: true, Patch: patch},
			// base64 of [{"op":"replace","path":"/spec/containers/0/image","value":"m.example/nginx"}]
			head + `"allowed":true,"patch":"` +
				`W3sib3AiOiJyZXBsYWNlIiwicGF0aCI6Ii9zcGVjL2NvbnRhaW5lcnMvMC9pbWFnZSIsInZhbHVlIjoibS5leGFtcGxlL25naW54In1d` +
				`","patchType":"JSONPatch"}}`,
		},
		"empty patch": {Answer{UID: "u-1", Allowed: true, Patch: []byte{}}, head + `"allowed":true}}`},
		"patch of a denied one": {Answer{UID: "u-1", Patch: patch, Message: "no"},
			head + `"allowed":false,"status":{"status":"Failure","message":"no","reason":"Forbidden","code":403}}}`},
		"warnings": {Answer{UID: "u-1", Allowed: true, Warnings: []string{"a", "b"}},
			head + `"allowed":true,"warnings":["a","b"]}}`},
		"audit annotations": {
			Answer{UID: "u-1", Allowed: true, AuditAnnotations: map[string]string{"b": "2", "a": "1"}},
			head + `"allowed":true,"auditAnnotations":{"a":"1","b":"2"}}}`,
		},
		"nothing of nothing left": {
			Answer{UID: "u-1", Allowed: true, Warnings: []string{"\n"}},
			head + `"allowed":true}}`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := test.answer.JSON()
			equal(t, test.want, string(got))
			checkProtocol(t, got, test.answer)
		})
	}
}

// checkProtocol checks what kube-apiserver checks of an answer (apiserver pkg/admission/plugin/webhook/request).
func checkProtocol(t *testing.T, data []byte, a Answer) {
	t.Helper()
	var review admissionv1.AdmissionReview
	if err := json.Unmarshal(data, &review); err != nil {
		t.Fatal(err)
	}
	r := review.Response
	if review.APIVersion != "admission.k8s.io/v1" || review.Kind != "AdmissionReview" || string(r.UID) != a.UID {
		t.Errorf("the API server takes no answer that is a %s %s to %q", review.APIVersion, review.Kind, r.UID)
	}
	if (r.Patch == nil) != (r.PatchType == nil) || r.PatchType != nil && *r.PatchType != admissionv1.PatchTypeJSONPatch {
		t.Errorf("patch %q of type %v", r.Patch, r.PatchType)
	}
	for _, w := range r.Warnings {
		if _, err := net.NewWarningHeader(299, "-", w); err != nil {
			t.Errorf("the API server drops the warning %q: %v", w, err)
		}
	}
}

func TestWarnings(t *testing.T) {
	long := strings.Repeat("é", 256)
	numbered := func(n, runes int) []string {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf("%0*d", runes, i)
		}
		return list
	}
	for name, test := range map[string]struct{ warnings, want []string }{
		"none":                  {nil, nil},
		"as they are":           {[]string{"one", "two"}, []string{"one", "two"}},
		"control characters":    {[]string{"one\n\ttwo\u0085three\x7f"}, []string{"one  two three"}},
		"not UTF-8":             {[]string{"a\xffb"}, []string{"a\ufffdb"}},
		"empty":                 {[]string{"", " \n", "one"}, []string{"one"}},
		"just short enough":     {[]string{long}, []string{long}},
		"too long":              {[]string{long + "!"}, []string{strings.Repeat("é", 255) + "…"}},
		"just few enough":       {numbered(11, 10), numbered(11, 10)},
		"too many":              {numbered(14, 10), append(numbered(11, 10), "… and 3 more")},
		"too many, and a blank": {append([]string{" "}, numbered(12, 10)...), append(numbered(11, 10), "… and 1 more")},
		"just within budget":    {numbered(8, 256), numbered(8, 256)},
		"beyond the budget":     {append(numbered(8, 255), "123456789", "x"), append(numbered(8, 255), "… and 2 more")},
	} {
		t.Run(name, func(t *testing.T) {
			answer := Answer{UID: "u-1", Allowed: true, Warnings: test.warnings}
			before := slices.Clone(test.warnings)
			data := answer.JSON()
			checkProtocol(t, data, answer)
			var review admissionv1.AdmissionReview
			if err := json.Unmarshal(data, &review); err != nil {
				t.Fatal(err)
			}
			equal(t, test.want, review.Response.Warnings)
			equal(t, before, test.warnings, "the answer itself was changed")
			runes := 0
			for _, w := range review.Response.Warnings {
				runes += utf8.RuneCountInString(w)
			}
			if runes > 4096/2+20 {
				t.Errorf("%d runes of warnings: two answers of that size are more than the API server passes on", runes)
			}
		})
	}
}

func FuzzEncode(f *testing.F) {
	f.Add("u-1", true, "message", "a warning", "key", "value")
	f.Add("\xff", false, "\x00", "\u2028\u0085\xed\xa0\x80", "a/b", "\n")
	f.Fuzz(func(t *testing.T, uid string, allowed bool, message, warning, key, value string) {
		a := Answer{
			UID: uid, Allowed: allowed, Message: message, Warnings: []string{warning, warning + warning},
			AuditAnnotations: map[string]string{key: value},
			Patch: encode([]operation{
				{Op: "replace", Path: key, Value: value}, {Op: "add", Path: key, Value: map[string]string{message: warning}},
			}),
		}
		if utf8.ValidString(uid) { // as every uid is that was read from JSON
			checkProtocol(t, a.JSON(), a)
		}
		var got []operation
		if err := json.Unmarshal(a.Patch, &got); err != nil {
			t.Fatalf("the patch is %s: %v", a.Patch, err)
		}
		valid := func(s string) string { return strings.Map(func(r rune) rune { return r }, s) }
		want := []operation{
			{"replace", valid(key), valid(value)},
			{"add", valid(key), map[string]any{valid(message): valid(warning)}},
		}
		equal(t, want, got)
	})
}
