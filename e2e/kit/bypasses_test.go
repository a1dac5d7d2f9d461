package kit

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/restmapper"
	"sigs.k8s.io/yaml"
)

const bypasses = root + "/policy/testdata/bypasses"

// bypass is an entry of the corpus of bypasses.
type bypass struct {
	name     string
	bySchema bool                       // the API server rejects it before it calls webhooks
	want     []string                   // the sentences of Evergate
	old      *unstructured.Unstructured // the object that is updated; nil for a creation
	object   *unstructured.Unstructured
}

func readBypasses(t *testing.T) []bypass {
	t.Helper()
	paths, err := filepath.Glob(bypasses + "/*/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no bypasses: %v", err)
	}
	all := make([]bypass, 0, len(paths))
	for _, path := range paths {
		b := bypass{name: strings.TrimPrefix(path, bypasses+"/")}
		text := readFile(t, path)
		for line := range strings.Lines(string(text)) {
			line = strings.TrimSuffix(line, "\n")
			if want, ok := strings.CutPrefix(line, "# want: "); ok {
				b.want = append(b.want, want)
			}
			b.bySchema = b.bySchema || line == "# rejected by: schema"
		}
		for _, doc := range documents(t, text) {
			b.old, b.object = b.object, new(unstructured.Unstructured)
			if err := yaml.Unmarshal(doc, b.object); err != nil {
				t.Fatalf("%s: %v", path, err)
			}
		}
		all = append(all, b)
	}
	return all
}

// TestBypasses sends the corpus of bypasses to a real API server, with the product behind the webhooks in the
// manifests. Either the product denies each object with the sentence that users read offline, or the API server rejects
// the object by itself. Kinds that the API server also serves in v1beta1 are sent in both versions.
//
// The CRDs are installed after the webhooks, without restarts.
func TestBypasses(t *testing.T) {
	t.Parallel()
	c := start(t)
	k := read(t)
	c.kubectl(t, string(k.render(t, k.add(t, everyHostKind))), "apply", "-f", "-")
	binary := build(t)
	c.serve(t, binary, filepath.Join(bypasses, "policy.yaml"))
	all := readBypasses(t)
	namespaces := map[string]bool{}
	for _, b := range all {
		if name := b.object.GetNamespace(); !namespaces[name] {
			namespaces[name] = true
			c.createNamespace(t, name, map[string]string{optIn: "enabled"})
		}
	}
	first := all[slices.IndexFunc(all, func(b bypass) bool { return b.name == "ingress/no-host.yaml" })]
	await(t, "the webhooks are active", func(ctx context.Context) bool {
		return c.send(ctx, t, first.object, nil) != nil
	})
	c.installHostKinds(t)
	for _, b := range all {
		t.Run(b.name, func(t *testing.T) { c.testBypass(t, b) })
	}
	t.Run("as existing", func(t *testing.T) { c.testExisting(t, binary, all) })
}

// testExisting audits objects in a namespace that has not opted in: the first denied object of each kind.
func (c *cluster) testExisting(t *testing.T, binary string, all []bypass) {
	c.createNamespace(t, "outside", nil)
	resources, want := map[string]bool{}, []string(nil)
	for _, b := range all {
		group := b.object.GroupVersionKind().GroupKind().String()
		if b.bySchema || b.object.GetNamespace() != "owners" || resources[group] {
			continue
		}
		resources[group] = true
		object := b.object.DeepCopy()
		object.SetNamespace("outside")
		if _, err := c.resource(t, object).Create(t.Context(), object, metav1.CreateOptions{}); err != nil {
			t.Fatalf("%s: %v", b.name, err)
		}
		want = append(want, b.want...)
	}
	kinds := strings.Join(slices.Sorted(maps.Keys(resources)), ",")
	dump := c.kubectl(t, "", "get", kinds, "--namespace=outside", "--output=json")
	cmd := exec.CommandContext(t.Context(), binary, "review", "--as-existing", "--policy",
		filepath.Join(bypasses, "policy.yaml"), "--filename=-", "--output=json")
	cmd.Stdin = strings.NewReader(dump)
	out, err := cmd.Output()
	if cmd.ProcessState.ExitCode() != 1 {
		t.Fatalf("evergate review: %v", err)
	}
	var report struct {
		Results []struct {
			Findings []struct{ ID, Path, Message string }
		}
	}
	must(t, json.Unmarshal(out, &report))
	var got []string
	for _, r := range report.Results {
		for _, f := range r.Findings {
			got = append(got, f.ID+": "+f.Path+": "+f.Message)
		}
	}
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || len(report.Results) != len(resources) {
		t.Errorf("findings about %d objects of %s:\n%s\nwant\n%s", len(report.Results), kinds, strings.Join(got, "\n"),
			strings.Join(want, "\n"))
	}
}

