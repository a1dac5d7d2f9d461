package review

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// templateReader reads the templates of Pods of an object, at the paths of a policy. It follows all paths at once, so
// that each byte is read once, and reads nothing else.
//
// A null counts as absent. A value that a path names must have the type that the path needs. What only * stands for may
// be another field, and is skipped where it cannot hold a template.
type templateReader struct {
	*jsonscan.Reader
	paths []policy.TemplatePath
	// path is where the reader is, as users write it. Keys that a tenant has chosen are truncated.
	path []byte
	// found is called for each Pod that has an image, with the field of its PodSpec.
	found func(pod policy.Pod, path string)
}

// position is the paths that lead to a value, of which the first depth segments are behind.
type position struct {
	paths []int // indexes; all have more than depth segments
	depth int
	named bool // one of them names the value, and not * alone
}

// start returns the position of the object.
func (t *templateReader) start() position {
	all := make([]int, len(t.paths))
	for i := range all {
		all[i] = i
	}
	return position{paths: all, named: true}
}

// next returns the position of a field, by its name, or of an element of a list, which has none. ends is whether a path
// ends there; then it is the only one, as no path of an entry leads into what another reads.
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

// value reads what stands at a position: a template where a path ends.
func (t *templateReader) value(at position, ends bool) {
	switch {
	case t.Null():
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

// elements reads the elements of a list, to which only paths with * lead.
func (t *templateReader) elements(at position) {
	to, ends := t.next(at, nil)
	before := len(t.path)
	for i := range t.Items {
		t.path = append(strconv.AppendInt(append(t.path, '['), int64(i), 10), ']')
		t.value(to, ends)
		t.path = t.path[:before]
	}
}

// mistyped reads a value that a path leads into and that is neither an object nor, where * follows, a list.
func (t *templateReader) mistyped(at position) {
	if t.any(at) {
		t.RejectCollection()
		return
	}
	t.Present() // which says what it is instead
}

// template reads what stands at the end of a path: a PodTemplateSpec, a PodSpec, or what has the fields of both, whose
// Pods are then two.
func (t *templateReader) template() {
	var plain, inner policy.Pod
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

// add adds a Pod that has an image.
func (t *templateReader) add(pod policy.Pod, below string) {
	if len(pod.Images) == 0 || t.Err() != nil {
		return
	}
	before := len(t.path)
	t.path = append(t.path, below...)
	t.found(pod, t.Text(t.path)) // counts as text of the object, so that many deep templates are bounded too
	t.path = t.path[:before]
}
