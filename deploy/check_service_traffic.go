package deploy

import (
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/internal/text"
)

// serviceTraffic checks that the Service that webhooks call sends calls to every ready replica and to no other Pod.
func serviceTraffic() check {
	return check{
		id: "service-traffic", severity: Error, needs: []premise{together()},
		finds: "a Service that drops calls, sends calls to replicas that are not ready or in other clusters, or sends all " +
			"calls to one replica",
		why: "kube-proxy on the node of the API server drops calls that it may not send to other nodes. Calls to a " +
			"replica that is starting or draining are lost. Replicas in other clusters have another CA or policy",
		fix: "leave out type, internalTrafficPolicy, publishNotReadyAddresses, sessionAffinity, trafficDistribution, " +
			"protocol, and labels and annotations for other proxies, as kustomize/base does",
		run: func(c *cluster, r *reporter) {
			seen := map[*corev1.Service]bool{nil: true} // nil: see the check service
			for _, h := range c.hooks {
				if svc := c.service(h); !seen[svc] {
					seen[svc] = true
					checkTraffic(c.ref(svc), svc, r)
				}
			}
		},
	}
}

func checkTraffic(at ref, svc *corev1.Service, r *reporter) {
	spec := &svc.Spec
	if p := spec.InternalTrafficPolicy; p != nil && *p == corev1.ServiceInternalTrafficPolicyLocal {
		r.error(at, "its internalTrafficPolicy is Local: calls from a node without a replica are dropped")
	}
	if spec.PublishNotReadyAddresses {
		r.error(at, "publishNotReadyAddresses is true: it sends calls to replicas that do not serve yet or no longer serve")
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		r.error(at, "its type is ExternalName: the API server does not call it")
	}
	for i, port := range spec.Ports {
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
			r.error(at, "the protocol of spec.ports[%d] is %s: the API server calls it over TCP", i,
				printable(string(port.Protocol)))
		}
	}
	// kube-proxy ignores Services with either label (k8s.io/kubernetes v1.37.2, pkg/proxy/apis/well_known_labels.go).
	for _, label := range []string{"service.kubernetes.io/service-proxy-name", corev1.IsHeadlessService} {
		if value, ok := svc.Labels[label]; ok {
			r.error(at, "its label %s is %s: kube-proxy ignores it, so no node can reach it unless another proxy serves it",
				label, text.Quote(value))
		}
	}
	checkOtherClusters(at, svc, r)
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		r.warning(at, "its sessionAffinity is ClientIP: each API server calls one replica only")
	}
	if spec.TrafficDistribution != nil {
		r.warning(at, "its trafficDistribution is %s: the replicas near the API servers get all calls, and the others "+
			"do not get any",
			printable(*spec.TrafficDistribution))
	}
	for _, key := range []string{corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints} {
		if value := svc.Annotations[key]; value != "" && value != "Disabled" && value != "disabled" {
			r.warning(at, "its annotation %s is %s: the replicas near the API servers may get all calls", key, printable(value))
		}
	}
}

// checkOtherClusters reports a global Service of Cilium, unless it prefers the replicas of its cluster. Cilium also
// reads the annotations by their former names (pkg/annotation/k8s.go).
func checkOtherClusters(at ref, svc *corev1.Service, r *reporter) {
	first := func(keys ...string) (key, value string) {
		for _, key := range keys {
			if value, ok := svc.Annotations[key]; ok {
				return key, strings.ToLower(value)
			}
		}
		return "", ""
	}
	key, global := first("service.cilium.io/global", "io.cilium/global-service")
	_, affinity := first("service.cilium.io/affinity", "io.cilium/service-affinity")
	if global == "true" && affinity != "local" {
		r.error(at, "its annotation %s is true: Cilium sends calls to replicas in other clusters", key)
	}
}
