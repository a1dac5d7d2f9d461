package apiserver

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/admission"
)

// The service account of the audit component may list exactly the kinds that Evergate validates.
func TestAuditMayListEveryKind(t *testing.T) {
	text, err := os.ReadFile("../../kustomize/components/audit/rbac.yaml")
	must(t, err)
	var got, want []string
	for doc := range strings.SplitSeq(string(text), "\n---\n") {
		var role rbacv1.ClusterRole
		must(t, yaml.Unmarshal([]byte(doc), &role))
		for _, rule := range role.Rules {
			for _, group := range rule.APIGroups {
				for _, resource := range rule.Resources {
					got = append(got, strings.Join(rule.Verbs, ",")+" "+strings.TrimSuffix(resource+"."+group, "."))
				}
			}
		}
	}
	for _, k := range admission.Kinds() {
		if !k.MakesPods {
			want = append(want, "list "+resourceName(k.Kind))
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
