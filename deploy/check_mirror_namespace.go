package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// mirrorNamespace checks that the rewriting webhooks and native policies do not select a namespace in which a mirror
// runs. A mirror runs in a namespace if its registry is a Service there (name.namespace.svc) or the host of an Ingress
// or a route there.
func mirrorNamespace() check {
	return check{
		id: "mirror-namespace", severity: Error,
		finds: "a mirror that runs in a namespace in which Evergate rewrites images to this mirror",
		why: "when the mirror is down, its Pods need images that only the mirror itself could serve, so it cannot " +
			"start again",
		fix: "remove the label " + optInLabel + " from the namespace of the mirror",
		run: func(c *cluster, r *reporter) {
			p, ok := c.policy()
			if !ok {
				return
			}
			for _, ns := range c.namespaces {
				places := filter(p.MirrorPlaces(), func(place string) bool {
					return slices.Contains(c.namespacesOf(place), ns.Name)
				})
				if len(places) > 0 && c.rewrites(ns.Name) {
					r.error(c.ref(ns), "its images are rewritten to a registry that runs in this namespace: %s", some(places))
				}
			}
		},
	}
}

// namespacesOf lists the namespaces in which the registry of a place runs.
func (c *cluster) namespacesOf(place string) []string {
	registry, _, _ := strings.Cut(place, "/")
	host, _, _ := strings.Cut(registry, ":")
	var names []string
	if labels := strings.Split(host, "."); len(labels) > 2 && labels[2] == "svc" {
		names = append(names, labels[1])
	}
	for _, ing := range c.ingresses {
		for _, rule := range ing.Spec.Rules {
			if strings.EqualFold(rule.Host, host) && !slices.Contains(names, ing.Namespace) {
				names = append(names, ing.Namespace)
			}
		}
	}
	for _, route := range c.routes {
		named := func(h string) bool { return strings.EqualFold(h, host) }
		if slices.ContainsFunc(hostsOf(route), named) && !slices.Contains(names, route.GetNamespace()) {
			names = append(names, route.GetNamespace())
		}
	}
	return names
}

// hostsOf returns spec.hostnames of a Gateway API route, or spec.host of an OpenShift Route.
func hostsOf(route *unstructured.Unstructured) []string {
	hosts, _, _ := unstructured.NestedStringSlice(route.Object, "spec", "hostnames")
	if host, ok, _ := unstructured.NestedString(route.Object, "spec", "host"); ok {
		hosts = append(hosts, host)
	}
	return hosts
}

// rewrites reports whether a webhook or a native policy rewrites Pod images in a namespace.
func (c *cluster) rewrites(namespace string) bool {
	set := c.namespaceLabels(namespace)
	return slices.ContainsFunc(c.hooks, func(h *hook) bool {
		return h.mutating && h.covers("pods", admissionv1.Create) && selects(h.NamespaceSelector, set)
	}) || slices.ContainsFunc(c.backstop(), func(p nativePolicy) bool {
		return p.mutates && slices.ContainsFunc(p.bindings, func(b nativeBinding) bool {
			return selects(b.namespaceSelector(), set)
		})
	})
}
