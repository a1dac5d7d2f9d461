package deploy

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/deploy/install"
)

// mesh is a label or an annotation that makes a service mesh add its proxy to Pods.
type mesh struct {
	name       string
	annotation bool
	key        string
	on         []string // its values; nil for any. Another value on the Pod or the namespace means no proxy
	excludes   string   // the annotation with the ports that the proxy does not intercept; "" if it intercepts all
}

// meshes returns the labels and annotations as the injectors read them. A value on the Pod counts more than a value on
// its namespace.
func meshes() []mesh {
	const istio = "traffic.sidecar.istio.io/excludeInboundPorts"
	return []mesh{
		{"Istio", false, "istio-injection", []string{"enabled"}, istio},
		{"Istio", false, "istio.io/rev", nil, istio},
		{"Istio", false, "sidecar.istio.io/inject", []string{"true"}, istio},
		{"Istio's ambient mode", false, "istio.io/dataplane-mode", []string{"ambient"}, ""},
		{"Linkerd", true, "linkerd.io/inject", []string{"enabled", "ingress"}, "config.linkerd.io/skip-inbound-ports"},
		{"Kuma", false, "kuma.io/sidecar-injection", []string{"enabled", "true"}, "traffic.kuma.io/exclude-inbound-ports"},
		{"Consul", true, "consul.hashicorp.com/connect-inject", []string{"true", "1", "t", "T", "TRUE", "True"},
			"consul.hashicorp.com/transparent-proxy-exclude-inbound-ports"},
	}
}

// value returns the value of the label or annotation of an object. The meshes with labels read annotations in older
// versions.
func (m *mesh) value(o metav1.Object) string {
	if m.annotation {
		return o.GetAnnotations()[m.key]
	}
	return cmp.Or(o.GetLabels()[m.key], o.GetAnnotations()[m.key])
}

// meshes inspects whether a service mesh adds its proxy to the Pods. Pods in the host network do not get one.
func (i *inspection) meshes(s *install.Server, run DryRun) {
	if s.Pod.HostNetwork {
		return
	}
	ns := cmp.Or(install.Find[*corev1.Namespace](i.Objects, "", s.Namespace), &corev1.Namespace{})
	template := &s.Spec.Template
	off, by := map[string]bool{}, map[string]mesh{}
	var names []string
	for _, m := range meshes() {
		value := cmp.Or(m.value(template), m.value(ns))
		switch {
		case value == "":
		case m.on != nil && !slices.Contains(m.on, value):
			off[m.name] = true
		case by[m.name].key == "":
			by[m.name], names = m, append(names, m.name)
		}
	}
	reported := false
	for _, name := range names {
		bypass := template.Annotations["ambient.istio.io/bypass-inbound-capture"] == "true"
		if m := by[name]; !off[name] && (m.excludes != "" || !bypass) {
			reported = true
			i.mesh(m, s, ns)
		}
	}
	if more := added(s, run.Pod); !reported && len(more) > 0 {
		i.warning("sidecar-injection", s.Ref, "the API server adds containers to its Pods in a dry run: %s", some(more))
	}
}

func (i *inspection) mesh(m mesh, s *install.Server, ns *corev1.Namespace) {
	what, at, template := "label", s.Ref, &s.Spec.Template
	if m.annotation {
		what = "annotation"
	}
	sentence := "the " + what + " " + m.key + ": " + m.value(template) + " of its Pod template"
	if m.value(template) == "" {
		sentence, at = "its "+what+" "+m.key+": "+m.value(ns), i.Ref(ns)
	}
	port := s.Listens("listen")
	if m.excludes == "" {
		i.error("sidecar-injection", at, "%s makes %s take over port %d of the Pods of %s, and with strict mutual TLS it rejects "+
			"the API server", sentence, m.name, port, s.Ref)
		return
	}
	sentence += " makes " + m.name + " add its proxy to the Pods of " + s.Ref.String()
	if off := m.keptOff(port, template.Annotations, ns.Annotations); off != "" {
		i.warning("sidecar-injection", at, "%s; %s keeps it off port %d, but the Pods still need it to start", sentence, off,
			port)
		return
	}
	i.error("sidecar-injection", at, "%s, in front of port %d, which the API server calls", sentence, port)
}

// keptOff returns the annotation that keeps the proxy off a port, or "". Linkerd also reads the annotation of the
// namespace. Istio excludes ports only if it includes all ports (istio-iptables).
func (m *mesh) keptOff(port int32, pod, ns map[string]string) string {
	const mode, include = "sidecar.istio.io/interceptionMode", "traffic.sidecar.istio.io/includeInboundPorts"
	list, set := pod[m.excludes]
	if !set && m.name == "Linkerd" {
		list = ns[m.excludes]
	}
	included, limited := pod[include]
	limited = limited && included != "*"
	switch {
	case m.name == "Istio" && pod[mode] == "NONE":
		return mode + ": NONE"
	case m.name == "Istio" && limited && !holdsNumber(included, port):
		return include
	case (m.name != "Istio" || !limited) && holdsNumber(list, port):
		return m.excludes
	}
	return ""
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

// added lists the containers that admission adds to the Pods of a server. pod may be nil.
func added(s *install.Server, pod *corev1.Pod) []string {
	if pod == nil {
		return nil
	}
	var names []string
	for _, c := range slices.Concat(pod.Spec.InitContainers, pod.Spec.Containers) {
		if !slices.ContainsFunc(s.AllContainers(), func(own corev1.Container) bool { return own.Name == c.Name }) {
			names = append(names, c.Name)
		}
	}
	return names
}