// everyHostKind is an overlay with the webhooks of all kinds that contain host names.
const everyHostKind = `
resources: [../../kustomize/overlays/fail-closed]
components: [../../kustomize/components/host-kinds]
`

func (c *cluster) testBypass(t *testing.T, b bypass) {
	b.check(t, c.send(t.Context(), t, b.object, b.old))
	group := b.object.GroupVersionKind().Group
	if group == "gateway.networking.k8s.io" && slices.Contains(kindsInBeta(), b.object.GetKind()) {
		for _, o := range []*unstructured.Unstructured{b.object, b.old} {
			if o != nil {
				o.SetAPIVersion(group + "/v1beta1")
			}
		}
		b.check(t, c.send(t.Context(), t, b.object, b.old))
	}
}

// kindsInBeta returns the kinds of Gateway API that the standard channel also serves in v1beta1.
func kindsInBeta() []string { return []string{"HTTPRoute", "Gateway", "ReferenceGrant"} }

// check checks that the expected component denied or rejected an entry.
func (b *bypass) check(t *testing.T, err error) {
	t.Helper()
	const ours = `.evergate.dev" denied the request: `
	switch {
	case err == nil:
		t.Errorf("the API server accepts it as %s", b.object.GetAPIVersion())
	case b.bySchema:
		if strings.Contains(err.Error(), ours) || !apierrors.IsInvalid(err) {
			t.Errorf("as %s: %v; want it rejected as invalid, before webhooks", b.object.GetAPIVersion(), err)
		}
	default:
		for _, want := range append([]string{ours}, b.want...) {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("as %s: %v\nwant %s", b.object.GetAPIVersion(), err, want)
			}
		}
	}
}

// send creates an object, or updates old to it, as a dry run. It does not leave anything behind.
func (c *cluster) send(ctx context.Context, t *testing.T, object, old *unstructured.Unstructured) error {
	t.Helper()
	api := c.resource(t, object)
	if old == nil {
		_, err := api.Create(ctx, object, dryRun)
		return err
	}
	created, err := api.Create(ctx, old, metav1.CreateOptions{})
	if err != nil {
		t.Fatalf("the object to update is rejected: %v", err)
	}
	object = object.DeepCopy()
	object.SetResourceVersion(created.GetResourceVersion())
	_, updateErr := api.Update(ctx, object, metav1.UpdateOptions{DryRun: []string{metav1.DryRunAll}})
	if err := api.Delete(ctx, created.GetName(), metav1.DeleteOptions{}); err != nil {
		t.Fatal(errors.Join(err, updateErr))
	}
	return updateErr
}

// resource returns the client for an object's kind, version and namespace.
func (c *cluster) resource(t *testing.T, object *unstructured.Unstructured) dynamic.ResourceInterface {
	t.Helper()
	kind := object.GroupVersionKind()
	groups, err := restmapper.GetAPIGroupResources(c.admin.Discovery())
	must(t, err)
	mapping, err := restmapper.NewDiscoveryRESTMapper(groups).RESTMapping(kind.GroupKind(), kind.Version)
	must(t, err)
	if mapping.Scope.Name() != meta.RESTScopeNameNamespace {
		t.Fatalf("%s is not in a namespace", kind)
	}
	client, err := dynamic.NewForConfig(c.Admin().Config())
	must(t, err)
	return client.Resource(mapping.Resource).Namespace(object.GetNamespace())
}
