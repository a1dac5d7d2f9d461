// Package install joins the objects of an installation of Evergate: webhook configuration → Service → Deployment → Pod
// → certificate → policy. Package deploy finds problems in it.
//
//	kinds.go        the table of the kinds that are read; objects.go the store
//	hook.go         a webhook, and the rules and selectors by which it is called
//	server.go       a Deployment that runs evergate serve; container.go its variables and files
//	certificate.go  the Certificates of the serving Secrets, and their issuers
package install

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/offline/native"
	"github.com/evergate/evergate/policy"
)

// labelName is a label of all Evergate objects.
const labelName = "app.kubernetes.io/name"

// Install is an installation of Evergate. Without webhooks, only native policies enforce the policy.
type Install struct {
	*Objects
	Namespace string
	All       []*Hook // webhooks of all products
	Hooks     []*Hook // webhooks of Evergate
	Servers   []*Server
	Elsewhere []Ref // Deployments in other namespaces that run evergate serve
	Native    native.Installed
	Live      bool

	PolicyMap *corev1.ConfigMap // of the policy, if there are only native policies
	Files     []policy.File     // of the policy; with several Deployments, of the one to keep
	Policy    *policy.Policy    // nil if it is not in the input, fails to load, or has no entries
	Document  policy.Document   // its text
}

const noWebhook = "no webhook configuration has the label " + labelName + "=evergate, and no webhook is called *" +
	WebhookSuffix

var (
	errNothing   = errors.New("the input does not contain Evergate: " + noWebhook)
	errNoWebhook = errors.New("the input has a Deployment that runs evergate serve, but nothing calls it: " + noWebhook)
	errNoPolicy  = errors.New("the input contains native policies, but neither webhooks of Evergate nor the " +
		"ConfigMap evergate-policy: add the other manifests of the installation")
)

// Join joins objects. It returns an error if they have no Evergate webhook and may not have only native policies.
func Join(o *Objects) (*Install, error) {
	i := &Install{Objects: o, All: o.hooks()}
	i.Hooks = Filter(i.All, func(h *Hook) bool { return h.Ours })
	var err error
	if i.Native, err = o.native(); err != nil {
		return nil, err
	}
	if len(i.Hooks) == 0 {
		if err := i.joinNative(); err != nil {
			return nil, err
		}
	} else {
		i.Live = slices.ContainsFunc(i.Hooks, func(h *Hook) bool { return Live(h.Config) })
		i.joinServers()
	}
	if len(i.Servers) > 0 {
		i.Files = i.Main().Policy
	}
	if p, err := policy.Load(i.Files...); len(i.Files) > 0 && err == nil && !p.Emptied() {
		i.Policy = p
		i.Document, err = policy.Describe(i.Files...)
		return i, err
	}
	return i, nil
}

// native returns the native policies and their bindings.
func (o *Objects) native() (native.Installed, error) {
	policies := append(anys[*admissionv1.ValidatingAdmissionPolicy](o), anys[*admissionv1.MutatingAdmissionPolicy](o)...)
	return native.Of(slices.Concat(
		Filter(policies, func(p any) bool { return native.Exported(p.(metav1.Object)) }),
		anys[*admissionv1.ValidatingAdmissionPolicyBinding](o), anys[*admissionv1.MutatingAdmissionPolicyBinding](o),
	)...)
}

func anys[P Object](o *Objects) []any {
	var all []any
	for _, p := range Of[P](o) {
		all = append(all, p)
	}
	return all
}

// NativeRef returns the Ref of a native policy or a binding.
func (i *Install) NativeRef(o *native.Object) Ref {
	for object := range i.sources {
		if object.GetName() == o.GetName() && object.GetObjectKind().GroupVersionKind().Kind == o.GetKind() {
			return i.Ref(object)
		}
	}
	return Ref{Kind: o.GetKind(), Name: o.GetName()}
}

// joinServers joins the Deployments in the namespace of Evergate. It is the namespace of the first Service that a
// webhook calls, and if they call only URLs, of the first Deployment that runs evergate serve. Of several Deployments
// with the same name, only the last counts, as for kubectl apply.
func (i *Install) joinServers() {
	for _, h := range i.Hooks {
		i.Namespace = cmp.Or(i.Namespace, cmp.Or(h.ClientConfig.Service, &admissionv1.ServiceReference{}).Namespace)
	}
	for _, d := range Filter(Of[*appsv1.Deployment](i.Objects), Serves) {
		if i.Namespace = cmp.Or(i.Namespace, d.Namespace); d.Namespace != i.Namespace {
			i.Elsewhere = append(i.Elsewhere, i.Ref(d))
			continue
		}
		i.Servers = slices.DeleteFunc(i.Servers, func(other *Server) bool { return other.Name == d.Name })
		i.Servers = append(i.Servers, i.Server(d, &d.Spec.Template.Spec))
	}
}

// Main returns the Deployment to keep. It prefers Deployments whose Pods are selected by a Service that webhooks call,
// among these the Deployment with the name of the Service, and otherwise the first. It is nil without Deployments.
func (i *Install) Main() *Server {
	var called []*Server
	for _, h := range i.Hooks {
		called = append(called, i.Behind(h.Called)...)
		at := slices.IndexFunc(called, func(s *Server) bool { return h.Called != nil && s.Name == h.Called.Name })
		if at >= 0 {
			return called[at]
		}
	}
	return append(append(called, i.Servers...), nil)[0]
}

