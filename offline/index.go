package offline

import (
	"errors"
	"iter"
)

// Index finds objects by kind, namespace and name.
type Index struct {
	objects map[string]Object
}

// NewIndex reads objects into an index. Those that name no namespace are in the given one. The error joins everything
// that is wrong with the objects.
func NewIndex(objects iter.Seq2[Object, error], namespace string) (*Index, error) {
	x := &Index{map[string]Object{}}
	var errs []error
	for object, err := range objects {
		if _, skipped := errors.AsType[*SkippedError](err); skipped {
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
			errs = append(errs, object.Errorf("%s stands at %s already", object, first.Origin))
			continue
		}
		x.objects[object.key()] = object
	}
	return x, errors.Join(errs...)
}

// find returns the object of the same kind, namespace and name. An index that is nil is empty.
func (x *Index) find(object Object) (Object, bool) {
	if x == nil {
		return Object{}, false
	}
	old, ok := x.objects[object.key()]
	return old, ok
}

// key leaves the version out: it may differ between what was applied and what a cluster returns.
func (o Object) key() string { return o.qualified() + "/" + o.Namespace + "/" + o.Name }
