package deploy

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/internal/text"
)

// settings inspects whether the settings of the manifests (kustomize/base/settings.yaml) are in the fields that depend
// on them. kustomize copies them with the transformers in wiring/, which an overlay that changes a setting has to list.
func (i *inspection) settings() {
	for _, cm := range install.Of[*corev1.ConfigMap](i.Objects) {
		if cm.Name != "evergate-settings" {
			continue
		}
		if unused := i.unused(cm); len(unused) > 0 {
			i.error("settings", i.Ref(cm), "%s: no transformer has copied the changes of the overlay",
				strings.Join(unused, "; "))
		}
	}
}

// unused lists the settings that differ from the fields that depend on them.
func (i *inspection) unused(cm *corev1.ConfigMap) []string {
	var unused []string
	if i.Namespace != "" && cm.Namespace != i.Namespace {
		unused = append(unused, "the namespace is "+cm.Namespace+", and the webhooks call "+i.Namespace)
	}
	for _, h := range i.Hooks {
		var mirrors []string
		if h.Path != pathMutatePodsAgain || json.Unmarshal([]byte(cm.Data["mirrors"]), &mirrors) != nil {
			continue
		}
		if prefixes, ok := prefixesOf(h); ok && !slices.Equal(prefixes, mirrors) {
			unused = append(unused, "mirrors are "+some(mirrors)+", and the retry webhook has "+some(prefixes))
		}
	}
	want, p := cm.Data["monitoringNamespace"],
		install.Find[*networkingv1.NetworkPolicy](i.Objects, cm.Namespace, "evergate")
	if want != "" && p != nil {
		var allowed []string
		for _, rule := range p.Spec.Ingress {
			for _, peer := range rule.From {
				if s := peer.NamespaceSelector; s != nil && s.MatchLabels[corev1.LabelMetadataName] != "" {
					allowed = append(allowed, s.MatchLabels[corev1.LabelMetadataName])
				}
			}
		}
		if len(allowed) == 1 && allowed[0] != want {
			unused = append(unused, "monitoringNamespace is "+want+", and the NetworkPolicy allows "+allowed[0])
		}
	}
	for _, s := range i.Servers {
		want, got := cm.Data["collector"], known(s.Variable("OTEL_EXPORTER_OTLP_ENDPOINT", ""))
		if s.Annotations["evergate.dev/traces-to"] == "collector" && want != "" && got != want {
			unused = append(unused, "collector is "+want+", and the replicas send traces to "+got)
		}
	}
	return unused
}

// route walks the way of a call: webhook → Service → Deployment → port → Pod. The first break is the finding, because
// findings.yaml lists the breaks before each finding in after.
func (i *inspection) route() {
	if len(i.Servers) == 0 && len(i.Elsewhere) > 0 && !i.Unread("deployments") {
		i.error("deployment", i.Hooks[0].Ref, "it calls the namespace %s, and evergate serve runs elsewhere: %s", i.Namespace,
			refsOf(i.Elsewhere))
	}
	seen := map[*corev1.Service]bool{nil: true}
	reported := map[string]bool{"": true} // each problem once for all webhooks
	for _, h := range i.Hooks {
		if problem := i.serviceProblem(h); !reported[problem] {
			reported[problem] = true
			i.error("service", h.Ref, "%s", problem)
		}
		if svc := h.Called; !seen[svc] {
			seen[svc] = true
			i.traffic(i.Ref(svc), svc)
			i.target(svc, h.Port())
			i.endpoints(svc)
		}
	}
	i.deployments()
	for _, s := range i.Servers {
		i.listenPort(s)
		i.networkPolicies(s)
	}
}

// deployments inspects whether Deployments run evergate serve and select their own Pods.
func (i *inspection) deployments() {
	// Without a namespace, webhooks call a URL: see urls.
	if len(i.Servers)+len(i.Elsewhere) == 0 && len(i.Hooks) > 0 && i.Namespace != "" && !i.Unread("deployments") {
		i.error("deployment", i.Hooks[0].Ref, "no Deployment runs evergate serve in the namespace %s", i.Namespace)
	}
	for _, s := range i.Servers {
		if !s.Counted(s.Spec.Selector) {
			i.error("deployment", s.Ref, "the labels of its Pod template, %s, do not match its spec.selector: the API server "+
				"rejects it", labels.Set(s.Labels()))
		}
	}
}

