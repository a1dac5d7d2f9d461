package backstop

import (
	"context"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// Options contains the options for the export of a policy.
type Options struct {
	Hash            string
	Exempt          []string // namespaces for new bindings; used only if no bindings exist yet
	DenyUnrewritten bool
	Now             time.Time // parts of the policy that have ended at this time do not apply
}

// Renewal contains the changes that renew a backstop for another policy.
type Renewal struct {
	*Backstop
	// Omissions lists the parts of the policy that are not native.
	Omissions []export.Omission
	// Coverage reports for each entry which part of it is native.
	Coverage []export.Coverage
	// Uses lists the webhooks, and whether they have to be called in addition to the new backstop.
	Uses []export.WebhookUse

	applied []unstructured.Unstructured // policies before bindings, and rewriting before denying
	removed []unstructured.Unstructured // bindings before policies
}

// Renew returns the changes that renew the backstop when is replaces was. If the old policy is unknown, was is empty.
func (b *Backstop) Renew(was, is policy.Document, o Options) (*Renewal, error) {
	options := export.Options{
		Targets: b.targets(was, o), Exempt: o.Exempt, Hash: o.Hash, DenyUnrewritten: o.DenyUnrewritten,
		Now: o.Now,
	}
	result := export.Export(is, options)
	r := &Renewal{
		Backstop: b, Omissions: result.Omissions, Coverage: result.Coverage, Uses: export.WebhookUses(is, options),
	}
	for _, object := range result.Objects {
		u, err := b.desired(object.Object)
		if err != nil {
			return nil, err
		}
		r.applied = append(r.applied, *u)
	}
	for _, binding := range []bool{true, false} {
		for i := range b.objects {
			if o := &b.objects[i]; isBinding(o.GetKind()) == binding && !r.keeps(o) {
				r.removed = append(r.removed, *o)
			}
		}
	}
	return r, nil
}

// targets returns the targets of the export. It includes mutating policies if the backstop has one. It also includes
// them if the old policy did not contain anything to rewrite, because then their absence is not intentional.
func (b *Backstop) targets(was policy.Document, o Options) []export.Target {
	targets := []export.Target{export.VAP}
	mutating := slices.ContainsFunc(b.objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() == mutatingPolicy
	})
	if !mutating && b.mutates {
		before := export.Export(was, export.Options{Targets: []export.Target{export.MAP}, Exempt: o.Exempt})
		mutating = len(before.Objects) == 0
	}
	if mutating {
		targets = append(targets, export.MAP)
	}
	return targets
}

// keeps reports whether the new policy keeps an object.
func (r *Renewal) keeps(o *unstructured.Unstructured) bool {
	return slices.ContainsFunc(r.applied, func(a unstructured.Unstructured) bool {
		return a.GetKind() == o.GetKind() && a.GetName() == o.GetName()
	})
}

// desired returns the final form of an exported object. Metadata from other clients stays. A binding keeps the
// namespace selector that it has, or gets the selector of another binding, because the overlay sets the selector.
func (b *Backstop) desired(object any) (*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object)
	if err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	delete(content, "status")
	u := &unstructured.Unstructured{Object: content}
	unstructured.RemoveNestedField(content, "metadata", "creationTimestamp")
	is := b.find(u.GetKind(), u.GetName())
	if is != nil {
		u.SetLabels(union(is.GetLabels(), u.GetLabels()))
		u.SetAnnotations(union(is.GetAnnotations(), u.GetAnnotations()))
		u.SetOwnerReferences(is.GetOwnerReferences())
		u.SetFinalizers(is.GetFinalizers())
	}
	if !isBinding(u.GetKind()) {
		return u, nil
	}
	like := is
	for i := range b.objects {
		if like == nil && isBinding(b.objects[i].GetKind()) {
			like = &b.objects[i]
		}
	}
	if like == nil {
		return u, nil
	}
	matches, found, err := unstructured.NestedFieldCopy(like.Object, "spec", "matchResources", "namespaceSelector")
	if err != nil || !found {
		return u, err
	}
	return u, unstructured.SetNestedField(content, matches, "spec", "matchResources", "namespaceSelector")
}

