package review

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/object"
)

// readTemplatesOf returns each image of an object at paths, as field=image, in the order of the text, or the error. The
// paths of single images begin with = and follow the other paths.
func readTemplatesOf(obj string, paths ...string) ([]string, error) {
	r := jsonscan.New([]byte(obj), limits())
	var found []string
	t := templateReader{Reader: r, found: func(pod object.Pod, path string) {
		for _, image := range pod.Images {
			found = append(found, path+strings.TrimPrefix(image.Path(), "spec")+"="+image.Ref)
		}
	}}
	for _, path := range paths {
		if !strings.HasPrefix(path, "=") {
			t.images++
		}
		t.paths = append(t.paths, strings.Split(strings.TrimPrefix(path, "="), "."))
	}
	at := t.start()
	for name := range r.Fields {
		t.field(at, name)
	}
	if err := r.End(); err != nil {
		return nil, objectError(err)
	}
	return found, nil
}

func TestReadTemplates(t *testing.T) {
	const pod = `{"containers":[{"image":"a"}]}`
	long := strings.Repeat("k", 100)
	for name, test := range map[string]struct {
		paths  string
		object string
		want   string
	}{
		"a PodSpec": {"spec.template", `{"spec":{"template":` + pod + `}}`, "spec.template.containers[0].image=a"},
		"a PodTemplateSpec": {"spec.template", `{"spec":{"template":{"spec":` + pod + `}}}`,
			"spec.template.spec.containers[0].image=a"},
		"both": {"t", `{"t":{"spec":` + pod + `,"initContainers":[{"image":"b"}]}}`,
			"t.initContainers[0].image=b t.spec.containers[0].image=a"},
		"every list": {"t", `{"t":{"volumes":[{},{"image":{"reference":"d"}}],"ephemeralContainers":[{"image":"c"}],` +
			`"initContainers":[{"image":"b"}],"containers":[{},{"image":"a"}]}}`,
			"t.containers[0].image= t.containers[1].image=a t.initContainers[0].image=b t.ephemeralContainers[0].image=c " +
				"t.volumes[1].image.reference=d"},
		"a map": {"spec.roles.*.t", `{"spec":{"roles":{"Worker":{"t":` + pod + `},"a.b/c":{"t":` + pod + `},"x":{"u":` + pod +
			`}}}}`,
			"spec.roles.Worker.t.containers[0].image=a spec.roles[a.b/c].t.containers[0].image=a"},
		"a list": {"spec.jobs.*.t", `{"spec":{"jobs":[{},{"t":` + pod + `},null]}}`,
			"spec.jobs[1].t.containers[0].image=a"},
		"elements": {"jobs.*", `{"jobs":[` + pod + `,1,"x",{"spec":` + pod + `}]}`,
			"jobs[0].containers[0].image=a jobs[3].spec.containers[0].image=a"},
		"lists of lists": {"a.*.*", `{"a":[[` + pod + `],{"k":` + pod + `}]}`,
			"a[0][0].containers[0].image=a a[1].k.containers[0].image=a"},
		"several paths": {"spec.head.t spec.workers.*.t", `{"spec":{"workers":[{"t":` + pod + `}],"head":{"t":` + pod +
			`}}}`, "spec.workers[0].t.containers[0].image=a spec.head.t.containers[0].image=a"},
		"paths that fork": {"spec.*.t spec.a.b.u", `{"spec":{"a":{"b":{"u":` + pod + `},"t":` + pod + `},"c":{"b":{"u":` +
			pod + `}}}}`, "spec.a.b.u.containers[0].image=a spec.a.t.containers[0].image=a"},
		"any of many types": {"spec.*.t", `{"spec":{"replicas":3,"a":"t","b":["t"],"c":true,"d":null,"e":{"t":` + pod + `}}}`,
			"spec.e.t.containers[0].image=a"},
		"any that ends": {"spec.*", `{"spec":{"replicas":3,"list":[],"e":` + pod + `}}`,
			"spec.e.containers[0].image=a"},
		"single images": {"spec.t =spec.image =spec.steps.*.image =spec.any.*", `{"spec":{"image":"a","t":` + pod +
			`,"steps":[{"image":"b"},{"image":null},{}],"any":{"x":"c","y":1,"z":{}}}}`,
			"spec.image=a spec.t.containers[0].image=a spec.steps[0].image=b spec.any.x=c"},
		"elsewhere": {"spec.template", `{"template":` + pod + `,"spec":{"other":` + pod + `,"Template":` + pod +
			`}}`, ""},
		"null":                {"spec.template", `{"spec":{"template":null}}`, ""},
		"null on the way":     {"spec.template", `{"spec":null}`, ""},
		"null in it":          {"t", `{"t":{"spec":null,"metadata":null,"containers":null}}`, ""},
		"empty":               {"t u.*", `{"t":{},"u":{}}`, ""},
		"absent":              {"spec.template", `{"metadata":{}}`, ""},
		"escaped":             {"t", `{"\u0074":` + pod + `}`, "t.containers[0].image=a"},
		"a key like the star": {"a.*.t", `{"a":{"*":1,"b":{"t":` + pod + `}}}`, "a.b.t.containers[0].image=a"},
		"a long key": {"a.*.t", `{"a":{"` + long + `":{"t":` + pod + `}}}`, "a." + long[:57] +
			"….t.containers[0].image=a"},
		"a key to hide": {"a.*", `{"a":{"\u001b[2J":` + pod + `}}`, "a[ [2J].containers[0].image=a"},
	} {
		t.Run(name, func(t *testing.T) {
			got := must(readTemplatesOf(test.object, strings.Fields(test.paths)...))
			equal(t, test.want, strings.Join(got, " "))
		})
	}
}

