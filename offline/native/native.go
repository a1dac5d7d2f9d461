// Package native reads, compares and renews the native policies that evergate export writes. The API server enforces
// them itself, so they work even if no replica answers. Package deploy compares them with the policy, and the kubectl
// plugin renews them.
//
//	native.go   the native policies of an installation, and the export that they should equal
//	renewal.go  the changes for a new policy, and the order in which they are written
package native

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// Selector selects the labels of native policies and their bindings.
const Selector = "app.kubernetes.io/name=evergate,app.kubernetes.io/component=" + export.Component

const (
	mutatingPolicy    = "MutatingAdmissionPolicy"
	mutatingBinding   = "MutatingAdmissionPolicyBinding"
	validatingPolicy  = "ValidatingAdmissionPolicy"
	validatingBinding = "ValidatingAdmissionPolicyBinding"
)

// Kinds lists the kinds of native policies and bindings.
func Kinds() []string {
	return []string{validatingPolicy, mutatingPolicy, validatingBinding, mutatingBinding}
}

// Object is a native policy or a binding. Its Spec has the fields that are the same for validating and mutating ones.
type Object struct {
	*unstructured.Unstructured
	Spec struct {
		FailurePolicy    *admissionv1.FailurePolicyType `json:"failurePolicy"`
		MatchConstraints *admissionv1.MatchResources    `json:"matchConstraints"`

		PolicyName        string                         `json:"policyName"` // set only for bindings
		MatchResources    *admissionv1.MatchResources    `json:"matchResources"`
		ValidationActions []admissionv1.ValidationAction `json:"validationActions"`
	}
}

func newObject(o any) (Object, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		return Object{}, fmt.Errorf("read a native policy: %w", err)
	}
	delete(content, "status")
	is := Object{Unstructured: &unstructured.Unstructured{Object: content}}
	spec, _ := content["spec"].(map[string]any)
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(spec, &is.Spec); err != nil {
		return Object{}, fmt.Errorf("read the %s %s: %w", is.GetKind(), is.GetName(), err)
	}
	return is, nil
}

// IsBinding reports whether the object is a binding.
func (o *Object) IsBinding() bool { return strings.HasSuffix(o.GetKind(), "Binding") }

// Mutates reports whether the object is a mutating policy or its binding.
func (o *Object) Mutates() bool { return strings.HasPrefix(o.GetKind(), "Mutating") }

// Hash returns the hash of the policy from which the object was exported.
func (o *Object) Hash() string { return o.GetAnnotations()[export.HashAnnotation] }

// FailsOpen reports whether the API server allows objects that a policy cannot evaluate.
func (o *Object) FailsOpen() bool {
	return o.Spec.FailurePolicy != nil && *o.Spec.FailurePolicy == admissionv1.Ignore
}

// Namespaces returns the selector of a binding, or nil for every namespace.
func (o *Object) Namespaces() *metav1.LabelSelector {
	if o.Spec.MatchResources == nil {
		return nil
	}
	return o.Spec.MatchResources.NamespaceSelector
}

// Replaces reports whether the native policy, or the policy of the binding, replaces a webhook.
func (o *Object) Replaces(w *export.Webhook) bool {
	return o.GetName() == w.PolicyPrefix() || strings.HasPrefix(o.GetName(), w.PolicyPrefix()+"-")
}

// LeavesOut returns the fields with which a native policy or a binding leaves out objects that the export matches. The
// namespaceSelector of a binding is left out, because the overlay sets it.
func (o *Object) LeavesOut() []string {
	m := o.Spec.MatchConstraints
	if o.IsBinding() {
		m = o.Spec.MatchResources
	}
	if m == nil {
		return nil
	}
	all := func(s *metav1.LabelSelector) bool { return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0 }
	var fields []string
	for _, f := range []struct {
		name string
		set  bool
	}{
		{"matchPolicy", m.MatchPolicy != nil && *m.MatchPolicy != admissionv1.Equivalent}, // objects of another version
		{"objectSelector", !all(m.ObjectSelector)}, {"excludeResourceRules", len(m.ExcludeResourceRules) > 0},
		{"resourceRules", o.IsBinding() && len(m.ResourceRules) > 0},
		{"namespaceSelector", !o.IsBinding() && !all(m.NamespaceSelector)},
	} {
		if f.set {
			fields = append(fields, f.name)
		}
	}
	return fields
}

// Installed contains the native policies of an installation, and their bindings.
type Installed []Object

// Exported reports whether an object has the labels that evergate export sets.
func Exported(o metav1.Object) bool {
	labels := o.GetLabels()
	return labels["app.kubernetes.io/name"] == "evergate" && labels["app.kubernetes.io/component"] == export.Component
}

