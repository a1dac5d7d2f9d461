package deploy

import (
	"cmp"
	"encoding/json"
	"fmt"
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
		var unused []string
		differs := func(setting, want, user, got string) {
			if want != "" && got != want {
				unused = append(unused, setting+" "+want+", and "+user+" "+got)
			}
		}
		differs("the namespace is", cm.Namespace, "the webhooks call", cmp.Or(i.Namespace, cm.Namespace))
		for _, h := range i.Hooks {
			var mirrors []string
			prefixes, ok := prefixesOf(h)
			if ok && h.Path == pathMutatePodsAgain && json.Unmarshal([]byte(cm.Data["mirrors"]), &mirrors) == nil {
				differs("mirrors are", some(mirrors), "the retry webhook has", some(prefixes))
			}
		}
		for _, p := range install.In[*networkingv1.NetworkPolicy](i.Objects, cm.Namespace) {
			for _, rule := range p.Spec.Ingress {
				for _, peer := range rule.From {
					if s := peer.NamespaceSelector; p.Name == "evergate" && s != nil && s.MatchLabels[corev1.LabelMetadataName] != "" {
						differs("monitoringNamespace is", cm.Data["monitoringNamespace"], "the NetworkPolicy allows",
							s.MatchLabels[corev1.LabelMetadataName])
					}
				}
			}
		}
		for _, s := range i.Servers {
			if s.Annotations["evergate.dev/traces-to"] == "collector" {
				got := known(s.Variable("OTEL_EXPORTER_OTLP_ENDPOINT", ""))
				differs("collector is", cm.Data["collector"], "the replicas send traces to", cmp.Or(got, cm.Data["collector"]))
			}
		}
		i.errorIf(len(unused) > 0, "settings", i.Ref(cm), "%s: no transformer has copied the changes of the overlay",
			strings.Join(unused, "; "))
	}
}

// route walks the way of a call: webhook → Service → Deployment → port → Pod. The first break is the finding, because
// findings.yaml lists the breaks before each finding in after.
func (i *inspection) route() {
	if len(i.Servers) == 0 && len(i.Hooks) > 0 && !i.Unread("deployments") {
		at, elsewhere := i.Hooks[0].Ref, len(i.Elsewhere) > 0
		i.errorIf(elsewhere, "deployment", at, "it calls the namespace %s, and evergate serve runs elsewhere: %s", i.Namespace,
			refsOf(i.Elsewhere))
		// Without a namespace, webhooks call a URL.
		i.errorIf(!elsewhere && i.Namespace != "", "deployment", at, "no Deployment runs evergate serve in the namespace %s",
			i.Namespace)
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
	for _, s := range i.Servers {
		i.errorIf(!s.Counted(s.Spec.Selector), "deployment", s.Ref, "the labels of its Pod template, %s, do not match its "+
			"spec.selector: the API server rejects it", labels.Set(s.Labels()))
		i.listenPort(s)
		i.networkPolicies(s)
	}
}

// serviceProblem returns the problem with the Service of a webhook, or "" if the Service is right.
func (i *inspection) serviceProblem(h *install.Hook) string {
	called, svc := h.ClientConfig.Service, h.Called
	switch {
	case called == nil: // a URL
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
			return new(cmp.Or(p.TargetPort, intstr.FromInt32(port)))
		}
	}
	return nil
}

// traffic inspects whether a Service sends calls to every ready replica and to no other Pod.
func (i *inspection) traffic(at install.Ref, svc *corev1.Service) {
	const id = "service-traffic"
	spec := &svc.Spec
	local := spec.InternalTrafficPolicy != nil && *spec.InternalTrafficPolicy == corev1.ServiceInternalTrafficPolicyLocal
	i.errorIf(local, id, at, "its internalTrafficPolicy is Local: calls from a node without a replica are dropped")
	i.errorIf(spec.PublishNotReadyAddresses, id, at,
		"publishNotReadyAddresses is true: it sends calls to replicas that do not serve yet or no longer serve")
	i.errorIf(spec.Type == corev1.ServiceTypeExternalName, id, at, "its type is ExternalName: the API server does not call it")
	for n, port := range spec.Ports {
		i.errorIf(port.Protocol != "" && port.Protocol != corev1.ProtocolTCP, id, at, "the protocol of spec.ports[%d] is %s: the "+
			"API server calls it over TCP", n, install.Printable(string(port.Protocol)))
	}
	// kube-proxy ignores Services with either label (k8s.io/kubernetes v1.37.2, pkg/proxy/apis/well_known_labels.go).
	for _, label := range []string{"service.kubernetes.io/service-proxy-name", corev1.IsHeadlessService} {
		value, ok := svc.Labels[label]
		i.errorIf(ok, id, at, "its label %s is %s: kube-proxy ignores it, so no node can reach it unless another proxy serves it",
			label, text.Quote(value))
	}
	// Cilium also reads the annotations by their former names (pkg/annotation/k8s.go).
	for _, key := range [][2]string{
		{"service.cilium.io/global", "service.cilium.io/affinity"}, {"io.cilium/global-service", "io.cilium/service-affinity"},
	} {
		global, affinity := strings.ToLower(svc.Annotations[key[0]]), strings.ToLower(svc.Annotations[key[1]])
		i.errorIf(global == "true" && affinity != "local", id, at, "its annotation %s is true: Cilium sends calls to replicas in "+
			"other clusters", key[0])
	}
	i.warnIf(spec.SessionAffinity == corev1.ServiceAffinityClientIP, id, at,
		"its sessionAffinity is ClientIP: each API server calls one replica only")
	near := *cmp.Or(spec.TrafficDistribution, new(""))
	i.warnIf(near != "", id, at, "its trafficDistribution is %s: the replicas near the API servers get all calls, and the "+
		"others do not get any", install.Printable(near))
	for _, key := range []string{corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints} {
		value := svc.Annotations[key]
		i.warnIf(value != "" && !strings.EqualFold(value, "disabled"), id, at, "its annotation %s is %s: the replicas near the "+
			"API servers may get all calls", key, install.Printable(value))
	}
}