// If the content of an object cannot be read, the error contains the field.
func TestReadTemplatesErrors(t *testing.T) {
	many := strings.Repeat(`{},`, maxElements) + `{}`
	for name, test := range map[string]struct{ paths, object, want string }{
		"a text at the end": {"spec.template", `{"spec":{"template":"x"}}`, "spec.template: want an object, got a string"},
		"a list at the end": {"spec.template", `{"spec":{"template":[{}]}}`, "spec.template: want an object, got a list"},
		"on the way":        {"spec.template", `{"spec":[]}`, "spec: want an object, got a list"},
		"before a star":     {"spec.roles.*.t", `{"spec":{"roles":3}}`, "spec.roles: want an object or a list, got a number"},
		"behind a star":     {"a.*.b.c", `{"a":{"x":{"b":1}}}`, "a.x.b: want an object, got a number"},
		"an image": {"a.*.t", `{"a":[{"t":{"spec":{"containers":[{"image":1}]}}}]}`,
			"a[0].t.spec.containers[0].image: want a string, got a number"},
		"a spec": {"t", `{"t":{"spec":"x"}}`, "t.spec: want an object, got a string"},
		"a single image": {"=spec.steps.*.image", `{"spec":{"steps":[{"image":{"name":"a"}}]}}`,
			"spec.steps[0].image: want a string, got an object"},
		"labels": {"t", `{"t":{"metadata":{"labels":{"a":1}}}}`,
			"t.metadata.labels.a: want a string, got a number"},
		"twice":       {"t", `{"t":{},"t":{}}`, "t: duplicate key"},
		"a key twice": {"a.*.t", `{"a":{"x":1,"\u0078":1}}`, "a.x: duplicate key"},
		"elements": {"a.*.t", `{"a":[` + many + `]}`,
			"a[10000]: too large: at most 10000 list elements and map entries of an object are evaluated"},
		"as long as can be": {"a.b.c.d.e.f.g.h.i.j",
			`{"a":{"b":{"c":{"d":{"e":{"f":{"g":{"h":{"i":{"j":{"spec":{"containers":[{"image":1}]}}}}}}}}}}}}`,
			"a.b.c.d.e.f.g.h.i.j.spec.containers[0].image: want a string, got a number"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readTemplatesOf(test.object, strings.Fields(test.paths)...)
			content, ok := errors.AsType[*ContentError](err)
			if !ok || content.Msg != test.want {
				t.Errorf("got %v, want %s", err, test.want)
			}
		})
	}
}

