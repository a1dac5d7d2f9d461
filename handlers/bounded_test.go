package handlers

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// A decision must end within a second, or half of the review's timeout if that is shorter. Otherwise, the review is
// answered without it.
func TestEvaluationHasADeadline(t *testing.T) {
	for query, want := range map[string]time.Duration{
		"?timeout=30s": time.Second, "": time.Second, "?timeout=2s": time.Second, "?timeout=1s": 500 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			_, h := newFixture(t, testPolicy).fake(func(_ *policy.Policy, effort *policy.Effort) (*admission.Decision, error) {
				elapse(want)
				if effort.Expired() {
					t.Errorf("%q: its evaluation may not take %s", query, want)
				}
				elapse(1)
				if !effort.Expired() {
					t.Errorf("%q: its evaluation may take more than %s", query, want)
				}
				return nil, &review.ContentError{Head: review.Head{UID: "705ab4f5"}, Msg: policy.ErrExpired.Error()}
			})
			w := httptest.NewRecorder()
			h.ServeHTTP(w, post(t.Context(), t, "/fake"+query, "{}"))
			answer := decodeWire(t, w.Body.String())
			if w.Code != 200 || answer.Response.Allowed || answer.Response.UID != "705ab4f5" {
				t.Errorf("%q: answered %d %s", query, w.Code, w.Body)
			}
		})
	}
}

// An object that cannot be evaluated is denied if an entry is in mode enforce. An update that does not change it is
// allowed, so its finalizers can be removed.
func TestUnevaluatedUpdates(t *testing.T) {
	f := newFixture(t, testPolicy)
	s := startTLS(t, servingOf(f.Config))
	ingress := func(finalizers string, hosts int) string {
		return `{"metadata":{"name":"shop"` + finalizers + `},"spec":{"rules":[` +
			strings.TrimSuffix(strings.Repeat(`{"host":"evil.example"},`, hosts), ",") + `]}}`
	}
	const many = 10_001
	long := `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", 3<<20) + `"}}}`
	for name, test := range map[string]struct {
		object, old string
		allowed     bool
	}{
		"created":             {ingress("", many), "", false},
		"changed":             {ingress("", many+1), ingress("", many), false},
		"a finalizer removed": {ingress("", many), ingress(`,"finalizers":["example.com/x"]`, many), true},
		"made smaller":        {ingress("", 1), ingress("", many), false}, // the old object cannot be compared
		"repaired": {
			strings.ReplaceAll(ingress("", 1), "evil.example", "a.apps.corp.example"), ingress("", many), true,
		},
		"more than is stored": {long, strings.Replace(long, "{", `{"finalizers":["x"],`, 1), false},
	} {
		operation := "CREATE"
		if test.old != "" {
			operation = "UPDATE"
		}
		body := reviewOf("networking.k8s.io", "ingresses", operation, test.object, test.old)
		got := send(t, s.Client(), post(t.Context(), t, s.URL+"/validate/ingresses", body))
		answer := decodeWire(t, got.body)
		if got.status != 200 || answer.Response.Allowed != test.allowed {
			t.Errorf("%s: status %d, allowed %t, want %t", name, got.status, answer.Response.Allowed, test.allowed)
		}
		warned := fmt.Sprint(answer.Response.Warnings)
		if test.allowed && name != "repaired" && !strings.Contains(warned, "not evaluated: spec.rules[10000]: too large") {
			t.Errorf("%s: warned %s", name, warned)
		}
	}
}

// A review that exceeds the cost limit of a policy with many rules is decided by the strictest mode. It does not fail.
func TestTooCostlyIsAnswered(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("services:\n")
	for i := range 150 {
		fmt.Fprintf(&rules, "- {name: r%d, mode: enforce, ports: {allowed: [1-65535]}}\n", i)
	}
	f := newFixture(t, rules.String())
	s := startTLS(t, servingOf(f.Config))
	object := `{"spec":{"ports":[` + strings.TrimSuffix(strings.Repeat(`{"port":80},`, 10_000), ",") + `]}}`
	got := send(t, s.Client(), post(t.Context(), t, s.URL+"/validate/services",
		reviewOf("", "services", "CREATE", object, "")))
	if answer := decodeWire(t, got.body); got.status != 200 || answer.Response.Allowed {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	// Which limit is reached first varies. With the race detector, a million comparisons may take more than a second.
	if !strings.Contains(got.body, "make the object smaller") {
		t.Errorf("%s", got.body)
	}
}

func decodeWire(t *testing.T, body string) (a wire) {
	t.Helper()
	if err := json.Unmarshal([]byte(body), &a); err != nil {
		t.Fatalf("%v: %s", err, body)
	}
	return a
}
