package handlers

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/admission"
)

// A dry run of an object with the annotation evergate.dev/hello gets a warning with the path, the version and the hash of
// the policy. The decision stays the same. Other requests do not get the warning.
func TestHello(t *testing.T) {
	f := newFixture(t, testPolicy+"- {name: edge, mode: enforce, match: {set: edge}, types: {allowed: [ClusterIP]}}\n")
	f.Version = "v1.2.3"
	s := startTLS(t, servingOf(f.Config))
	hash := f.Policies.Current().Hash()
	objects := map[string]string{
		"/mutate/pods":        reviewOf("", "pods", "CREATE", podOf("quay.io/a"), ""),
		"/validate/pods":      reviewOf("", "pods", "CREATE", podOf("nginx"), ""),
		"/validate/ingresses": reviewOf("networking.k8s.io", "ingresses", "CREATE", ingressOf("denied.example"), ""),
		"/validate/services/set/edge": reviewOf("", "services", "CREATE",
			`{"metadata":{"name":"a"},"spec":{"type":"NodePort"}}`, ""),
		"/validate/policy": reviewOf("", "configmaps", "CREATE", `{"metadata":{"name":"a"},"data":{"a.yaml":"x"}}`,
			""),
	}
	for path, body := range objects {
		plain := ask(t, s, path, body)
		dry := strings.Replace(body, `"dryRun":false`, `"dryRun":true`, 1)
		annotated := func(body string) string {
			return strings.Replace(body, `"metadata":{`, `"metadata":{"annotations":{"evergate.dev/hello":""},`, 1)
		}
		for name, other := range map[string]string{
			"not a dry run": annotated(body), "without the annotation": dry,
			"in a text": strings.Replace(dry, `"name":"shop"`, `"name":"\"evergate.dev/hello\":"`, 1),
		} {
			if a := ask(t, s, path, other); !slices.Equal(a.Warnings, plain.Warnings) {
				t.Errorf("%s, %s: %q", path, name, a.Warnings)
			}
		}
		got := ask(t, s, path, annotated(dry))
		want := "evergate.dev/hello: " + path + " answers with version v1.2.3 and policy " + hash
		plain.Warnings = append([]string{want}, plain.Warnings...)
		got.Patch, plain.Patch = nil, nil // the patch contains the annotations
		if diff := cmp.Diff(plain, got); diff != "" {
			t.Errorf("%s (-want +got)\n%s", path, diff)
		}
		p, version, policy, ok := admission.ParseHello(got.Warnings[0])
		if !ok || p != path || version != "v1.2.3" || policy != hash {
			t.Errorf("%q is %q, %q, %q", got.Warnings[0], p, version, policy)
		}
	}
	if _, _, _, ok := admission.ParseHello("[warn 0123456789ab] a/b: c"); ok {
		t.Error("another warning is accepted")
	}
	d := admission.Decision{Policy: hash}
	long := strings.Repeat("/\n", 1000)
	if hello := d.Hello(long, long); len(hello) > 600 || strings.Contains(hello, "\n") {
		t.Errorf("%d bytes: %q", len(hello), hello)
	}
}