// The paths of many deep templates count as text of the object. Long keys cause an error before their paths take more
// memory than the object itself may have.
func TestReadTemplatesPathsAreBounded(t *testing.T) {
	var object strings.Builder
	key := strings.Repeat("k", text.Short)
	for range 8 {
		fmt.Fprintf(&object, `{"%s":`, key)
	}
	object.WriteString("[" + strings.Repeat(`{"containers":[{"image":"a"}]},`, 4989) + `{"containers":[{"image":"a"}]}]`)
	object.WriteString(strings.Repeat("}", 8))
	got, err := readTemplatesOf(object.String(), key+strings.Repeat(".*", 8))
	if err != nil || len(got) != 4990 {
		t.Errorf("%d, %v", len(got), err)
	}
	deep := strings.NewReplacer(`"a"`, `"`+strings.Repeat("a", 200)+`"`).Replace(object.String())
	_, err = readTemplatesOf(deep, key+strings.Repeat(".*", 8))
	if err == nil || !strings.HasSuffix(err.Error(), "too large: at most 3 MiB of text of an object are evaluated") {
		t.Errorf("%v", err)
	}
}

// FuzzTemplates compares the reader with a naive walk over the decoded object: both must find the same images in the
// same fields.
func FuzzTemplates(f *testing.F) {
	for _, object := range []string{
		`{"spec":{"template":{"spec":{"containers":[{"image":"a"}]}},"jobs":[{"template":{"containers":[{"image":"b"}]}}]}}`,
		`{"spec":{"roles":{"a.b":[{"template":{"spec":{"volumes":[{"image":{"reference":"c"}}]}}},3],` +
			`"x":{"\u0079":{"template":{}}}}}}`,
		`{"spec":{"template":"x","jobs":{"a":1}}}`,
		`{"spec":{"any":{"k":1},"n":null,"jobs":[],"template":null}}`,
		`{"any":{"a":{"initContainers":[null,{"image":""}]},"*":1}}`,
	} {
		f.Add(object)
	}
	paths := []string{"spec.template", "spec.jobs.*.template", "spec.roles.*.*.template", "any.*"}
	f.Fuzz(func(t *testing.T, object string) {
		var tree any
		if json.Unmarshal([]byte(object), &tree) != nil || len(object) > 1<<16 {
			return
		}
		got, err := readTemplatesOf(object, paths...)
		if err != nil && (strings.Contains(err.Error(), "duplicate key") || strings.Contains(err.Error(), "too large")) {
			return // the walk does not support either
		}
		var want naiveTemplates
		want.root(tree, paths)
		if (err != nil) != want.wrong {
			t.Fatalf("%s: error %v, and the walk returns %t", object, err, want.wrong)
		}
		if err != nil {
			return
		}
		slices.Sort(got)
		slices.Sort(want.found)
		equal(t, want.found, got, object)
	})
}

// naiveTemplates contains the images of a decoded object.
type naiveTemplates struct {
	found []string
	wrong bool // a value has the wrong type
}

func (n *naiveTemplates) root(tree any, paths []string) {
	object, ok := tree.(map[string]any)
	n.wrong = !ok && tree != nil
	for _, path := range paths {
		n.walk(object, strings.Split(path, "."), "", true)
	}
}