// Of returns native policies and bindings, which may be typed or unstructured.
func Of[T any](objects ...T) (Installed, error) {
	var all Installed
	for _, o := range objects {
		is, err := newObject(o)
		if err != nil {
			return nil, err
		}
		all = append(all, is)
	}
	return all, nil
}

// Policies returns the policies without the bindings.
func (in Installed) Policies() Installed {
	return slices.DeleteFunc(slices.Clone(in), func(o Object) bool { return o.IsBinding() })
}

// Bindings returns the bindings of a policy, or all bindings if the policy is nil.
func (in Installed) Bindings(of *Object) Installed {
	return slices.DeleteFunc(slices.Clone(in), func(o Object) bool {
		return !o.IsBinding() || of != nil && (o.Spec.PolicyName != of.GetName() || o.Mutates() != of.Mutates())
	})
}

// Bound reports whether a policy has a binding that lets it do its task. Only policies that enforce have to deny.
func (in Installed) Bound(p *Object) bool {
	return slices.ContainsFunc(in.Bindings(p), func(b Object) bool {
		return !strings.HasSuffix(p.GetName(), "-enforce") || slices.Contains(b.Spec.ValidationActions, admissionv1.Deny)
	})
}

// Hashes returns the distinct hashes of the policies from which the native policies were exported.
func (in Installed) Hashes() []string {
	all := map[string]bool{}
	for _, p := range in.Policies() {
		all[p.Hash()] = true
	}
	return slices.Sorted(maps.Keys(all))
}

// Without returns the names of policies that are not installed.
func (in Installed) Without(names []string) []string {
	return slices.DeleteFunc(slices.Clone(names), func(name string) bool {
		return slices.ContainsFunc(in, func(o Object) bool { return !o.IsBinding() && o.GetName() == name })
	})
}

func (in Installed) find(kind, name string) *Object {
	i := slices.IndexFunc(in, func(o Object) bool { return o.GetKind() == kind && o.GetName() == name })
	if i < 0 {
		return nil
	}
	return &in[i]
}

// Export is the export of a policy that native policies should equal.
type Export struct {
	export.Result
	Uses  []export.WebhookUse
	Names []string // of the exported policies

	objects Installed
}

// Export exports a policy at a time for the targets of the installed policies, or for both targets if there aren't any,
// because the files of an API server contain both. It exports with --deny-unrewritten, unless the installed policies
// are closer to the export without it.
func (in Installed) Export(doc policy.Document, hash string, now time.Time) (*Export, error) {
	o := export.Options{
		Targets: []export.Target{export.VAP}, Exempt: export.ExemptNamespaces(), Hash: hash, DenyUnrewritten: true, Now: now,
	}
	if len(in) == 0 || slices.ContainsFunc(in, func(o Object) bool { return o.Mutates() }) {
		o.Targets = append(o.Targets, export.MAP)
	}
	denying, err := newExport(doc, o)
	if err != nil {
		return nil, err
	}
	o.DenyUnrewritten = false
	plain, err := newExport(doc, o)
	if err == nil && in.deviations(plain) < in.deviations(denying) {
		return plain, nil
	}
	return denying, err
}

func newExport(doc policy.Document, o export.Options) (*Export, error) {
	e := &Export{Result: export.Export(doc, o), Uses: export.WebhookUses(doc, o)}
	for _, exported := range e.Objects {
		is, err := newObject(exported.Object)
		if err != nil {
			return nil, err
		}
		e.objects = append(e.objects, is)
		if !is.IsBinding() {
			e.Names = append(e.Names, is.GetName())
		}
	}
	return e, nil
}

// deviations counts the exported policies that are missing or differ.
func (in Installed) deviations(e *Export) int {
	n := len(in.Without(e.Names))
	for _, p := range in.Policies() {
		n += min(len(e.Differences(&p)), 1)
	}
	return n
}

// Differences returns the fields in which a native policy decides differently from the exported policy with its name.
func (e *Export) Differences(p *Object) []string {
	var wanted map[string]any
	if found := e.objects.find(p.GetKind(), p.GetName()); found != nil {
		wanted = found.Object
	}
	var names []string
	for _, field := range [][]string{
		{"spec", "paramKind"}, {"spec", "matchConstraints", "resourceRules"}, {"spec", "matchConditions"},
		{"spec", "variables"}, {"spec", "validations"}, {"spec", "mutations"}, {"spec", "reinvocationPolicy"},
	} {
		is, _, _ := unstructured.NestedFieldNoCopy(p.Object, field...)
		want, _, _ := unstructured.NestedFieldNoCopy(wanted, field...)
		if !equal(is, want) {
			names = append(names, strings.Join(field, "."))
		}
	}
	return names
}
