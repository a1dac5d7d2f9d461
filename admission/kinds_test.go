package admission

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy"
)

// Each path asks for the mode of the entries that concern it, and of no others.
func TestModesOfPaths(t *testing.T) {
	modes := policy.Modes{Mirrors: policy.Off, Pods: policy.Audit, Ingresses: policy.Warn, Services: policy.Enforce}
	got := map[string]policy.Mode{}
	for _, w := range Webhooks() {
		got[w.Path] = w.Strictest(modes)
	}
	want := map[string]policy.Mode{
		"/mutate/pods": policy.Off, "/mutate/pods/again": policy.Off, "/validate/pods": policy.Audit,
		"/validate/ingresses": policy.Warn, "/validate/services": policy.Enforce, "/validate/services/status": policy.Enforce,
		"/validate/policy": policy.Enforce, // a policy that cannot be read is none
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}