// walk follows the rest of a path from a value. named is true if the last segment was a name.
func (n *naiveTemplates) walk(v any, rest []string, at string, named bool) {
	object, isObject := v.(map[string]any)
	list, isList := v.([]any)
	switch {
	case v == nil || object == nil && isObject:
	case len(rest) == 0:
		if isObject {
			n.template(object, at)
		} else if named {
			n.wrong = true
		}
	case isObject && rest[0] == "*":
		for key, value := range object {
			n.walk(value, rest[1:], at+shownKey(key, at), false)
		}
	case isObject:
		n.walk(object[rest[0]], rest[1:], at+shownKey(rest[0], at), true)
	case isList && rest[0] == "*":
		for i, value := range list {
			n.walk(value, rest[1:], fmt.Sprintf("%s[%d]", at, i), false)
		}
	case named:
		n.wrong = true
	}
}

func shownKey(key, at string) string {
	key = text.Printable(key, text.Short)
	switch {
	case strings.ContainsAny(key, "./[]"):
		return "[" + key + "]"
	case at == "":
		return key
	}
	return "." + key
}

// template reads a Pod template with Go's JSON decoder, and lists its fields explicitly.
func (n *naiveTemplates) template(object map[string]any, at string) {
	if !exactly(object, "metadata", map[string]any{}) || !exactly(object, "spec", map[string]any{}) {
		n.wrong = true
		return
	}
	meta, _ := object["metadata"].(map[string]any)
	n.meta(meta)
	n.pod(object, at)
	if spec, _ := object["spec"].(map[string]any); spec != nil {
		n.pod(spec, at+".spec")
	}
}

// exactly reports whether a field is absent, null or of the type of like.
func exactly(object map[string]any, field string, like any) bool {
	v := object[field]
	return v == nil || fmt.Sprintf("%T", v) == fmt.Sprintf("%T", like)
}

func (n *naiveTemplates) meta(meta map[string]any) {
	for _, field := range []string{"name", "namespace", "generateName"} {
		n.wrong = n.wrong || !exactly(meta, field, "")
	}
	for _, field := range []string{"labels", "annotations"} {
		n.wrong = n.wrong || !exactly(meta, field, map[string]any{})
		m, _ := meta[field].(map[string]any)
		for key := range m {
			n.wrong = n.wrong || !exactly(m, key, "")
		}
	}
	for _, owner := range n.objects(meta, "ownerReferences") {
		n.wrong = n.wrong || !exactly(owner, "kind", "") || !exactly(owner, "name", "") || !exactly(owner, "controller", true)
	}
}

// objects returns the elements of a list of objects.
func (n *naiveTemplates) objects(in map[string]any, field string) []map[string]any {
	n.wrong = n.wrong || !exactly(in, field, []any{})
	list, _ := in[field].([]any)
	var all []map[string]any
	for _, v := range list {
		object, ok := v.(map[string]any)
		n.wrong = n.wrong || !ok && v != nil
		all = append(all, object)
	}
	return all
}

func (n *naiveTemplates) pod(spec map[string]any, at string) {
	for _, list := range []string{"containers", "initContainers", "ephemeralContainers"} {
		for i, c := range n.objects(spec, list) {
			n.wrong = n.wrong || !exactly(c, "name", "") || !exactly(c, "image", "")
			image, _ := c["image"].(string)
			n.found = append(n.found, fmt.Sprintf("%s.%s[%d].image=%s", at, list, i, image))
		}
	}
	for i, v := range n.objects(spec, "volumes") {
		n.wrong = n.wrong || !exactly(v, "name", "") || !exactly(v, "image", map[string]any{})
		if image, _ := v["image"].(map[string]any); image != nil {
			n.wrong = n.wrong || !exactly(image, "reference", "")
			ref, _ := image["reference"].(string)
			n.found = append(n.found, fmt.Sprintf("%s.volumes[%d].image.reference=%s", at, i, ref))
		}
	}
	for _, secret := range n.objects(spec, "imagePullSecrets") {
		n.wrong = n.wrong || !exactly(secret, "name", "")
	}
}
