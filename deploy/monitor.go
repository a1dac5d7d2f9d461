package deploy

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
)

// monitors returns the PodMonitors that select the Pods of a server, and the ServiceMonitors that select a Service of
// these Pods.
func (c *cluster) monitors(s *server) []*unstructured.Unstructured {
	var monitors []*unstructured.Unstructured
	for _, m := range c.podMonitors {
		if watches(m, s.Namespace) && selectsSet(m, "selector", s.templateLabels()) {
			monitors = append(monitors, m)
		}
	}
	for _, m := range c.serviceMonitors {
		for _, svc := range c.services {
			mine := svc.Namespace == s.Namespace && len(svc.Spec.Selector) > 0 &&
				labels.SelectorFromSet(svc.Spec.Selector).Matches(labels.Set(s.templateLabels()))
			if mine && watches(m, s.Namespace) && selectsSet(m, "selector", svc.Labels) {
				monitors = append(monitors, m)
				break
			}
		}
	}
	return monitors
}

// watches reports whether a monitor selects a namespace: its own, unless it lists others.
func watches(m *unstructured.Unstructured, namespace string) bool {
	if every, _, _ := unstructured.NestedBool(m.Object, "spec", "namespaceSelector", "any"); every {
		return true
	}
	names, _, _ := unstructured.NestedStringSlice(m.Object, "spec", "namespaceSelector", "matchNames")
	return slices.Contains(names, namespace) || len(names) == 0 && m.GetNamespace() == namespace
}

// takesUp reports whether a Prometheus uses a monitor. Without a selector for the kind, it does not use any monitor.
// Without a selector for namespaces, it uses the monitors in its own namespace.
func (c *cluster) takesUp(prometheus, monitor *unstructured.Unstructured) bool {
	prefix := map[string]string{"PodMonitor": "podMonitor", "ServiceMonitor": "serviceMonitor"}[monitor.GetKind()]
	if !selectsSet(prometheus, prefix+"Selector", monitor.GetLabels()) {
		return false
	}
	if _, ok := selectorOf(prometheus, prefix+"NamespaceSelector"); !ok {
		return prometheus.GetNamespace() == monitor.GetNamespace()
	}
	return selectsSet(prometheus, prefix+"NamespaceSelector", c.namespaceLabels(monitor.GetNamespace()))
}

// selectsSet reports whether the spec of an object has a selector at a field that selects objects with these labels.
func selectsSet(o *unstructured.Unstructured, field string, set map[string]string) bool {
	s, ok := selectorOf(o, field)
	return ok && selects(s, set)
}

// selectorOf returns a selector in the spec of an object. ok is false if the field is not set or cannot be read.
func selectorOf(o *unstructured.Unstructured, field string) (s *metav1.LabelSelector, ok bool) {
	value, ok, err := unstructured.NestedMap(o.Object, "spec", field)
	if err != nil || !ok {
		return nil, false
	}
	s = &metav1.LabelSelector{}
	return s, runtime.DefaultUnstructuredConverter.FromUnstructured(value, s) == nil
}
