package review

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// templateReader reads the Pod templates in an object, at the paths in a policy. It follows all paths together, so it
// reads each byte only once. It does not read anything else.
//
// null counts as absent. A value at a named segment of a path must have the type that the path needs. A value that
// matches only * may be a different field, and is skipped if it cannot contain a template.
type templateReader struct {
	*jsonscan.Reader
	paths []policy.TemplatePath
	// images is the index in paths of the first path of a single image. The paths before it lead to templates.
	images int
	// path is the position of the reader, as users write it. It truncates keys, because tenants choose them.
	path []byte
	// found is called for each Pod with an image, with the path of its PodSpec.
	found func(pod object.Pod, path string)
}

// position represents the paths that lead to a value. Their first depth segments have been followed.
type position struct {
	paths []int // indexes; all of these paths have more than depth segments
	depth int
	named bool // the last segment of a path is a name and not *
}

// start returns the position of the object.
func (t *templateReader) start() position {
	all := make([]int, len(t.paths))
	for i := range all {
		all[i] = i
	}
	return position{paths: all, named: true}
}

// next returns the position of a field, or of a list element if name is nil. ends reports whether a path ends there. If
// one does, it is the only path there, because paths in the same entry never lead into the value of another path.
func (t *templateReader) next(at position, name []byte) (to position, ends bool) {
	to.depth = at.depth + 1
	for _, i := range at.paths {
		segment := t.paths[i][at.depth]
		if segment != policy.AnyElement && segment != string(name) {
			continue
		}
		to.paths = append(to.paths, i)
		to.named = to.named || segment != policy.AnyElement
		ends = ends || len(t.paths[i]) == to.depth
	}
	return to, ends
}

// any reports whether a path has * for the fields or elements of the value.
func (t *templateReader) any(at position) bool {
	for _, i := range at.paths {
		if t.paths[i][at.depth] == policy.AnyElement {
			return true
		}
	}
	return false
}

// field reads a field of the object or map at a position.
func (t *templateReader) field(at position, name []byte) {
	to, ends := t.next(at, name)
	if len(to.paths) == 0 {
		return
	}
	before := len(t.path)
	switch shown := text.Printable(string(name[:min(len(name), text.Short+1)]), text.Short); {
	case strings.ContainsAny(shown, "./[]"):
		t.path = append(append(append(t.path, '['), shown...), ']')
	case before > 0:
		t.path = append(append(t.path, '.'), shown...)
	default:
		t.path = append(t.path, shown...)
	}
	t.value(to, ends)
	t.path = t.path[:before]
}

// value reads the value at a position, which is a template if a path ends there.
func (t *templateReader) value(at position, ends bool) {
	switch {
	case t.Null():
	case ends && at.paths[0] >= t.images:
		if at.named || t.IsString() {
			t.add(object.Pod{Images: []object.Image{{Place: object.ResourceField, Ref: t.String()}}}, "")
		}
	case ends && (at.named || t.IsObject()):
		t.template()
	case ends:
	case t.IsObject() && t.any(at):
		for name := range t.Entries {
			t.field(at, name)
		}
	case t.IsObject():
		for name := range t.Fields {
			t.field(at, name)
		}
	case t.IsList() && t.any(at):
		t.elements(at)
	case at.named:
		t.mistyped(at)
	}
}

// elements reads the elements of a list. Only paths with * lead to them.
func (t *templateReader) elements(at position) {
	to, ends := t.next(at, nil)
	before := len(t.path)
	for i := range t.Items {
		t.path = append(strconv.AppendInt(append(t.path, '['), int64(i), 10), ']')
		t.value(to, ends)
		t.path = t.path[:before]
	}
}

// mistyped reads a value in a path that is not an object and, if * follows, not a list.
func (t *templateReader) mistyped(at position) {
	if t.any(at) {
		t.RejectCollection()
		return
	}
	t.Present() // reports its actual type
}

// template reads the value at the end of a path. It is a PodTemplateSpec or a PodSpec. If it has the fields of both, it
// counts as two Pods.
func (t *templateReader) template() {
	var plain, inner object.Pod
	for name := range t.Fields {
		switch string(name) {
		case "metadata":
			readMeta(t.Reader, &plain.Meta)
		case "spec":
			readPodSpec(t.Reader, &inner)
		default:
			readPodSpecField(t.Reader, &plain, name)
		}
	}
	sortImages(&plain)
	inner.Meta = plain.Meta
	t.add(plain, "")
	t.add(inner, ".spec")
}

// add adds a Pod if it has an image.
func (t *templateReader) add(pod object.Pod, below string) {
	if len(pod.Images) == 0 || t.Err() != nil {
		return
	}
	before := len(t.path)
	t.path = append(t.path, below...)
	t.found(pod, t.Text(t.path)) // the path counts as text of the object, which also limits many deep templates
	t.path = t.path[:before]
}
