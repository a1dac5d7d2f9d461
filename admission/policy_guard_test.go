package admission

import (
	"strings"
	"testing"
	"time"

	"github.com/evergate/evergate/policy"
)

// A policy that is not checked in time is denied with a clear message.
func TestPolicyGuardOutOfTime(t *testing.T) {
	p := must(policy.Load())
	body := `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"7","operation":"CREATE",` +
		`"resource":{"group":"","version":"v1","resource":"configmaps"},` +
		`"object":{"data":{"a.yaml":"apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"}}}}`
	guard := policyGuard("/validate/policy")
	late := &policy.Effort{Expired: func() bool { return true }}
	d := must(guard.Decide(p, "", []byte(body), time.Now(), late, func(string) {}))
	want := "the check of this policy did not finish within 2s: make the policy smaller, " +
		"or try again when the server is less busy [policy " + p.Hash() + "]"
	if got := d.Response(); got.Message != want || got.Allowed || !strings.Contains(got.Message, "2s") {
		t.Errorf("got  %s\nwant %s", got.Message, want)
	}
}
