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
	var want []string
	for _, k := range admission.Kinds() {
		if !k.MakesPods {
			want = append(want, "list "+resourceName(k.Kind))
		}
	}
	slices.Sort(want)
	if diff := cmp.Diff(want, rights(t, "audit")); diff != "" {
		t.Error(diff)
	}
}

// With the component audit-reports, it may also write reports, and nothing else.
func TestAuditMayWriteReports(t *testing.T) {
	const verbs = "list,create,patch,delete "
	if diff := cmp.Diff([]string{
		verbs + "clusterpolicyreports.wgpolicyk8s.io", verbs + "clusterreports.openreports.io",
		verbs + "policyreports.wgpolicyk8s.io", verbs + "reports.openreports.io",
	}, rights(t, "audit-reports")); diff != "" {
		t.Error(diff)
	}
}

// rights returns the verbs and resources of the roles in a component.
func rights(t *testing.T, component string) (got []string) {
	t.Helper()
	text, err := os.ReadFile("../../kustomize/components/" + component + "/rbac.yaml")
	must(t, err)
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
	slices.Sort(got)
	return got
}