// Behind returns the Deployments whose Pods a Service selects.
func (i *Install) Behind(svc *corev1.Service) []*Server {
	return Filter(i.Servers, func(s *Server) bool { return s.Behind(svc) })
}

// joinNative joins an installation with only native policies. In manifests, the ConfigMap of the policy has to be next
// to them. In a live cluster, the webhooks and Deployments have to be listed.
func (i *Install) joinNative() error {
	needed := []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
	policies := i.Native.Policies()
	if len(policies) > 0 {
		needed = append(needed, "deployments")
	}
	unread := Filter(needed, i.Unread)
	i.PolicyMap = i.policyMap()
	i.Live = len(policies) > 0 && Live(policies[0])
	switch {
	case len(unread) > 0:
		return fmt.Errorf("these resources could not be listed, so the input does not show whether Evergate has webhooks or "+
			"a Deployment: %s (docs/preflight.md lists the permissions)", strings.Join(unread, ", "))
	case slices.ContainsFunc(Of[*appsv1.Deployment](i.Objects), Serves):
		return errNoWebhook
	case len(policies) == 0:
		return errNothing
	case !i.Live && i.PolicyMap == nil:
		return errNoPolicy
	case i.PolicyMap != nil:
		i.Namespace, i.Files = i.PolicyMap.Namespace, Loaded("", VolumeFiles(i.PolicyMap, nil))
	}
	if exempt := i.Exempt(); i.Namespace == "" && len(exempt) > 0 {
		i.Namespace = exempt[0] // evergate export writes it first
	}
	return nil
}

// policyMapName matches the name of the policy's ConfigMap in the manifests, with or without a hash of kustomize.
var policyMapName = regexp.MustCompile(`^evergate-policy(-[a-z0-9]{10})?$`)

// policyMap returns the ConfigMap of the policy in an installation with only native policies, or nil. No Deployment
// mounts it, so it is found by its name. kustomize may add a hash to the name, and the ConfigMaps of earlier policies
// stay in the cluster. policyMap prefers the policy that the native policies were exported from, and otherwise the
// newest.
func (i *Install) policyMap() *corev1.ConfigMap {
	exported := func(cm *corev1.ConfigMap) int {
		p, err := policy.Load(Loaded("", VolumeFiles(cm, nil))...)
		return map[bool]int{true: 1}[err == nil && slices.Contains(i.Native.Hashes(), p.Hash())]
	}
	all := Filter(Of[*corev1.ConfigMap](i.Objects), func(cm *corev1.ConfigMap) bool {
		return policyMapName.MatchString(cm.Name)
	})
	slices.SortStableFunc(all, func(b, a *corev1.ConfigMap) int {
		return cmp.Or(exported(a)-exported(b), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), len(b.Name)-len(a.Name))
	})
	return append(all, nil)[0]
}

// KnowsHooks reports whether all webhook configurations of the cluster could be listed.
func (i *Install) KnowsHooks() bool {
	return !i.Unread("mutatingwebhookconfigurations") && !i.Unread("validatingwebhookconfigurations")
}

// Calls reports whether a webhook calls a path.
func (i *Install) Calls(path string) bool {
	return slices.ContainsFunc(i.Hooks, func(h *Hook) bool { return h.Path == path })
}

// Anchor returns the first webhook or native policy, for findings about the whole installation.
func (i *Install) Anchor() Ref {
	if len(i.Hooks) == 0 {
		return i.NativeRef(&i.Native.Policies()[0])
	}
	return i.Hooks[0].Ref
}

// Scope is the namespaceSelector of a webhook or of a binding.
type Scope struct {
	Ref      Ref
	Selector *metav1.LabelSelector
}

// Scopes returns the selectors of the namespaces in which the policy applies. These are the selectors of the webhooks
// except the policy guard or, without webhooks, the selectors of the bindings of native policies.
func (i *Install) Scopes() []Scope {
	var all []Scope
	for _, h := range i.Hooks {
		if !h.GuardsPolicy() {
			all = append(all, Scope{h.Ref, h.NamespaceSelector})
		}
	}
	if len(i.Hooks) > 0 {
		return all
	}
	for _, p := range i.Native.Policies() {
		for _, b := range i.Native.Bindings(&p) {
			all = append(all, Scope{i.NativeRef(&b), b.Namespaces()})
		}
	}
	return all
}

// Exempt lists the namespaces that a webhook excludes by name or, without webhooks, a binding of a native policy.
func (i *Install) Exempt() []string {
	var names []string
	for _, s := range i.Scopes() {
		for _, e := range cmp.Or(s.Selector, &metav1.LabelSelector{}).MatchExpressions {
			for _, name := range e.Values {
				if e.Key == corev1.LabelMetadataName && e.Operator == metav1.LabelSelectorOpNotIn && !slices.Contains(names, name) {
					names = append(names, name)
				}
			}
		}
	}
	return names
}

// NamespaceLabels returns the labels that a namespace has in the input, and the label that the API server sets.
func (i *Install) NamespaceLabels(name string) map[string]string {
	set := map[string]string{}
	if ns := Find[*corev1.Namespace](i.Objects, "", name); ns != nil {
		maps.Copy(set, ns.Labels)
	}
	set[corev1.LabelMetadataName] = name
	return set
}

// Protected lists the namespaces that Evergate must never match: the namespaces of the control plane and the nodes,
// the namespace of cert-manager, which has to renew the certificate while Evergate is down, and Evergate's own.
func (i *Install) Protected() []string {
	names := []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease}
	for _, name := range append(i.CertManager(), i.Namespace) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names
}
