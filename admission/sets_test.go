package admission

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

func TestParsePath(t *testing.T) {
	for path, want := range map[string]string{ // the path of the webhook, and the set; empty if there is no match
		"/validate/ingresses": "/validate/ingresses ", "/validate/ingresses/set/edge": "/validate/ingresses edge",
		"/mutate/pods": "/mutate/pods ", "/validate/policy": "/validate/policy ",
		"/validate/ingresses/set/": "", "/validate/ingresses/set/No": "", "/validate/ingresses/set/a/b": "",
		"/mutate/pods/set/edge": "", "/validate/policy/set/edge": "", "/validate/nothing": "", "": "",
	} {
		w, set := ParsePath(path)
		got := ""
		if w != nil {
			got = w.Path + " " + set
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

// The strictest mode among the rules that may apply decides about an object that cannot be evaluated. If the set is
// unknown, all rules of the kind may apply.
func TestUnevaluated(t *testing.T) {
	const entry = "- {name: %s, mode: %s, match: {%s}, types: {denied: [NodePort]}}\n"
	strict := "services:\n" + fmt.Sprintf(entry, "plain", "enforce", "namespaces: ['*']") +
		fmt.Sprintf(entry, "edge", "warn", "set: edge")
	inSet := "services:\n" + fmt.Sprintf(entry, "edge", "enforce", "set: edge")
	audit := "services:\n" + fmt.Sprintf(entry, "plain", "audit", "namespaces: ['*']")
	w, _ := ParsePath("/validate/services")
	for _, test := range []struct {
		policy, set string
		unchanged   bool
		want        policy.Mode
	}{
		{strict, "", false, policy.Enforce},
		{strict, "", true, policy.Warn},
		{strict, "edge", false, policy.Warn},
		{strict, "unknown", false, policy.Enforce},
		{inSet, "", false, policy.Off},
		{inSet, "unknown", false, policy.Enforce},
		{audit, "", false, policy.Audit},
		{audit, "", true, policy.Audit},
		{"", "", false, policy.Off},
		{"", "", true, policy.Off},
	} {
		got := w.Unevaluated(load(t, test.policy), test.set, review.Head{}, "why", test.unchanged).Unevaluated.Mode
		if got != test.want {
			t.Errorf("%+v: %s", test, got)
		}
	}
}

// Unchanged objects cause at most a warning, unless they have more text than an API server stores. Deleted objects are
// not evaluated, whatever the path is.
func TestDecideUnevaluated(t *testing.T) {
	p := load(t, "ingresses: [{name: r, mode: enforce, hosts: {required: true}}]\n")
	w, _ := ParsePath("/validate/ingresses")
	wrong := `{"spec": {"rules": "none"}}`
	long := fmt.Sprintf(`{"metadata": {"annotations": {"a": "%04194304d"}}}`, 0)
	for name, test := range map[string]struct {
		set, operation, object, old string
		want                        policy.Mode
	}{
		"wrong":                       {"", "UPDATE", wrong, "{}", policy.Enforce},
		"wrong, unchanged":            {"", "UPDATE", wrong, wrong, policy.Warn},
		"too long, unchanged":         {"", "UPDATE", long, long, policy.Enforce},
		"of an unknown set":           {"none", "CREATE", "{}", "null", policy.Enforce},
		"of an unknown set, deleted":  {"none", "DELETE", "null", "{}", policy.Off},
		"of an unknown set, the same": {"none", "UPDATE", `{"spec": {}}`, `{"spec": {}}`, policy.Warn},
	} {
		body := fmt.Appendf(nil, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
  "uid": "1", "operation": %q, "resource": {"group": "networking.k8s.io", "version": "v1", "resource": "ingresses"},
  "object": %s, "oldObject": %s}}`, test.operation, test.object, test.old)
		d, err := w.Decide(p, test.set, body, time.Now(), new(policy.Effort), func(string) {})
		if err != nil || d.Unevaluated.Mode != test.want {
			t.Errorf("%s: %+v, %v, want %s", name, d, err, test.want)
		}
	}
}

func load(t *testing.T, text string) *policy.Policy {
	t.Helper()
	p := must(policy.Load(policy.File{
		Name: "p.yaml", Data: []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + text),
	}))
	return p
}

// An object that cannot be evaluated and has a changed template is not unchanged, wherever its kind has the template.
func TestDecideUnevaluatedTemplates(t *testing.T) {
	p := load(t, `
templates: [{group: jobs.example, versions: [v1], kind: Batch, resource: batches, paths: [jobTemplate.spec]}]
pods: [{name: r, mode: enforce, images: {denied: [quay.io/evil]}, workloads: enforce}]
`)
	w, _ := ParsePath("/validate/workloads")
	var many strings.Builder // annotations of a Pod, above the limit
	for i := range 10_050 {
		fmt.Fprintf(&many, `"a%d": "b",`, i)
	}
	pod := func(image, annotations string) string {
		return `{"metadata": {"annotations": {` + annotations + `"z": ""}}, ` +
			`"spec": {"containers": [{"image": "` + image + `"}]}}`
	}
	for name, test := range map[string]struct{ group, resource, field string }{
		"a PodTemplate": {"", "podtemplates", "template"},
		"a custom resource with a path beside spec": {"jobs.example", "batches", "jobTemplate"},
	} {
		body := fmt.Appendf(nil, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
  "uid": "1", "operation": "UPDATE", "resource": {"group": %q, "version": "v1", "resource": %q},
  "object": {"metadata": {"labels": {}}, "%[3]s": %[4]s}, "oldObject": {"metadata": {"labels": {}}, "%[3]s": %[5]s}}}`,
			test.group, test.resource, test.field, pod("quay.io/evil/x:1", many.String()), pod("quay.io/a/x:1", ""))
		if test.group != "" { // a Pod at the path does not have metadata
			body = bytes.Replace(body, []byte(`{"image"`), []byte(`{"image": {}, "name"`), 1)
		}
		d, err := w.Decide(p, "", body, time.Now(), new(policy.Effort), func(string) {})
		if err != nil || d.Unevaluated.Mode != policy.Enforce {
			t.Errorf("%s: %+v, %v, want a denial", name, d, err)
		}
	}
}
