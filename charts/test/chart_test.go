// Package chart_test compares the Helm chart with the manifests: Helm's own code renders the chart, and kustomize
// renders an overlay. This is a separate module, because Helm needs other versions of Kubernetes packages.
package chart_test

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"helm.sh/helm/v4/pkg/chart/common"
	"helm.sh/helm/v4/pkg/chart/common/util"
	chartv2 "helm.sh/helm/v4/pkg/chart/v2"
	"helm.sh/helm/v4/pkg/chart/v2/loader"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

const (
	root  = "../.." // of the repository
	chart = "../evergate"
)

// objects are the objects of a rendered chart or overlay, by kind and name.
type objects map[string]map[string]any

func (o objects) add(t *testing.T, document string) {
	t.Helper()
	object := map[string]any{}
	if err := yaml.Unmarshal([]byte(document), &object); err != nil {
		t.Fatalf("%v\n%s", err, document)
	}
	if len(object) == 0 {
		return
	}
	key := fmt.Sprintf("%v/%v", object["kind"], object["metadata"].(map[string]any)["name"])
	if o[key] != nil {
		t.Errorf("%s exists twice", key)
	}
	o[key] = object
}

// template renders the chart like helm template --namespace.
func template(t *testing.T, namespace string, values map[string]any) (objects, error) {
	t.Helper()
	return render(t, load(t), namespace, values)
}

func load(t *testing.T) *chartv2.Chart {
	t.Helper()
	c, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func render(t *testing.T, c *chartv2.Chart, namespace string, values map[string]any) (objects, error) {
	t.Helper()
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, err
	}
	release := common.ReleaseOptions{Name: "evergate", Namespace: namespace, IsInstall: true, Revision: 1}
	all, err := util.ToRenderValues(c, values, release, common.DefaultCapabilities)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, all)
	if err != nil {
		return nil, err
	}
	return decode(t, files), nil
}

// decode returns the objects in the rendered files of a chart.
func decode(t *testing.T, files map[string]string) objects {
	t.Helper()
	found := objects{}
	for name, text := range files {
		if strings.HasSuffix(name, ".yaml") {
			for document := range strings.SplitSeq(text, "\n---\n") {
				found.add(t, document)
			}
		}
	}
	return found
}

// manifests returns kustomize/ in memory.
func manifests(t *testing.T) filesys.FileSystem {
	t.Helper()
	files := filesys.MakeFsInMemory()
	err := fs.WalkDir(os.DirFS(root), "kustomize", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		return files.WriteFile("/"+name, data)
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// kustomize renders a kustomization like kubectl kustomize. Its paths are relative to kustomize/.
func kustomize(t *testing.T, files filesys.FileSystem, kustomization map[string]any) objects {
	t.Helper()
	data, err := yaml.Marshal(kustomization)
	if err != nil {
		t.Fatal(err)
	}
	if err := files.WriteFile("/kustomize/test/kustomization.yaml", data); err != nil {
		t.Fatal(err)
	}
	m, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(files, "/kustomize/test")
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	found := objects{}
	for _, r := range m.Resources() {
		text, err := r.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		found.add(t, string(text))
	}
	return found
}

// overlay is what a user writes in an overlay instead of setting a value.
type overlay struct {
	base       string // an overlay of the manifests
	components []string
	patches    []any
	fields     map[string]any // other fields of the kustomization
}

func (o overlay) kustomization() map[string]any {
	k := map[string]any{
		"resources":    []any{"../overlays/" + o.base},
		"components":   []any{},
		"patches":      o.patches,
		"transformers": []any{"../wiring"},
	}
	for _, c := range components() {
		if !slices.Contains(o.components, c.name) {
			continue
		}
		k["components"] = append(k["components"].([]any), "../components/"+c.name)
	}
	maps.Copy(k, o.fields)
	return k
}

// setting is one value, or values that belong together, and the same change of an overlay.
type setting struct {
	values string // as YAML
	change func(*overlay)
}

// valuesOf returns the values of settings.
func valuesOf(t *testing.T, settings ...setting) map[string]any {
	t.Helper()
	values := map[string]any{}
	for _, s := range settings {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(s.values), &v); err != nil {
			t.Fatal(err)
		}
		merge(values, v)
	}
	return values
}

// compare renders the chart with settings and an overlay with the same settings.
func compare(t *testing.T, files filesys.FileSystem, settings ...setting) {
	t.Helper()
	o, values := overlay{base: "fail-open"}, valuesOf(t, settings...)
	for _, s := range settings {
		s.change(&o)
	}
	got, err := template(t, o.namespace(), values)
	if err != nil {
		t.Fatal(err)
	}
	want := kustomize(t, files, o.kustomization())
	delete(want, "Namespace/"+o.namespace()) // helm install --create-namespace creates it
	delete(got, "Pod/evergate-test")         // for helm test
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%v (-kustomize +helm):\n%s", values, diff)
	}
}

func (o overlay) namespace() string {
	if name, ok := o.fields["namespace"].(string); ok {
		return name
	}
	return "evergate-system"
}

// merge copies the values of from into into, and the values of nested maps.
func merge(into, from map[string]any) {
	for key, v := range from {
		inner, ok := v.(map[string]any)
		if was, both := into[key].(map[string]any); ok && both {
			merge(was, inner)
		} else {
			into[key] = v
		}
	}
}