// target inspects whether a Service leads to Pods of evergate serve, on the port of --listen, and to no other Pods.
func (i *inspection) target(svc *corev1.Service, port int32) {
	const id = "service-target"
	at, behind, target := i.Ref(svc), i.Behind(svc), targetOf(svc, port)
	if len(behind) == 0 && len(i.Servers) > 0 {
		s := i.Servers[0]
		i.error(id, at, "it selects %s, and the Pods of %s, which runs evergate serve, have the labels %s",
			labels.Set(svc.Spec.Selector), s.Ref, labels.Set(s.Labels()))
	}
	if target == nil {
		return
	}
	for _, s := range behind {
		l, ok := s.Listener("listen")
		found := install.PodPort(s.Pod, *target, corev1.ProtocolTCP)
		i.errorIf(ok && found == 0, id, at, "the targetPort of its port %d is %s, and %s does not have a TCP port with this name",
			port, target.StrVal, s.Ref)
		i.errorIf(ok && found != 0 && found != l.Port, id, at, "its port %d leads to port %d of %s, which listens on %d", port,
			found, s.Ref, l.Port)
	}
	gets := func(labels map[string]string, pod *corev1.PodSpec) bool {
		return install.ContainsAll(labels, svc.Spec.Selector) && !slices.ContainsFunc(pod.Containers, install.RunsServe) &&
			install.PodPort(pod, *target, corev1.ProtocolTCP) != 0
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
		reported := func(set map[string]string) bool { return install.ContainsAll(p.Labels, set) }
		if !ended && !slices.ContainsFunc(templates, reported) && gets(p.Labels, &p.Spec) {
			others = append(others, i.Ref(p))
		}
	}
	i.errorIf(len(behind) > 0 && len(others) > 0, id, at, "it also sends calls to Pods that do not run evergate serve: %s",
		refsOf(others))
}

// listenPort reports a --listen on another port than the port on which a Service and the readiness probe agree. If these
// two do not agree, target and readiness report which of them is wrong.
func (i *inspection) listenPort(s *install.Server) {
	probe, listens := s.Container.ReadinessProbe, s.Listens("listen")
	for _, h := range i.Hooks {
		if probe == nil || probe.HTTPGet == nil || listens == 0 || !s.Behind(h.Called) || targetOf(h.Called, h.Port()) == nil {
			continue
		}
		target := *targetOf(h.Called, h.Port())
		port := s.Port(target)
		if port == listens || target != probe.HTTPGet.Port && (port == 0 || port != s.Port(probe.HTTPGet.Port)) {
			continue
		}
		name := fmt.Sprintf("port %d, which is called %s", port, target.StrVal)
		switch {
		case port == 0:
			name = fmt.Sprintf("a port called %s, which the container does not have", target.StrVal)
		case target.Type == intstr.Int:
			name = fmt.Sprintf("port %d", port)
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
			name := cmp.Or(e.TargetRef, &corev1.ObjectReference{Name: strings.Join(e.Addresses, ",")}).Name
			ready := *cmp.Or(e.Conditions.Ready, new(true)) // nil means ready
			pods[name] = pods[name] || ready && slice.Labels[discoveryv1.LabelServiceName] == svc.Name
		}
	}
	for _, s := range i.Behind(svc) {
		want += s.Replicas()
	}
	ready := 0
	for _, is := range pods {
		if is {
			ready++
		}
	}
	i.errorIf(install.Live(svc) && ready == 0, "endpoints", i.Ref(svc), "none of its endpoints is ready")
	i.warnIf(install.Live(svc) && ready > 0 && ready < want, "endpoints", i.Ref(svc), "%d of %d endpoints are ready", ready,
		want)
}

// refsOf lists objects.
func refsOf(refs []install.Ref) string {
	names := text.Strings(refs)
	slices.Sort(names)
	return some(names)
}