// serviceProblem returns the problem with the Service of a webhook, or "" if the Service is right.
func (i *inspection) serviceProblem(h *install.Hook) string {
	called, svc := h.ClientConfig.Service, h.Called
	switch {
	case called == nil: // see urls
	case svc == nil:
		meant := ""
		for _, svc := range install.Of[*corev1.Service](i.Objects) {
			if meant == "" && len(i.Behind(svc)) > 0 {
				meant = "; evergate serve is behind " + i.Ref(svc).String()
			}
		}
		return fmt.Sprintf("the Service %s/%s does not exist%s", called.Namespace, called.Name, meant)
	case svc.Spec.ClusterIP == corev1.ClusterIPNone:
		return i.Ref(svc).String() + " is headless"
	case targetOf(svc, h.Port()) == nil:
		return fmt.Sprintf("%s has no port %d", i.Ref(svc), h.Port())
	}
	return ""
}

// targetOf returns the port of Pods that a port of a Service leads to, or nil if the Service does not have the port.
func targetOf(svc *corev1.Service, port int32) *intstr.IntOrString {
	for _, p := range svc.Spec.Ports {
		if p.Port == port {
			target := cmp.Or(p.TargetPort, intstr.FromInt32(port))
			return &target
		}
	}
	return nil
}

// traffic inspects whether a Service sends calls to every ready replica and to no other Pod.
func (i *inspection) traffic(at install.Ref, svc *corev1.Service) {
	const id = "service-traffic"
	spec := &svc.Spec
	if p := spec.InternalTrafficPolicy; p != nil && *p == corev1.ServiceInternalTrafficPolicyLocal {
		i.error(id, at, "its internalTrafficPolicy is Local: calls from a node without a replica are dropped")
	}
	if spec.PublishNotReadyAddresses {
		i.error(id, at, "publishNotReadyAddresses is true: it sends calls to replicas that do not serve yet or no longer serve")
	}
	if spec.Type == corev1.ServiceTypeExternalName {
		i.error(id, at, "its type is ExternalName: the API server does not call it")
	}
	for n, port := range spec.Ports {
		if port.Protocol != "" && port.Protocol != corev1.ProtocolTCP {
			i.error(id, at, "the protocol of spec.ports[%d] is %s: the API server calls it over TCP", n,
				install.Printable(string(port.Protocol)))
		}
	}
	// kube-proxy ignores Services with either label (k8s.io/kubernetes v1.37.2, pkg/proxy/apis/well_known_labels.go).
	for _, label := range []string{"service.kubernetes.io/service-proxy-name", corev1.IsHeadlessService} {
		if value, ok := svc.Labels[label]; ok {
			i.error(id, at, "its label %s is %s: kube-proxy ignores it, so no node can reach it unless another proxy serves it",
				label, text.Quote(value))
		}
	}
	// Cilium also reads the annotations by their former names (pkg/annotation/k8s.go).
	for _, names := range [][2]string{
		{"service.cilium.io/global", "service.cilium.io/affinity"},
		{"io.cilium/global-service", "io.cilium/service-affinity"},
	} {
		global, affinity := svc.Annotations[names[0]], svc.Annotations[names[1]]
		if strings.EqualFold(global, "true") && !strings.EqualFold(affinity, "local") {
			i.error(id, at, "its annotation %s is true: Cilium sends calls to replicas in other clusters", names[0])
		}
	}
	if spec.SessionAffinity == corev1.ServiceAffinityClientIP {
		i.warning(id, at, "its sessionAffinity is ClientIP: each API server calls one replica only")
	}
	if spec.TrafficDistribution != nil {
		i.warning(id, at, "its trafficDistribution is %s: the replicas near the API servers get all calls, and the others do "+
			"not get any", install.Printable(*spec.TrafficDistribution))
	}
	for _, key := range []string{corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints} {
		if value := svc.Annotations[key]; value != "" && !strings.EqualFold(value, "disabled") {
			i.warning(id, at, "its annotation %s is %s: the replicas near the API servers may get all calls", key,
				install.Printable(value))
		}
	}
}

