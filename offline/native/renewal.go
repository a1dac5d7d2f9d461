package native

import (
	"maps"
	"reflect"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// Renewal contains the changes that renew native policies for another policy.
type Renewal struct {
	*Export
	Was     Installed
	Applied Installed // policies before bindings, and rewriting before denying
	Removed Installed // bindings before policies
}

// Renew returns the changes that renew the native policies when is replaces was. If the old policy is unknown, was is
// empty. The targets of o are the kinds of native policies that the API server serves.
func (in Installed) Renew(was, is policy.Document, o export.Options) (*Renewal, error) {
	if !in.rewrites(was, o) {
		o.Targets = slices.DeleteFunc(slices.Clone(o.Targets), func(t export.Target) bool { return t == export.MAP })
	}
	e, err := newExport(is, o)
	if err != nil {
		return nil, err
	}
	r := &Renewal{Export: e, Was: in}
	for i := range e.objects {
		if err := in.keep(&e.objects[i]); err != nil {
			return nil, err
		}
	}
	r.Applied = e.objects
	for _, binding := range []bool{true, false} {
		for _, old := range in {
			if old.IsBinding() == binding && r.Applied.find(old.GetKind(), old.GetName()) == nil {
				r.Removed = append(r.Removed, old)
			}
		}
	}
	return r, nil
}

// rewrites reports whether native policies should rewrite. They should if one of them does. They should also if the old
// policy didn't contain anything to rewrite, because then their absence is not intentional.
func (in Installed) rewrites(was policy.Document, o export.Options) bool {
	before := export.Options{Targets: []export.Target{export.MAP}, Exempt: o.Exempt}
	return slices.ContainsFunc(in, func(o Object) bool { return o.Mutates() && !o.IsBinding() }) ||
		len(export.Export(was, before).Objects) == 0
}

// keep copies metadata of other clients to an exported object. A binding keeps the namespaceSelector that it has, or
// gets the selector of another binding, because the overlay sets the selector.
func (in Installed) keep(o *Object) error {
	unstructured.RemoveNestedField(o.Object, "metadata", "creationTimestamp")
	is := in.find(o.GetKind(), o.GetName())
	if is != nil {
		o.SetLabels(union(is.GetLabels(), o.GetLabels()))
		o.SetAnnotations(union(is.GetAnnotations(), o.GetAnnotations()))
		o.SetOwnerReferences(is.GetOwnerReferences())
		o.SetFinalizers(is.GetFinalizers())
	}
	like := in.Bindings(nil)
	if is != nil {
		like = Installed{*is}
	}
	if !o.IsBinding() || len(like) == 0 {
		return nil
	}
	selector, found, err := unstructured.NestedFieldCopy(like[0].Object, "spec", "matchResources", "namespaceSelector")
	if err != nil || !found {
		return err
	}
	return unstructured.SetNestedField(o.Object, selector, "spec", "matchResources", "namespaceSelector")
}

// union returns the pairs of two maps. If both have a key, the second map wins.
func union(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// Done reports whether the native policies are already up to date: all objects exist and match the policy.
func (r *Renewal) Done() bool {
	return len(r.Removed) == 0 && !slices.ContainsFunc(r.Applied, func(o Object) bool {
		is := r.Was.find(o.GetKind(), o.GetName())
		return is == nil || is.Hash() != o.Hash() || !equal(is.Object["spec"], o.Object["spec"])
	})
}

// Exists reports whether an object is already installed, and returns it.
func (r *Renewal) Exists(o *Object) (*Object, bool) {
	is := r.Was.find(o.GetKind(), o.GetName())
	return is, is != nil
}

// Counts returns the number of policies that are renewed, added and removed.
func (r *Renewal) Counts() (renewed, added, removed int) {
	for _, o := range r.Applied.Policies() {
		if _, ok := r.Exists(&o); ok {
			renewed++
		} else {
			added++
		}
	}
	return renewed, added, len(r.Removed.Policies())
}

// equal reports whether a value of a spec is equal to the wanted value. The API server adds absent fields that are
// empty or have the default of matchPolicy. Any other additional field is a difference, because it may weaken the
// policy.
func equal(is, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		fields, ok := is.(map[string]any)
		for name, value := range fields {
			if _, named := wanted[name]; !named && !isDefault(value) {
				return false
			}
		}
		for name, value := range wanted {
			ok = ok && equal(fields[name], value)
		}
		return ok
	case []any:
		items, ok := is.([]any)
		return ok && slices.EqualFunc(items, wanted, equal)
	}
	return reflect.DeepEqual(is, wanted)
}

// isDefault reports whether a value is a default that the API server adds.
func isDefault(value any) bool {
	switch value := value.(type) {
	case map[string]any:
		return len(value) == 0
	case string:
		return value == string(admissionv1.Equivalent)
	}
	return false
}
