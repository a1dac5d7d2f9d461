package offline

import (
	"errors"
	"iter"
)

// Index finds objects by kind, namespace and name.
type Index struct {
	objects map[string]Object
	skipped []*SkippedError
}

// NewIndex reads objects into an index. It puts objects without a namespace into the given namespace. The error joins
// all errors about the objects.
func NewIndex(objects iter.Seq2[Object, error], namespace string) (*Index, error) {
	x := &Index{objects: map[string]Object{}}
	var errs []error
	for object, err := range objects {
		if skipped, ok := errors.AsType[*SkippedError](err); ok {
			x.skipped = append(x.skipped, skipped)
			continue
		}
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if object.Namespace == "" {
			object.Namespace = namespace
		}
		if first, twice := x.objects[object.key()]; twice {
			errs = append(errs, object.Errorf("%s is already defined at %s", object, first.Origin))
			continue
		}
		x.objects[object.key()] = object
	}
	return x, errors.Join(errs...)
}

// find returns the object with the same kind, namespace and name. A nil index is empty.
func (x *Index) find(object Object) (Object, bool) {
	if x == nil {
		return Object{}, false
	}
	old, ok := x.objects[object.key()]
	return old, ok
}

// key leaves out the API version, because a manifest and a cluster can use different versions for one object.
func (o Object) key() string { return o.qualified() + "/" + o.Namespace + "/" + o.Name }