// target inspects whether a Service leads to Pods of evergate serve, on the port of --listen, and to no other Pods.
func (i *inspection) target(svc *corev1.Service, port int32) {
	const id = "service-target"
	behind, target := i.Behind(svc), targetOf(svc, port)
	if len(behind) == 0 && len(i.Servers) > 0 {
		s := i.Servers[0]
		i.error(id, i.Ref(svc), "it selects %s, and the Pods of %s, which runs evergate serve, have the labels %s",
			labels.Set(svc.Spec.Selector), s.Ref, labels.Set(s.Labels()))
	}
	if target == nil {
		return
	}
	for _, s := range behind {
		l, ok := s.Listener("listen")
		switch found := install.PodPort(s.Pod, *target, corev1.ProtocolTCP); {
		case !ok || found == l.Port:
		case found == 0:
			i.error(id, i.Ref(svc), "the targetPort of its port %d is %s, and %s does not have a TCP port with this name", port,
				target.StrVal, s.Ref)
		default:
			i.error(id, i.Ref(svc), "its port %d leads to port %d of %s, which listens on %d", port, found, s.Ref, l.Port)
		}
	}
	if others := i.othersBehind(svc, *target); len(behind) > 0 && len(others) > 0 {
		i.error(id, i.Ref(svc), "it also sends calls to Pods that do not run evergate serve: %s", refsOf(others))
	}
}

// othersBehind returns the other Deployments and Pods that get calls to a port of a Service.
func (i *inspection) othersBehind(svc *corev1.Service, target intstr.IntOrString) []install.Ref {
	gets := func(labels map[string]string, pod *corev1.PodSpec) bool {
		return install.ContainsAll(labels, svc.Spec.Selector) && !slices.ContainsFunc(pod.Containers, install.RunsServe) &&
			install.PodPort(pod, target, corev1.ProtocolTCP) != 0
	}
	var others []install.Ref
	var templates []map[string]string
	for _, d := range install.In[*appsv1.Deployment](i.Objects, svc.Namespace) {
		if template := d.Spec.Template; gets(template.Labels, &template.Spec) {
			others, templates = append(others, i.Ref(d)), append(templates, template.Labels)
		}
	}
	for _, p := range install.In[*corev1.Pod](i.Objects, svc.Namespace) {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		reported := slices.ContainsFunc(templates, func(set map[string]string) bool {
			return install.ContainsAll(p.Labels, set)
		})
		if !ended && !reported && gets(p.Labels, &p.Spec) {
			others = append(others, i.Ref(p))
		}
	}
	return others
}

// listenPort reports a --listen on another port than the port on which a Service and the readiness probe agree. If these
// two do not agree, target and readiness report which of them is wrong.
func (i *inspection) listenPort(s *install.Server) {
	probe, listens := s.Container.ReadinessProbe, s.Listens("listen")
	if probe == nil || probe.HTTPGet == nil || listens == 0 {
		return
	}
	for _, h := range i.Hooks {
		if h.Called == nil || len(i.Behind(h.Called)) == 0 || targetOf(h.Called, h.Port()) == nil {
			continue
		}
		target := *targetOf(h.Called, h.Port())
		port := s.Port(target)
		same := target == probe.HTTPGet.Port || port != 0 && port == s.Port(probe.HTTPGet.Port)
		if !same || port == listens {
			continue
		}
		name := fmt.Sprintf("port %d", port)
		switch {
		case port == 0:
			name = fmt.Sprintf("a port called %s, which the container does not have", target.StrVal)
		case target.Type == intstr.String:
			name += ", which is called " + target.StrVal
		}
		i.error("listen-port", s.Process, "--listen is on port %d, and %s and its readinessProbe lead to %s", listens,
			i.Ref(h.Called), name)
		return
	}
}

// endpoints inspects whether a Service has as many ready endpoints as there should be replicas. Endpoints of one Pod in
// two address families count once.
func (i *inspection) endpoints(svc *corev1.Service) {
	pods, want := map[string]bool{}, 0
	for _, slice := range install.In[*discoveryv1.EndpointSlice](i.Objects, svc.Namespace) {
		for _, e := range slice.Endpoints {
			if ready := e.Conditions.Ready; slice.Labels[discoveryv1.LabelServiceName] != svc.Name || ready != nil && !*ready {
				continue // nil means ready
			}
			name := strings.Join(e.Addresses, ",")
			if e.TargetRef != nil {
				name = e.TargetRef.Name
			}
			pods[name] = true
		}
	}
	for _, s := range i.Behind(svc) {
		want += s.Replicas()
	}
	switch {
	case !install.Live(svc):
	case len(pods) == 0:
		i.error("endpoints", i.Ref(svc), "none of its endpoints is ready")
	case len(pods) < want:
		i.warning("endpoints", i.Ref(svc), "%d of %d endpoints are ready", len(pods), want)
	}
}

// refsOf lists objects.
func refsOf(refs []install.Ref) string {
	names := text.Strings(refs)
	slices.Sort(names)
	return some(names)
}

// loopback reports whether a host can be reached only from itself.
func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.Unmap().IsLoopback()
}
