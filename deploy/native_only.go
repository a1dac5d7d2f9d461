package deploy

import (
	"cmp"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/policy"
)

// errNoPolicyMap is the error for native policies in manifests that are only a part of an installation.
var errNoPolicyMap = errors.New("the input contains native policies, but neither webhooks of Evergate nor the " +
	"ConfigMap evergate-policy: add the other manifests of the installation")

// checkNativeOnly returns nil if only native policies enforce the policy of an input without Evergate webhooks. The
// input has to contain native policies, but no Deployment that runs evergate serve. In manifests, the ConfigMap of the
// policy has to be next to them. In a live cluster, the webhooks and Deployments have to be listed. Otherwise the error
// contains the reason.
func (inv *Inventory) checkNativeOnly() error {
	native := inv.backstop()
	needed := []string{"mutatingwebhookconfigurations", "validatingwebhookconfigurations"}
	if len(native) > 0 {
		needed = append(needed, "deployments")
	}
	unread := slices.DeleteFunc(needed, func(resource string) bool { return !inv.unread(resource) })
	switch {
	case len(unread) > 0:
		return fmt.Errorf("these resources could not be listed, so the input does not show whether Evergate has webhooks or "+
			"a Deployment: %s (docs/preflight.md lists the permissions)", strings.Join(unread, ", "))
	case slices.ContainsFunc(inv.deployments, Serves):
		return errNoWebhook
	case len(native) == 0:
		return errNothing
	case !live(native[0]) && inv.policyMap() == nil:
		return errNoPolicyMap
	}
	return nil
}

// Serves reports whether a Deployment runs evergate serve.
func Serves(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers, runsServe)
}

// unread reports whether a resource could not be listed in the cluster.
func (inv *Inventory) unread(resource string) bool { return slices.Contains(inv.notListed, resource) }

// knowsWebhooks reports whether all webhook configurations of the cluster could be listed.
func (inv *Inventory) knowsWebhooks() bool {
	return !inv.unread("mutatingwebhookconfigurations") && !inv.unread("validatingwebhookconfigurations")
}

// policyMapName matches the name of the policy's ConfigMap in the manifests, with or without a hash of kustomize.
var policyMapName = regexp.MustCompile(`^evergate-policy(-[a-z0-9]{10})?$`)

// policyMap returns the ConfigMap of the policy in an installation with only native policies, or nil. No Deployment
// mounts it, so it is found by its name. If kustomize adds a hash to the name, the ConfigMaps of earlier policies stay
// in the cluster. policyMap prefers the policy that the native policies were exported from, and otherwise the newest.
func (inv *Inventory) policyMap() *corev1.ConfigMap {
	all := filter(inv.configMaps, func(cm *corev1.ConfigMap) bool { return policyMapName.MatchString(cm.Name) })
	if len(all) == 0 {
		return nil
	}
	if exported := filter(all, inv.isExported); len(exported) > 0 {
		all = exported
	}
	return slices.MaxFunc(all, func(a, b *corev1.ConfigMap) int {
		return cmp.Or(a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(len(b.Name), len(a.Name)))
	})
}

// isExported reports whether a native policy was exported from the policy in a ConfigMap.
func (inv *Inventory) isExported(cm *corev1.ConfigMap) bool {
	p, err := policy.Load(filesOf(cm)...)
	return err == nil && slices.ContainsFunc(inv.backstop(), func(n nativePolicy) bool { return n.hash() == p.Hash() })
}

// namespaceOfNative returns Evergate's namespace in an installation with only native policies. It is the namespace of
// the policy or, if the input does not have the policy, the first namespace that a binding excludes by its name.
func (inv *Inventory) namespaceOfNative() string {
	if cm := inv.policyMap(); cm != nil {
		return cm.Namespace
	}
	for _, s := range inv.bindingScopes() {
		if names := s.excludedNames(); len(names) > 0 {
			return names[0]
		}
	}
	return ""
}

// namespaceScope is the namespace selector of a webhook or of a binding.
type namespaceScope struct {
	ref      ref
	selector *metav1.LabelSelector
}

// scopes returns the selectors of the namespaces in which the policy applies. These are the selectors of the webhooks
// except the policy guard or, without webhooks, the selectors of the bindings of native policies.
func (c *cluster) scopes() []namespaceScope {
	if len(c.hooks) == 0 {
		return c.bindingScopes()
	}
	var all []namespaceScope
	for _, h := range c.hooks {
		if !h.guardsPolicy() {
			all = append(all, namespaceScope{h.ref, h.NamespaceSelector})
		}
	}
	return all
}

// anchor returns the first webhook or native policy, for findings about the whole installation.
func (c *cluster) anchor() ref {
	if len(c.hooks) == 0 {
		return c.ref(c.backstop()[0].apiObject)
	}
	return c.hooks[0].ref
}

// bindingScopes returns the selectors of the bindings of native policies.
func (inv *Inventory) bindingScopes() []namespaceScope {
	var all []namespaceScope
	for _, p := range inv.backstop() {
		for i := range p.bindings {
			b := &p.bindings[i]
			all = append(all, namespaceScope{inv.ref(b.apiObject), b.namespaceSelector()})
		}
	}
	return all
}

// excludedNames lists the namespaces that the selector excludes by name.
func (s *namespaceScope) excludedNames() []string {
	if s.selector == nil {
		return nil
	}
	var names []string
	for _, e := range s.selector.MatchExpressions {
		if e.Key == corev1.LabelMetadataName && e.Operator == metav1.LabelSelectorOpNotIn {
			names = append(names, e.Values...)
		}
	}
	return names
}