// TestDefaults compares the chart with its default values with the overlay fail-open.
func TestDefaults(t *testing.T) {
	files := manifests(t)
	got := kustomize(t, files, map[string]any{"resources": []any{"../overlays/fail-open"}})
	want := kustomize(t, files, overlay{base: "fail-open"}.kustomization())
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("the second wiring changes the overlay:\n%s", diff)
	}
	compare(t, files)
}

// TestEachValue compares the chart with the overlay for each value, alone and with all components.
func TestEachValue(t *testing.T) {
	for _, s := range settings() {
		t.Run(s.values, func(t *testing.T) {
			t.Parallel()
			files := manifests(t)
			compare(t, files, s)
			compare(t, files, append(everything(s), s)...)
		})
	}
}

// everything returns a setting for each component except the component of s.
func everything(s setting) []setting {
	all := []setting{failClosed()}
	traces := strings.HasPrefix(s.values, "traces:")
	for _, c := range componentSettings() {
		one := strings.HasPrefix(c.values, "traces:")
		switch {
		case c.values == s.values, strings.Contains(c.values, "false"), c.values == serviceCA, one && traces:
			continue
		case one:
			traces = true
		}
		all = append(all, c)
	}
	return all
}

// TestManyValues compares random combinations of values.
func TestManyValues(t *testing.T) {
	t.Parallel()
	files, random := manifests(t), rand.New(rand.NewPCG(3, 4))
	n := 40
	if testing.Short() {
		n = 10
	}
	for range n {
		var some []setting
		taken := map[string]bool{}
		for _, s := range settings() {
			key, _, _ := strings.Cut(s.values, ":")
			if key == "components" || key == "webhooks" {
				key = s.values
			}
			if !taken[key] && random.IntN(2) == 0 {
				taken[key] = true
				some = append(some, s)
			}
		}
		if !anyGroup(some) {
			continue
		}
		compare(t, files, some...)
		if t.Failed() {
			return
		}
	}
}

// anyGroup reports whether a group of webhooks is on. Without any, kustomize fails, because its wiring has no webhook
// to write to.
func anyGroup(some []setting) bool {
	off := 0
	for _, s := range some {
		switch {
		case s.values == "webhooks: {addOns: true}":
			return true
		case strings.HasPrefix(s.values, "webhooks:"):
			off++
		}
	}
	return off < 4
}

// property is a part of values.schema.json.
type property struct {
	Properties map[string]*property `json:"properties"`
	Others     any                  `json:"additionalProperties"`
}

// TestEveryValueIsCompared checks that values.yaml, the schema and the comparisons have the same values.
func TestEveryValueIsCompared(t *testing.T) {
	c := load(t)
	var schema property
	if err := json.Unmarshal(c.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	delete(schema.Properties, "global") // Helm sets it in a chart that contains this chart
	check(t, "", &schema, c.Values, valuesOf(t, settings()...))
	image := c.Values["image"].(map[string]any)
	if tag := image["tag"]; tag != c.Metadata.AppVersion || tag != "v"+c.Metadata.Version {
		t.Errorf("image.tag is %v, and Chart.yaml has %s and %s", tag, c.Metadata.AppVersion, c.Metadata.Version)
	}
	scanned := fmt.Sprintf("- name: evergate\n  image: %v:%v\n", image["repository"], image["tag"])
	if got := c.Metadata.Annotations["artifacthub.io/images"]; got != scanned {
		t.Errorf("Artifact Hub scans\n%s, and the default is\n%s", got, scanned)
	}
}

// check compares the names in an object of the schema with the names in values.yaml and in the comparisons.
func check(t *testing.T, path string, schema *property, values, compared map[string]any) {
	t.Helper()
	if schema.Others != false {
		t.Errorf("the schema accepts any value in %q", path)
	}
	for name := range values {
		if schema.Properties[name] == nil {
			t.Errorf("the schema does not have %s%s", path, name)
		}
	}
	for name, inner := range schema.Properties {
		if values[name] == nil || compared[name] == nil {
			t.Errorf("values.yaml or the comparisons do not have %s%s", path, name)
		} else if inner.Properties != nil {
			check(t, path+name+".", inner, values[name].(map[string]any), compared[name].(map[string]any))
		}
	}
}

// TestForbidden checks that the templates do not contain caBundle, which an injector writes, or a feature of Helm that
// reads from the cluster or needs more permissions. Only helm test may use a hook.
func TestForbidden(t *testing.T) {
	forbidden := regexp.MustCompile(`caBundle|\blookup\b|helm\.sh/hook: [^t]|\.Capabilities`)
	for _, f := range load(t).Templates {
		if found := forbidden.Find(f.Data); found != nil {
			t.Errorf("%s contains %s", f.Name, found)
		}
	}
}

// TestSchema checks that Helm rejects unknown and wrong values.
func TestSchema(t *testing.T) {
	for _, values := range []string{
		"replica: 3",
		"components: {audits: true}",
		"replicas: many",
		"failureMode: closed",
		"namespace: evergate-system", // --namespace sets it
		"webhookAnnotations: {argocd.argoproj.io/sync-wave: 1}", // annotations are strings
		"mirrors: [mirror.example]",                             // without a slash
		"collector: otel.example",
		"image: {digest: latest}",
	} {
		var v map[string]any
		if err := yaml.Unmarshal([]byte(values), &v); err != nil {
			t.Fatal(err)
		}
		if _, err := template(t, "evergate-system", v); err == nil {
			t.Errorf("Helm accepts %s", values)
		}
	}
}
