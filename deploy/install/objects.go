package install

import (
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
)

// Objects contains the objects of an input, by their type and in the order of the input.
type Objects struct {
	FilesPolicy string // the hash of the policy that the API server's files were exported from; "" if it is not known
	Skips       offline.Skips

	lists   map[reflect.Type]any // by pointer type: a list of them
	sources map[Object]string    // FILE:LINE
	unread  []string             // resources that could not be listed in the cluster
}

// Object is an object of a kind in the table.
type Object interface {
	metav1.Object
	GetObjectKind() schema.ObjectKind
}

// object is the pointer type of a kind.
type object[T any] interface {
	*T
	Object
}

// NewObjects returns Objects without any object.
func NewObjects() *Objects {
	return &Objects{lists: map[reflect.Type]any{}, sources: map[Object]string{}}
}

// Read returns the objects that offline.Read yields. The error joins the errors of all objects that cannot be read.
func Read(objects iter.Seq2[offline.Object, error]) (*Objects, error) {
	all := NewObjects()
	var errs []error
	for o, err := range objects {
		if skipped, ok := errors.AsType[*offline.SkippedError](err); ok {
			all.Skips.AddFile(skipped)
			continue
		}
		if err == nil {
			err = all.add(o)
		}
		if err != nil {
			errs = append(errs, err)
		}
	}
	return all, errors.Join(errs...)
}

// Add adds an object from a source.
func Add[P Object](o *Objects, object P, source string) {
	o.lists[reflect.TypeFor[P]()] = append(Of[P](o), object)
	o.sources[object] = source
}

// Of returns the objects of a type, such as *corev1.Pod.
func Of[P Object](o *Objects) []P {
	list, _ := o.lists[reflect.TypeFor[P]()].([]P)
	return list
}

// In returns the objects of a type in a namespace.
func In[P Object](o *Objects, namespace string) []P {
	return Filter(Of[P](o), func(p P) bool { return p.GetNamespace() == namespace })
}

// Find returns the object with a type, a namespace and a name, or nil.
func Find[P Object](o *Objects, namespace, name string) P {
	var found P
	for _, p := range Of[P](o) {
		if p.GetNamespace() == namespace && p.GetName() == name {
			return p
		}
	}
	return found
}

// Filter returns the elements of a list that keep accepts.
func Filter[T any](list []T, keep func(T) bool) []T {
	return slices.DeleteFunc(slices.Clone(list), func(t T) bool { return !keep(t) })
}

// Count returns the number of objects.
func (o *Objects) Count() int { return len(o.sources) }

// Unread reports whether a resource could not be listed in the cluster.
func (o *Objects) Unread(resource string) bool { return slices.Contains(o.unread, resource) }

// Live reports whether an object was read from a cluster and not from a manifest. Only the API server sets a UID.
func Live(o metav1.Object) bool { return o.GetUID() != "" }

// acceptAnnotation lists, separated by commas, the findings about an object that are accepted.
const acceptAnnotation = "evergate.dev/preflight-accepts"

// Ref identifies an object, or a part of an object, for people.
type Ref struct {
	Kind, Namespace, Name string
	Part                  string   // such as: webhook pods.evergate.dev
	Source                string   // FILE:LINE
	Accepts               []string // findings that the object accepts
}

// Ref returns the Ref of an object.
func (o *Objects) Ref(of Object) Ref {
	return Ref{
		Kind: of.GetObjectKind().GroupVersionKind().Kind, Namespace: of.GetNamespace(), Name: of.GetName(),
		Source:  o.sources[of],
		Accepts: strings.Split(strings.ReplaceAll(of.GetAnnotations()[acceptAnnotation], " ", ""), ","),
	}
}

// String formats an object as users of kubectl know it: Deployment evergate-system/evergate, container evergate.
func (r Ref) String() string {
	s := r.Kind + " "
	if r.Namespace != "" {
		s += r.Namespace + "/"
	}
	s += r.Name
	if r.Part != "" {
		s += ", " + r.Part
	}
	return s
}

// In returns a Ref of a part of the object.
func (r Ref) In(format string, args ...any) Ref {
	r.Part = fmt.Sprintf(format, args...)
	return r
}

// sameGroup reports whether two apiVersions are versions of the same API group.
func sameGroup(a, b string) bool {
	va, errA := schema.ParseGroupVersion(a)
	vb, errB := schema.ParseGroupVersion(b)
	return errA == nil && errB == nil && va.Group == vb.Group
}

// maxFault is the maximum number of bytes of a decoder's error. Errors can contain a field name or a number of any
// length.
const maxFault = 240

// decode reads a manifest as the type of is, strictly. An object of a live cluster may have unknown fields, because the
// API server may be newer than the types here. The error contains each unknown field, or the first value that cannot be
// decoded.
func decode(m offline.Object, is Object) error {
	faults, err := kjson.UnmarshalStrict(m.JSON, is)
	// Items of a PodList do not have a kind.
	is.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(m.APIVersion, m.Kind))
	if Live(is) {
		faults = nil
	}
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("%s: cannot decode %s as %s", mismatch.Field, mismatch.Value, mismatch.Type)
	}
	if err != nil {
		faults = []error{err}
	}
	var found []string
	for _, fault := range faults {
		found = append(found, text.Truncate(fault.Error(), maxFault))
	}
	if len(found) == 0 {
		return nil
	}
	return m.Errorf("%s: %s", m, text.Printable(strings.Join(found, "; "), 8*maxFault))
}
