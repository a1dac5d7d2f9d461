package deploy

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// sidecarInjection: no service mesh adds its proxy to the Pods. Istio does so by the label istio-injection or
// istio.io/rev of the namespace, or sidecar.istio.io/inject or istio.io/rev of the Pod; Linkerd by the annotation
// linkerd.io/inject of either. Pods in the host's network get none. Where the proxy leaves the serving port alone, a
// warning remains.
func sidecarInjection() check {
	return check{
		id: "sidecar-injection", severity: Error,
		finds: "a service mesh that adds its proxy to the Pods of Evergate; a warning where the proxy leaves the " +
			"serving port alone",
		why: "the API server has no certificate of the mesh: a proxy that takes the serving port over refuses its calls " +
			"in strict mode; it ends before the drain does, and loses calls at each roll-out; and while the mesh's " +
			"own webhook does not answer, no replica can start: if that one waits for Evergate, neither ever does",
		fix: "label the Pod template sidecar.istio.io/inject: \"false\", or annotate it linkerd.io/inject: disabled",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				if s.pod.HostNetwork {
					continue
				}
				for _, m := range meshes() {
					c.checkMesh(m, s, r)
				}
			}
		},
	}
}

// mesh is a service mesh that injects proxies.
type mesh struct {
	name     string
	excluded string // the annotation of a Pod with the ports that the proxy leaves alone
	// cause returns what makes the mesh inject: of: the Pod template, or of: the namespace; "" for nothing.
	cause func(namespace, pod metadata) (what string, ofPod bool)
}

// metadata is what meshes look at.
type metadata struct{ labels, annotations map[string]string }

func meshes() []mesh {
	return []mesh{
		{"Istio", "traffic.sidecar.istio.io/excludeInboundPorts", istioCause},
		{"Linkerd", "config.linkerd.io/skip-inbound-ports", linkerdCause},
	}
}

// istioCause follows the webhooks of Istio's injector: a namespace with istio-injection: disabled is never injected,
// a Pod decides before its namespace, and istio-injection before istio.io/rev.
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

// linkerdCause follows Linkerd's injector: the annotation of a Pod decides before that of its namespace.
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
	if holdsNumber(template.annotations[m.excluded], port) {
		r.warning(at, "%s; %s keeps it off port %d, but not off the rest", sentence, m.excluded, port)
		return
	}
	r.error(at, "%s, in front of port %d, which the API server calls", sentence, port)
}

// holdsNumber reports whether a list such as 443,10250-10260 holds a number.
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
