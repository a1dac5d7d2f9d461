package main

import (
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy"
	decoding "github.com/evergate/evergate/review"
	"github.com/evergate/evergate/review/reviewtest"
)

func TestRatios(t *testing.T) {
	c := &cost{micros: map[string][]float64{"floor": {1, 2, 4}, "example": {2, 6, 4}, "many": {4, 6, 2}}}
	if got := c.ratio("example", "floor"); got != 2 { // of 2, 3, 1
		t.Errorf("ratio %v, want 2", got)
	}
	if got := c.growth("many"); got != 0 { // of 2, 1, 0.5
		t.Errorf("growth %v, want 0", got)
	}
}

func TestVerify(t *testing.T) {
	const image = mirror + "/docker.io/acme/shop-00:v1.0.0"
	for name, test := range map[string]struct {
		uid, image, more string
		wrong            bool
	}{
		"right":            {reviewtest.UID, image, "", false},
		"another uid":      {"1-1", image, "", true},
		"another registry": {reviewtest.UID, "evil.example/acme/shop-00:v1.0.0", "", true},
		"warnings":         {reviewtest.UID, image, `,"warnings":["x"]`, true},
		"denied":           {reviewtest.UID, image, `,"allowed":false`, true},
	} {
		t.Run(name, func(t *testing.T) {
			patch := fmt.Appendf(nil, `[{"op":"replace","path":"/spec/containers/0/image","value":%q}]`, test.image)
			answer := fmt.Appendf(nil, `{"response":{"uid":%q,"allowed":true,"auditAnnotations":{"policy":"p"},"patch":%q%s}}`,
				test.uid, base64.StdEncoding.EncodeToString(patch), test.more)
			if err := reviews()[0].verify(answer); (err != nil) != test.wrong {
				t.Errorf("got %v", err)
			}
		})
	}
}

// Each limit, if exceeded, fails only its own row.
func TestReport(t *testing.T) {
	for _, test := range []struct {
		row    string // the row that fails
		server string
		micros float64
		size   int64
	}{
		{"", "example", 2, 27 << 20},
		{"| title (0 KB) | 2.10 | 2.00 | **fail** |", "floor", 2 / 2.1, 27 << 20},
		{"| title, with 10000 mirrors and 1000 rules | +16 % | +15 % | **fail** |", "many", 2.32, 27 << 20},
		{"| title, with 50000 owned hosts | +21 % | +20 % | **fail** |", "owned", 2.42, 27 << 20},
		{"| binary | 29.0 MiB | 28.0 MiB | **fail** |", "example", 2, 29 << 20},
	} {
		micros := map[string][]float64{"floor": {1}, "example": {2}, "many": {2.1}, "owned": {2.1}}
		micros[test.server] = []float64{test.micros}
		costs := []*cost{{&review{name: "title", limit: 2, hosts: true}, micros}}
		text, failed := report(costs, test.size)
		if failed != (test.row != "") || !strings.Contains(text, test.row) || strings.Count(text, "fail") > 1 {
			t.Errorf("want %q, got %s", test.row, text)
		}
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
		traces = p.ExplainService(req.Attributes, req.Object)
	case "/validate/ingresses":
		req, err := decoding.Ingresses().Decode(r.body)
		if err != nil {
			t.Fatal(err)
		}
		traces = p.ExplainIngress(req.Attributes, req.Object)
	case "/validate/routes":
		req, err := decoding.Routes().Decode(r.body)
		if err != nil {
			t.Fatal(err)
		}
		traces = p.ExplainRoute(req.Attributes, req.Object)
	}
	for _, trace := range traces {
		if trace.Applies {
			n++
		}
	}
	return n
}
