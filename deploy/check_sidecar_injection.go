package deploy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// sidecarInjection checks that no service mesh adds its proxy to the Pods. Istio adds a sidecar because of the label
// istio-injection or istio.io/rev of the namespace, or the label sidecar.istio.io/inject or istio.io/rev of the Pod.
// Its ambient mode captures Pods because of the label istio.io/dataplane-mode of the Pod or the namespace. Linkerd
// uses the annotation linkerd.io/inject of the Pod or the namespace, Kuma uses the label kuma.io/sidecar-injection of
// the Pod or the namespace, and Consul uses the annotation consul.hashicorp.com/connect-inject of the Pod. Pods in
// the host network do not get a proxy. If the proxy does not intercept the serving port, the finding is a warning.
func sidecarInjection() check {
	return check{
		id: "sidecar-injection", severity: Error,
		finds: "a service mesh that adds its proxy to the Evergate Pods. Preflight reports only a warning if the proxy " +
			"does not intercept the serving port, or if only a dry run shows the added containers",
		why: "the API server does not have a certificate of the mesh, so a proxy that intercepts the serving port " +
			"rejects the API server's calls in strict mode. The proxy stops before the drain ends and loses calls " +
			"during each rollout. While the webhook of the mesh does not answer, no replica can start. If that " +
			"webhook waits for Evergate, neither of them ever starts",
		fix: "disable injection in the Pod template. For Istio, set the labels sidecar.istio.io/inject: \"false\" " +
			"and istio.io/dataplane-mode: none. For Kuma, set the label kuma.io/sidecar-injection: disabled. For " +
			"Linkerd, set the annotation linkerd.io/inject: disabled. For Consul, set the annotation " +
			"consul.hashicorp.com/connect-inject: \"false\"",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			if s.pod.HostNetwork {
				return
			}
			before := len(r.found)
			for _, m := range meshes() {
				c.checkMesh(m, s, r)
			}
			if added := c.addedContainers(s); len(r.found) == before && len(added) > 0 {
				r.warning(s.ref, "the API server adds containers to its Pods in a dry run: %s", some(added))
			}
		}),
	}
}

// addedContainers lists the containers that the API server adds to the Pods of a server in a dry run.
func (c *cluster) addedContainers(s *server) []string {
	i := slices.IndexFunc(c.dryRuns, func(d DryRun) bool { return d.Deployment == s.Name && d.Pod != nil })
	if i < 0 {
		return nil
	}
	spec := &c.dryRuns[i].Pod.Spec
	var added []string
	for _, container := range slices.Concat(spec.InitContainers, spec.Containers) {
		if !slices.ContainsFunc(s.allContainers(), func(own corev1.Container) bool { return own.Name == container.Name }) {
			added = append(added, container.Name)
		}
	}
	return added
}

// mesh is a service mesh that injects proxies.
type mesh struct {
	name string
	// off returns the annotation that keeps the proxy off a port, or "" if there is no such annotation. It is nil if the
	// mesh does not have one.
	off func(namespace, pod metadata, port int32) string
	// cause returns the label or annotation that makes the mesh add its proxy, or "" if there is no such label, and
	// whether it is on the Pod template rather than on the namespace.
	cause func(namespace, pod metadata) (what string, ofPod bool)
}

// metadata has the labels and annotations that meshes read.
type metadata struct{ labels, annotations map[string]string }

func meshes() []mesh {
	return []mesh{
		{"Istio", istioOff, istioCause},
		{"Istio's ambient mode", nil, ambientCause},
		{"Linkerd", linkerdOff, linkerdCause},
		{"Kuma", excludedBy("traffic.kuma.io/exclude-inbound-ports"), kumaCause},
		{"Consul", excludedBy("consul.hashicorp.com/transparent-proxy-exclude-inbound-ports"), consulCause},
	}
}

// excludedBy returns the function off of a mesh whose annotation on a Pod lists the ports that the proxy does not
// intercept.
func excludedBy(annotation string) func(namespace, pod metadata, port int32) string {
	return func(_, pod metadata, port int32) string {
		if holdsNumber(pod.annotations[annotation], port) {
			return annotation
		}
		return ""
	}
}

// istioOff follows istio-iptables, which excludes ports only if it includes all ports.
func istioOff(namespace, pod metadata, port int32) string {
	const mode, include = "sidecar.istio.io/interceptionMode", "traffic.sidecar.istio.io/includeInboundPorts"
	if pod.annotations[mode] == "NONE" {
		return mode + ": NONE"
	}
	if ports, ok := pod.annotations[include]; ok && ports != "*" {
		if holdsNumber(ports, port) {
			return ""
		}
		return include
	}
	return excludedBy("traffic.sidecar.istio.io/excludeInboundPorts")(namespace, pod, port)
}

// linkerdOff follows Linkerd's injector. The annotation of a Pod takes precedence over the annotation of its namespace.
func linkerdOff(namespace, pod metadata, port int32) string {
	const skip = "config.linkerd.io/skip-inbound-ports"
	if _, ok := pod.annotations[skip]; !ok {
		pod = namespace
	}
	return excludedBy(skip)(namespace, pod, port)
}

