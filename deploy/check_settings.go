package deploy

import (
	"encoding/json"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
)

// settingsName is the ConfigMap with the settings of the manifests (kustomize/base/settings.yaml).
const settingsName = "evergate-settings"

// settingsInUse checks that the settings of the manifests are in the places that use them. kustomize copies them with
// the transformers in wiring/, which an overlay that changes a setting has to list. The check runs if the input has the
// ConfigMap with the settings.
func settingsInUse() check {
	return check{
		id: "settings", severity: Error,
		finds: "an overlay that changes settings in the ConfigMap evergate-settings, or the namespace, without updating " +
			"the fields that depend on them",
		why: "kustomize does not report the problem, and the change has no effect. In another namespace, the API server " +
			"calls a Service that does not exist",
		fix: "list kustomize/wiring under transformers in the overlay that changes the settings or the namespace, and " +
			"apply the overlay again",
		run: func(c *cluster, r *reporter) {
			for _, cm := range c.settings() {
				if unused := c.unused(cm); len(unused) > 0 {
					r.error(c.ref(cm), "%s: no transformer has copied the changes of the overlay", strings.Join(unused, "; "))
				}
			}
		},
	}
}

// wired holds if the settings of the manifests are in use.
func wired() premise {
	return premise{"settings", func(c *cluster) bool {
		return !slices.ContainsFunc(c.settings(), func(cm *corev1.ConfigMap) bool { return len(c.unused(cm)) > 0 })
	}}
}

// settings returns the ConfigMaps with settings. In an input with the manifests of one overlay there is one.
func (c *cluster) settings() []*corev1.ConfigMap {
	return filter(c.configMaps, func(cm *corev1.ConfigMap) bool { return cm.Name == settingsName })
}

// unused lists the settings that differ from the places that use them.
func (c *cluster) unused(cm *corev1.ConfigMap) []string {
	var unused []string
	if c.namespace != "" && cm.Namespace != c.namespace {
		unused = append(unused, "the namespace is "+cm.Namespace+", and the webhooks call "+c.namespace)
	}
	for _, h := range c.hooks {
		var mirrors []string
		if h.path() != pathMutatePodsAgain || json.Unmarshal([]byte(cm.Data["mirrors"]), &mirrors) != nil {
			continue
		}
		if prefixes, ok := h.prefixes(); ok && !slices.Equal(prefixes, mirrors) {
			unused = append(unused, "mirrors are "+some(mirrors)+", and the retry webhook has "+some(prefixes))
		}
	}
	if want := cm.Data["monitoringNamespace"]; want != "" {
		if p := find(c.networkPolicies, cm.Namespace, "evergate"); p != nil {
			named := namespacesByName(p)
			if len(named) == 1 && named[0] != want {
				unused = append(unused, "monitoringNamespace is "+want+", and the NetworkPolicy allows "+named[0])
			}
		}
	}
	for _, s := range c.servers {
		want, got := cm.Data["collector"], s.variable("OTEL_EXPORTER_OTLP_ENDPOINT")
		if s.Annotations["evergate.dev/traces-to"] == "collector" && want != "" && got != want {
			unused = append(unused, "collector is "+want+", and the replicas send traces to "+got)
		}
	}
	return unused
}

// namespacesByName lists the namespaces that the ingress rules of a NetworkPolicy select by their names.
func namespacesByName(p *networkingv1.NetworkPolicy) []string {
	var names []string
	for _, rule := range p.Spec.Ingress {
		for _, peer := range rule.From {
			if peer.NamespaceSelector == nil {
				continue
			}
			if name, ok := peer.NamespaceSelector.MatchLabels[corev1.LabelMetadataName]; ok {
				names = append(names, name)
			}
		}
	}
	return names
}
