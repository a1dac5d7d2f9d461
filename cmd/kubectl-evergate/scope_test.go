package main

import (
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/labels"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/offline"
)

// TestSetsOfAnObject checks that a rule set applies to the objects that a webhook with its name in the path matches.
func TestSetsOfAnObject(t *testing.T) {
	s := &scope{labels: map[string]labels.Set{"edge-a": {"tier": "edge"}, "team-a": {"tier": "team"}}}
	for path, selector := range map[string]string{
		"/validate/services/set/balancers": "tier=edge",
		"/validate/workloads/set/builds":   "tier=team",
		"/validate/routes/set/public":      "tier",
	} {
		matches, err := labels.Parse(selector)
		if err != nil {
			t.Fatal(err)
		}
		w, set := admission.ParsePath(path)
		s.setsBy = append(s.setsBy, setHook{set, w, matches})
	}
	for _, test := range []struct {
		namespace, kind string
		want            []string
	}{
		{"edge-a", "Service", []string{"balancers"}},
		{"team-a", "Service", nil},
		{"edge-a", "Ingress", nil},
		{"team-a", "Deployment", []string{"builds"}},
		{"team-a", "Rollout", []string{"builds"}}, // in the templates block of the policy
		{"team-a", "Pod", nil},
		{"edge-a", "GRPCRoute", []string{"public"}},
		{"unknown", "GRPCRoute", nil},
	} {
		got := s.sets(offline.Object{Kind: test.kind, Namespace: test.namespace})
		if !slices.Equal(got, test.want) {
			t.Errorf("%s in %s: sets %v, want %v", test.kind, test.namespace, got, test.want)
		}
	}
}
