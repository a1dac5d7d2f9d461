package revise

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// controller is a controller that continuously applies manifests from a repository.
type controller struct {
	name string

	labels      []string // prefixes of the labels that it sets on objects
	annotations []string
	managers    []string // its field managers
}

func controllers() []controller {
	return []controller{
		{
			"Argo CD", []string{"argocd.argoproj.io/"}, []string{"argocd.argoproj.io/tracking-id"},
			[]string{"argocd-controller", "argocd-application-controller"},
		},
		{
			"Flux", []string{"kustomize.toolkit.fluxcd.io/", "helm.toolkit.fluxcd.io/"}, nil,
			[]string{"kustomize-controller", "helm-controller"},
		},
	}
}

// ManagedBy returns an error if a controller applies the ConfigMap from a repository, because it would undo the
// change or report the cluster as out of sync. It returns nil if cm is nil.
func ManagedBy(cm *corev1.ConfigMap) error {
	if cm == nil {
		return nil
	}
	return ObjectManagedBy("ConfigMap", cm)
}

// ObjectManagedBy is like ManagedBy for an object of any kind.
func ObjectManagedBy(kind string, o metav1.Object) error {
	for _, c := range controllers() {
		if why := c.manages(o); why != "" {
			return fmt.Errorf("the %s %s is managed by %s (%s): it would undo the change; change the policy in its "+
				"repository", kind, o.GetName(), c.name, why)
		}
	}
	return nil
}

// manages returns a label, annotation or field manager that shows that the controller applies an object. It returns
// an empty string if the controller does not apply the object.
func (c *controller) manages(o metav1.Object) string {
	for _, label := range slices.Sorted(maps.Keys(o.GetLabels())) {
		if hasPrefix(label, c.labels) {
			return "label " + label
		}
	}
	for _, annotation := range slices.Sorted(maps.Keys(o.GetAnnotations())) {
		if hasPrefix(annotation, c.annotations) {
			return "annotation " + annotation
		}
	}
	for _, m := range o.GetManagedFields() {
		if slices.Contains(c.managers, m.Manager) {
			return "field manager " + m.Manager
		}
	}
	return ""
}

func hasPrefix(s string, prefixes []string) bool {
	return slices.ContainsFunc(prefixes, func(p string) bool { return strings.HasPrefix(s, p) })
}

// managersOf lists the other managers of a ConfigMap.
func managersOf(cm *corev1.ConfigMap) string {
	var names []string
	for _, m := range cm.ManagedFields {
		if m.Manager != Manager && !slices.Contains(names, m.Manager) {
			names = append(names, m.Manager)
		}
	}
	return strings.Join(names, ", ")
}