// istioCause follows the webhooks of Istio's injector. A namespace with istio-injection: disabled never gets proxies.
// The value of a Pod takes precedence over the value of its namespace, and istio-injection takes precedence over
// istio.io/rev.
func istioCause(namespace, pod metadata) (what string, ofPod bool) {
	const inject, injection, revision = "sidecar.istio.io/inject", "istio-injection", "istio.io/rev"
	decision := pod.labels[inject]
	if decision == "" {
		decision = pod.annotations[inject] // as it was before Istio 1.10
	}
	switch {
	case decision == "false" || namespace.labels[injection] == "disabled":
		return "", false
	case namespace.labels[injection] == "enabled":
		return "its label " + injection + ": enabled", false
	case namespace.labels[revision] != "":
		return "its label " + revision + ": " + namespace.labels[revision], false
	case pod.labels[inject] == "true":
		return "the label " + inject + `: "true" of its Pod template`, true
	case pod.labels[revision] != "":
		return "the label " + revision + ": " + pod.labels[revision] + " of its Pod template", true
	}
	return "", false
}

// ambientCause follows Istio's ztunnel. The label of a Pod takes precedence over the label of its namespace. A Pod
// may exclude its inbound traffic from the capture.
func ambientCause(namespace, pod metadata) (what string, ofPod bool) {
	const mode, bypass = "istio.io/dataplane-mode", "ambient.istio.io/bypass-inbound-capture"
	switch own := pod.labels[mode]; {
	case pod.annotations[bypass] == "true":
		return "", false
	case own == "ambient":
		return "the label " + mode + ": ambient of its Pod template", true
	case own == "" && namespace.labels[mode] == "ambient":
		return "its label " + mode + ": ambient", false
	}
	return "", false
}

// kumaCause follows Kuma's injector, which reads a label, or an annotation in older versions. The value of a Pod
// takes precedence over the value of its namespace.
func kumaCause(namespace, pod metadata) (what string, ofPod bool) {
	const inject = "kuma.io/sidecar-injection"
	injects := func(value string) bool { return value == "enabled" || value == "true" }
	switch own := cmp.Or(pod.labels[inject], pod.annotations[inject]); {
	case injects(own):
		return inject + ": " + own + " of its Pod template", true
	case own == "" && injects(cmp.Or(namespace.labels[inject], namespace.annotations[inject])):
		return "its " + inject + ": " + cmp.Or(namespace.labels[inject], namespace.annotations[inject]), false
	}
	return "", false
}

// consulCause follows Consul's injector, which reads only Pods unless it injects into every Pod by default.
func consulCause(_, pod metadata) (what string, ofPod bool) {
	const inject = "consul.hashicorp.com/connect-inject"
	if on, err := strconv.ParseBool(pod.annotations[inject]); err == nil && on {
		return "the annotation " + inject + " of its Pod template", true
	}
	return "", false
}

// linkerdCause follows Linkerd's injector. The annotation of a Pod takes precedence over the annotation of its
// namespace.
func linkerdCause(namespace, pod metadata) (what string, ofPod bool) {
	const inject = "linkerd.io/inject"
	injects := func(value string) bool { return value == "enabled" || value == "ingress" }
	switch own := pod.annotations[inject]; {
	case injects(own):
		return "the annotation " + inject + ": " + own + " of its Pod template", true
	case own == "" && injects(namespace.annotations[inject]):
		return "its annotation " + inject + ": " + namespace.annotations[inject], false
	}
	return "", false
}

func (c *cluster) checkMesh(m mesh, s *server, r *reporter) {
	at, namespace := s.ref, metadata{}
	template := metadata{s.Spec.Template.Labels, s.Spec.Template.Annotations}
	ns := find(c.namespaces, "", s.Namespace)
	if ns != nil {
		namespace = metadata{ns.Labels, ns.Annotations}
	}
	what, ofPod := m.cause(namespace, template)
	if what == "" {
		return
	}
	if !ofPod {
		at = c.ref(ns)
	}
	sentence := fmt.Sprintf("%s makes %s add its proxy to the Pods of %s", what, m.name, s.ref)
	port := s.listens("listen")
	if m.off == nil {
		r.error(at, "%s makes %s take over port %d of the Pods of %s, and with strict mutual TLS it rejects the API server",
			what, m.name, port, s.ref)
		return
	}
	if off := m.off(namespace, template, port); off != "" {
		r.warning(at, "%s; %s keeps it off port %d, but the Pods still need it to start", sentence, off, port)
		return
	}
	r.error(at, "%s, in front of port %d, which the API server calls", sentence, port)
}

// holdsNumber reports whether a list such as 443,10250-10260 contains a number.
func holdsNumber(list string, n int32) bool {
	return slices.ContainsFunc(strings.Split(list, ","), func(s string) bool {
		from, to, ranged := strings.Cut(strings.TrimSpace(s), "-")
		if !ranged {
			to = from
		}
		low, errLow := strconv.Atoi(from)
		high, errHigh := strconv.Atoi(to)
		return errLow == nil && errHigh == nil && low <= int(n) && int(n) <= high
	})
}