// union returns the pairs of two maps. If both have a key, the second map wins.
func union(a, b map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, a)
	maps.Copy(all, b)
	return all
}

// Done reports whether the backstop is already up to date: all objects exist and match the policy.
func (r *Renewal) Done() bool {
	for i := range r.applied {
		a := &r.applied[i]
		is := r.find(a.GetKind(), a.GetName())
		if is == nil || is.GetAnnotations()[export.HashAnnotation] != a.GetAnnotations()[export.HashAnnotation] ||
			!equalSpec(is.Object["spec"], a.Object["spec"]) {
			return false
		}
	}
	return len(r.removed) == 0
}

// equalSpec reports whether a spec is equal to the wanted spec. The API server adds absent fields that are empty or
// have the default of matchPolicy. Any other additional field is a difference, because it may weaken the policy.
func equalSpec(is, wanted any) bool {
	switch wanted := wanted.(type) {
	case map[string]any:
		fields, ok := is.(map[string]any)
		for name, value := range fields {
			if _, named := wanted[name]; !named && !isDefault(value) {
				return false
			}
		}
		for name, value := range wanted {
			ok = ok && equalSpec(fields[name], value)
		}
		return ok
	case []any:
		items, ok := is.([]any)
		return ok && slices.EqualFunc(items, wanted, equalSpec)
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

// Counts returns the number of policies that are renewed, added and removed.
func (r *Renewal) Counts() (renewed, added, removed int) {
	for i := range r.applied {
		switch a := &r.applied[i]; {
		case isBinding(a.GetKind()):
		case r.find(a.GetKind(), a.GetName()) != nil:
			renewed++
		default:
			added++
		}
	}
	for i := range r.removed {
		if !isBinding(r.removed[i].GetKind()) {
			removed++
		}
	}
	return renewed, added, removed
}

// Try lets the API server check the expressions and permissions for everything that Write writes, without changing
// anything.
func (r *Renewal) Try(ctx context.Context) error { return r.write(ctx, []string{metav1.DryRunAll}) }

// Write renews the backstop. It first applies the new objects and then removes the obsolete objects. In between, both
// policies deny.
func (r *Renewal) Write(ctx context.Context) error { return r.write(ctx, nil) }

func (r *Renewal) write(ctx context.Context, dryRun []string) error {
	for i := range r.applied {
		o := &r.applied[i]
		if is := r.find(o.GetKind(), o.GetName()); is != nil && dryRun == nil {
			if err := r.takeOver(ctx, is); err != nil {
				return err
			}
		}
		_, err := r.client.Resource(resource(o.GetKind())).Apply(ctx, o.GetName(), o,
			metav1.ApplyOptions{FieldManager: revise.Manager, Force: true, DryRun: dryRun})
		if err != nil {
			return fmt.Errorf("apply the %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for i := range r.removed {
		o := &r.removed[i]
		err := r.client.Resource(resource(o.GetKind())).Delete(ctx, o.GetName(), metav1.DeleteOptions{DryRun: dryRun})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// takeOver makes the plugin the owner of every field in an object, including fields that another client has written.
// Otherwise, a condition or variable that the new policy does not have would remain.
func (r *Renewal) takeOver(ctx context.Context, is *unstructured.Unstructured) error {
	managers, copied := sets.New[string](), is.DeepCopy()
	fields := copied.GetManagedFields()
	for i := range fields {
		if fields[i].Subresource == "" && fields[i].Manager != revise.Manager {
			fields[i].Operation = metav1.ManagedFieldsOperationUpdate // csaupgrade merges this operation
			managers.Insert(fields[i].Manager)
		}
	}
	copied.SetManagedFields(fields)
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(copied, managers, revise.Manager)
	if err != nil {
		return fmt.Errorf("take the %s %s over from %s: %w", is.GetKind(), is.GetName(), sets.List(managers), err)
	}
	if patch == nil {
		return nil
	}
	_, err = r.client.Resource(resource(is.GetKind())).Patch(ctx, is.GetName(), types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: revise.Manager})
	if err != nil {
		return fmt.Errorf("take the %s %s over from %s: %w", is.GetKind(), is.GetName(), sets.List(managers), err)
	}
	return nil
}
