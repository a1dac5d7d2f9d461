package handlers

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/telemetry"
)

// A review that has its slot is decided within a second, or half of its timeout where that is less.
func TestJudgingHasADeadline(t *testing.T) {
	for timeout, want := range map[time.Duration]time.Duration{
		10 * time.Second: time.Second, 2 * time.Second: time.Second, time.Second: 500 * time.Millisecond,
	} {
		synctest.Test(t, func(t *testing.T) {
			f := newFixture(t, testPolicy)
			var took time.Duration
			slow := func(_ *policy.Policy, _ []byte, effort *policy.Effort, _ *telemetry.ReviewSpan) (*verdict, error) {
				start := time.Now()
				for !effort.Expired() {
					time.Sleep(time.Millisecond) // in a bubble: what judging takes
				}
				took = time.Since(start)
				return nil, &review.ContentError{UID: "705ab4f5", Msg: policy.ErrExpired.Error()}
			}
			e := newServer(f.Config).endpoint(reviewing{path: "/fake", judge: slow, mode: func(policy.Modes) policy.Mode { return policy.Enforce }})
			v, err := e.decide([]byte("{}"), timesWithin(timeout, time.Now()).judging(), nil)
			if err != nil || !v.denies() {
				t.Fatalf("%v, denies %t", err, v.denies())
			}
			if took < want || took > want+10*time.Millisecond {
				t.Errorf("timeout %s: judged for %s, want %s", timeout, took, want)
			}
		})
	}
}

// What cannot be judged is denied where something is enforced, but an update that changes nothing of it is not: finalizers
// can be removed.
func TestUnjudgedUpdates(t *testing.T) {
	f := newFixture(t, testPolicy)
	s := startTLS(t, Serving(f.Config))
	ingress := func(finalizers string, hosts int) string {
		return `{"metadata":{"name":"shop"` + finalizers + `},"spec":{"rules":[` +
			strings.TrimSuffix(strings.Repeat(`{"host":"evil.example"},`, hosts), ",") + `]}}`
	}
	const many = 10_001
	for name, test := range map[string]struct {
		object, old string
		allowed     bool
	}{
		"created":             {ingress("", many), "", false},
		"changed":             {ingress("", many+1), ingress("", many), false},
		"a finalizer removed": {ingress("", many), ingress(`,"finalizers":["example.com/x"]`, many), true},
		"made smaller":        {ingress("", 1), ingress("", many), false}, // the old one cannot be compared with
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
		if warned := fmt.Sprint(answer.Response.Warnings); test.allowed && !strings.Contains(warned, "not judged: spec.rules[10000]: too large") {
			t.Errorf("%s: warned %s", name, warned)
		}
	}
}

// More than a policy of many rules may cost is answered by the strictest mode, not failed.
func TestTooCostlyIsAnswered(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("services:\n")
	for i := range 150 {
		fmt.Fprintf(&rules, "- {name: r%d, mode: enforce, ports: {allowed: [1-65535]}}\n", i)
	}
	f := newFixture(t, rules.String())
	s := startTLS(t, Serving(f.Config))
	object := `{"spec":{"ports":[` + strings.TrimSuffix(strings.Repeat(`{"port":80},`, 10_000), ",") + `]}}`
	got := send(t, s.Client(), post(t.Context(), t, s.URL+"/validate/services", reviewOf("", "services", "CREATE", object, "")))
	if answer := decodeWire(t, got.body); got.status != 200 || answer.Response.Allowed {
		t.Errorf("status %d: %s", got.status, got.body)
	}
	if !strings.Contains(got.body, "make the object smaller") { // a million comparisons may take the race detector more than a second
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
