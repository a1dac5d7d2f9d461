package chart

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/e2e/kit"
)

// manifests are the manifests of the repository, and the defaults of values that kustomize copies.
type manifests struct {
	kit        *kit.Kit
	root       string
	namespace  string
	repository string
	tag        string
	settings   map[string]string
	defaults   map[string]any // of the parameters
}

func readManifests(k *kit.Kit, root string) (*manifests, error) {
	m := &manifests{kit: k, root: root, defaults: map[string]any{}}
	var overlay struct{ Namespace string }
	var base struct {
		Images []struct{ NewName, NewTag string }
	}
	var settings struct{ Data map[string]string }
	for file, into := range map[string]any{
		"overlays/fail-open/kustomization.yaml": &overlay,
		"base/kustomization.yaml":               &base,
		"base/settings.yaml":                    &settings,
	} {
		data, err := os.ReadFile(filepath.Join(root, "kustomize", file))
		if err != nil {
			return nil, err
		}
		if err := yaml.Unmarshal(data, into); err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
	}
	if overlay.Namespace == "" || len(base.Images) != 1 || settings.Data["mirrors"] == "" {
		return nil, fmt.Errorf("kustomize/ has no namespace, no image or no settings")
	}
	m.namespace, m.settings = overlay.Namespace, settings.Data
	m.repository, m.tag = base.Images[0].NewName, base.Images[0].NewTag
	return m, nil
}

// renderAll returns the objects of all rows of a space, with the values in their fields.
func (m *manifests) renderAll(s *space) ([]*object, error) {
	renders := make([][]map[string]any, len(s.rows))
	errs := make([]error, len(s.rows))
	dirs := make([]string, len(s.rows))
	for i := range s.rows {
		dirs[i] = fmt.Sprintf("chart/row-%d", i)
		if err := m.addOverlay(s, i, dirs[i]); err != nil {
			return nil, err
		}
	}
	var all sync.WaitGroup
	next := make(chan int)
	for range runtime.GOMAXPROCS(0) {
		all.Go(func() {
			for i := range next {
				out, err := m.kit.Render(dirs[i])
				if err == nil {
					renders[i], err = parse(out)
				}
				errs[i] = err
			}
		})
	}
	for i := range s.rows {
		next <- i
	}
	close(next)
	all.Wait()
	if i := slices.IndexFunc(errs, func(err error) bool { return err != nil }); i >= 0 {
		var in rows
		in.add(i)
		return nil, fmt.Errorf("render %s: %w", s.describe(in), errs[i])
	}
	objects := byName(renders)
	for _, o := range objects {
		for _, tree := range o.rows {
			if tree != nil {
				m.parameterize(o, tree)
			}
		}
	}
	return objects, nil
}

// addOverlay adds the overlay of a row, and below it the overlay of the manifests that a user would choose.
func (m *manifests) addOverlay(s *space, row int, dir string) error {
	components, patches := map[bool][]string{}, map[bool][]any{}
	for f, o := range s.rows[row] {
		option, below := s.factors[f].options[o], s.factors[f].overlay
		for _, c := range option.components {
			components[below] = append(components[below], "../../kustomize/components/"+c)
		}
		if option.patch != "" {
			patches[below] = append(patches[below], map[string]any{"patch": option.patch})
		}
		if option.overlay != "" {
			of, err := m.overlayPatches(option.overlay)
			if err != nil {
				return err
			}
			patches[below] = append(patches[below], of...)
		}
	}
	name, tag, _ := strings.Cut(markImage, ":")
	below := map[string]any{
		"namespace":    m.namespace,
		"resources":    []any{"../../kustomize/base"},
		"components":   components[true],
		"patches":      patches[true],
		"transformers": []any{"../../kustomize/wiring"},
	}
	above := map[string]any{
		"namespace":  markNamespace,
		"resources":  []any{"../" + filepath.Base(dir) + "-overlay"},
		"components": components[false],
		"patches": append(patches[false],
			patch("ConfigMap", "evergate-settings", []any{
				replaceOp("/data/mirrors", markMirrors),
				replaceOp("/data/monitoringNamespace", markMonitoring),
				replaceOp("/data/collector", markCollector),
			}),
			patch("ExemptNamespaces", "evergate", []any{
				map[string]any{"op": "add", "path": "/names/-", "value": markExempt},
			})),
		"images":       []any{map[string]any{"name": m.repository, "newName": name, "newTag": tag}},
		"labels":       []any{map[string]any{"pairs": map[string]any{markLabel: "x"}, "includeTemplates": true}},
		"transformers": []any{"../../kustomize/wiring"},
	}
	for dir, kustomization := range map[string]any{dir + "-overlay": below, dir: above} {
		text, err := yaml.Marshal(kustomization)
		if err != nil {
			return err
		}
		if err := m.kit.Add(dir, string(text)); err != nil {
			return err
		}
	}
	return nil
}

// overlayPatches returns the patches of an overlay of the manifests, with the content of their files.
func (m *manifests) overlayPatches(name string) ([]any, error) {
	dir := filepath.Join(m.root, "kustomize/overlays", name)
	data, err := os.ReadFile(filepath.Join(dir, "kustomization.yaml"))
	if err != nil {
		return nil, err
	}
	var overlay struct{ Patches []map[string]any }
	if err := yaml.Unmarshal(data, &overlay); err != nil {
		return nil, err
	}
	var patches []any
	for _, p := range overlay.Patches {
		if file, ok := p["path"].(string); ok {
			data, err := os.ReadFile(filepath.Join(dir, file))
			if err != nil {
				return nil, err
			}
			delete(p, "path")
			p["patch"] = string(data)
		}
		patches = append(patches, p)
	}
	return patches, nil
}

func patch(kind, name string, ops []any) map[string]any {
	text, err := yaml.Marshal(ops)
	if err != nil { // strings have no error
		panic(err)
	}
	return map[string]any{"target": map[string]any{"kind": kind, "name": name}, "patch": string(text)}
}

func replaceOp(path, value string) map[string]any {
	return map[string]any{"op": "replace", "path": path, "value": value}
}

// parameterize replaces fields of a rendered object by the values of the chart.
func (m *manifests) parameterize(o *object, tree map[string]any) {
	replaceMarks(tree)
	if o.kind == "Namespace" { // only Helm reads the annotation
		metadata := tree["metadata"].(map[string]any)
		annotations, _ := metadata["annotations"].(map[string]any)
		if annotations == nil {
			annotations = map[string]any{}
		}
		annotations["helm.sh/resource-policy"], metadata["annotations"] = "keep", annotations
	}
	for _, p := range parameters() {
		if !p.selects(o.kind, o.name) {
			continue
		}
		was := p.apply(tree)
		if _, known := m.defaults[p.path]; !known && was != nil && p.how == replace {
			m.defaults[p.path] = was
		}
	}
}

// replaceMarks replaces the label and the exempt namespace by values that add elements.
func replaceMarks(node any) {
	switch n := node.(type) {
	case map[string]any:
		if _, ok := n[markLabel]; ok {
			delete(n, markLabel)
			n[spliceKey+"labels"] = expr{path: "labels", kind: mappingKind, with: true}
		}
		for _, child := range n {
			replaceMarks(child)
		}
	case []any:
		for i, child := range n {
			if child == markExempt {
				n[i] = expr{path: "exemptNamespaces", kind: listKind, with: true}
			} else {
				replaceMarks(child)
			}
		}
	}
}
