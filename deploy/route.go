package deploy

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
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

// settings inspects whether the settings of the manifests (kustomize/base/settings.yaml) are in the fields of a call
// that depend on them. kustomize copies them with the transformers in wiring/, which an overlay has to list.
func (i *inspection) settings() {
	for _, cm := range install.In[*corev1.ConfigMap](i.Objects, i.Namespace) {
		var mirrors []string
		known := cm.Name == settingsName && json.Unmarshal([]byte(cm.Data["mirrors"]), &mirrors) == nil
		for _, h := range i.Hooks {
			prefixes, ok := prefixesOf(h)
			i.at("settings", i.Ref(cm)).error(known && ok && h.Path == pathMutatePodsAgain && !slices.Equal(prefixes, mirrors),
				"mirrors are %s, and the retry webhook has %s: no transformer has copied the changes of the overlay", some(mirrors),
				some(prefixes))
		}
	}
	for _, cm := range install.Of[*corev1.ConfigMap](i.Objects) {
		i.at("settings", i.Ref(cm)).error(cm.Name == settingsName && i.Namespace != "" && cm.Namespace != i.Namespace,
			"the namespace is %s, and the webhooks call %s: no transformer has copied the changes of the overlay", cm.Namespace,
			i.Namespace)
	}
}

// settingsName is the ConfigMap with the settings of the manifests.
const settingsName = "evergate-settings"

// route walks the way of a call: webhook → Service → Deployment → port → Pod. The first break is the finding, because
// findings.yaml lists the breaks before each finding in after.
func (i *inspection) route() {
	if len(i.Servers) == 0 && len(i.Hooks) > 0 && !i.Unread("deployments") {
		f, elsewhere := i.at("deployment", i.Hooks[0].Ref), len(i.Elsewhere) > 0
		f.error(elsewhere, "it calls the namespace %s, and evergate serve runs elsewhere: %s", i.Namespace,
			refsOf(i.Elsewhere))
		// Without a namespace, webhooks call a URL.
		f.error(!elsewhere && i.Namespace != "", "no Deployment runs evergate serve in the namespace %s", i.Namespace)
	}
	seen, reported := map[*corev1.Service]bool{nil: true}, map[string]bool{} // each problem once for all webhooks
	for _, h := range i.Hooks {
		problem := i.serviceProblem(h)
		i.at("service", h.Ref).error(problem != "" && !reported[problem], "%s", problem)
		reported[problem] = true
		if svc := h.Called; !seen[svc] {
			seen[svc] = true
			i.traffic(svc)
			i.target(svc, h.Port())
			i.endpoints(svc)
		}
	}
	for _, s := range i.Servers {
		i.at("deployment", s.Ref).error(!s.Counted(s.Spec.Selector), "the labels of its Pod template, %s, do not match its "+
			"spec.selector: the API server rejects it", labels.Set(s.Labels()))
		i.networkPolicies(s)
	}
}

// calls reports the answers of the webhooks. A webhook that fails open may not be called without a trace.
func (i *inspection) calls() {
	for _, h := range i.Hooks {
		a, known := i.Answers[h.Name]
		f := i.at("call", h.Ref)
		f.error(a.Failed != "", "the API server cannot call it: %s", a.Failed)
		f.warn(known && a == Answer{}, "it does not answer a dry run that its rules and its namespaceSelector match")
		if a.Policy != "" && i.Policy != nil {
			f.warn(a.Policy != i.Policy.Hash(), "a replica answers with the policy %s, and the policy in the ConfigMap is %s",
				a.Policy, i.Policy.Hash())
		}
		f.add(a.NotCalled != "", Info, "not called: %s", a.NotCalled)
	}
}

// answers reports whether a webhook with this configuration, or any webhook for nil, has answered. Then the API server
// reaches a replica and trusts its certificate.
func (i *inspection) answers(config install.Object) bool {
	return slices.ContainsFunc(i.Hooks, func(h *install.Hook) bool {
		return (config == nil || h.Config == config) && i.Answers[h.Name].Policy != ""
	})
}

// serviceProblem returns the problem with the Service of a webhook, or "" if the Service is right.
func (i *inspection) serviceProblem(h *install.Hook) string {
	called, svc := h.ClientConfig.Service, h.Called
	switch {
	case called == nil: // a URL
		return ""
	case svc == nil:
		return fmt.Sprintf("the Service %s/%s does not exist", called.Namespace, called.Name)
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
func (i *inspection) traffic(svc *corev1.Service) {
	f, spec := i.at("service-traffic", i.Ref(svc)), &svc.Spec
	local := *cmp.Or(spec.InternalTrafficPolicy, new(corev1.ServiceInternalTrafficPolicyCluster))
	f.error(local == "Local", "its internalTrafficPolicy is Local: calls from a node without a replica are dropped")
	f.error(spec.PublishNotReadyAddresses,
		"publishNotReadyAddresses is true: it sends calls to replicas that do not serve yet or no longer serve")
	f.error(spec.Type == corev1.ServiceTypeExternalName, "its type is ExternalName: the API server does not call it")
	for n, port := range spec.Ports {
		f.error(port.Protocol != "" && port.Protocol != corev1.ProtocolTCP,
			"the protocol of spec.ports[%d] is %s: the API server calls it over TCP", n, string(port.Protocol))
	}
	// kube-proxy ignores Services with either label (k8s.io/kubernetes v1.37.2, pkg/proxy/apis/well_known_labels.go).
	for _, label := range []string{"service.kubernetes.io/service-proxy-name", corev1.IsHeadlessService} {
		value, ok := svc.Labels[label]
		f.error(ok, "its label %s is %s: kube-proxy ignores it, so no node can reach it unless another proxy serves it",
			label, text.Quote(value))
	}
	// Cilium also reads the annotations by their former names (pkg/annotation/k8s.go).
	for _, key := range [][2]string{
		{"service.cilium.io/global", "service.cilium.io/affinity"}, {"io.cilium/global-service",
			"io.cilium/service-affinity"},
	} {
		global, affinity := strings.ToLower(svc.Annotations[key[0]]), strings.ToLower(svc.Annotations[key[1]])
		f.error(global == "true" && affinity != "local",
			"its annotation %s is true: Cilium sends calls to replicas in other clusters", key[0])
	}
	f.warn(spec.SessionAffinity == "ClientIP", "its sessionAffinity is ClientIP: each API server calls one replica only")
	near := *cmp.Or(spec.TrafficDistribution, new(""))
	f.warn(near != "", "its trafficDistribution is %s: the replicas near the API servers get all calls, and the others "+
		"do not get any", near)
	for _, key := range []string{corev1.AnnotationTopologyMode, corev1.DeprecatedAnnotationTopologyAwareHints} {
		value := svc.Annotations[key]
		f.warn(value != "" && !strings.EqualFold(value, "disabled"),
			"its annotation %s is %s: the replicas near the API servers may get all calls", key, value)
	}
}

// target inspects whether a Service leads to Pods of evergate serve, on the port of --listen, and to no other Pods.
func (i *inspection) target(svc *corev1.Service, port int32) {
	f, behind, target := i.at("service-target", i.Ref(svc)), i.Behind(svc), targetOf(svc, port)
	if len(behind) == 0 && len(i.Servers) > 0 {
		s := i.Servers[0]
		f.error(true, "it selects %s, and the Pods of %s, which runs evergate serve, have the labels %s",
			labels.Set(svc.Spec.Selector), s.Ref, labels.Set(s.Labels()))
	}
	if target == nil {
		return
	}
	for _, s := range behind {
		_, listens := s.Listener("listen")
		found := install.PodPort(s.Pod, *target, corev1.ProtocolTCP)
		f.error(listens != 0 && found == 0,
			"the targetPort of its port %d is %s, and %s does not have a TCP port with this name", port, target.StrVal, s.Ref)
		f.error(listens != 0 && found != 0 && found != listens, "its port %d leads to port %d of %s, which listens on %d",
			port, found, s.Ref, listens)
	}
	var others []install.Ref
	for _, d := range install.In[*appsv1.Deployment](i.Objects, svc.Namespace) {
		template := &d.Spec.Template
		if install.ContainsAll(template.Labels, svc.Spec.Selector) && !install.Serves(d) &&
			install.PodPort(&template.Spec, *target, corev1.ProtocolTCP) != 0 {
			others = append(others, i.Ref(d))
		}
	}
	f.error(len(behind) > 0 && len(others) > 0, "it also sends calls to Pods that do not run evergate serve: %s",
		refsOf(others))
}

// endpoints inspects whether a Service has as many ready endpoints as there should be replicas. Endpoints of one Pod in
// two address families count once.
func (i *inspection) endpoints(svc *corev1.Service) {
	ready, want := map[string]bool{}, 0
	for _, slice := range install.In[*discoveryv1.EndpointSlice](i.Objects, svc.Namespace) {
		for _, e := range slice.Endpoints {
			pod := cmp.Or(e.TargetRef, &corev1.ObjectReference{Name: strings.Join(e.Addresses, ",")}).Name
			if slice.Labels[discoveryv1.LabelServiceName] == svc.Name && *cmp.Or(e.Conditions.Ready, new(true)) {
				ready[pod] = true
			}
		}
	}
	for _, s := range i.Behind(svc) {
		least, _ := s.Replicas()
		want += least
	}
	f, n := i.at("endpoints", i.Ref(svc)), len(ready)
	f.error(install.Live(svc) && n == 0, "none of its endpoints is ready")
	f.warn(install.Live(svc) && n > 0 && n < want, "%d of %d endpoints are ready", n, want)
}

// networkPolicies inspects whether one NetworkPolicy allows the serving port from everywhere or from addresses, if
// NetworkPolicies restrict access to the Pods. API servers are not Pods, so a Pod selector cannot allow them.
// NetworkPolicies do not apply to Pods in the host network.
func (i *inspection) networkPolicies(s *install.Server) {
	_, port := s.Listener("listen")
	all := install.In[*networkingv1.NetworkPolicy](i.Objects, s.Namespace)
	policies := install.Filter(all, func(p *networkingv1.NetworkPolicy) bool {
		types := p.Spec.PolicyTypes // without types, a policy restricts ingress
		return (len(types) == 0 || slices.Contains(types, networkingv1.PolicyTypeIngress)) &&
			install.Selects(&p.Spec.PodSelector, s.Labels())
	})
	for _, p := range policies {
		for _, rule := range p.Spec.Ingress {
			addresses := len(rule.From) == 0 || slices.ContainsFunc(rule.From, func(peer networkingv1.NetworkPolicyPeer) bool {
				return peer.IPBlock != nil
			})
			if addresses && opens(s, rule.Ports, port) {
				return
			}
		}
	}
	if len(policies) > 0 && !i.answers(nil) {
		i.at("network-policy", i.Ref(policies[0])).error(port != 0 && !s.Pod.HostNetwork,
			"no NetworkPolicy opens port %d of %s to the API servers, which are not Pods", port, s.Ref)
	}
}

// opens reports whether the ports of a rule include a TCP port of a server.
func opens(s *install.Server, ports []networkingv1.NetworkPolicyPort, port int32) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case *cmp.Or(p.Protocol, new(corev1.ProtocolTCP)) != corev1.ProtocolTCP:
			return false
		case p.Port == nil:
			return true
		case p.EndPort != nil:
			return p.Port.IntVal <= port && port <= *p.EndPort
		}
		return s.Port(*p.Port) == port
	})
}

// refsOf lists objects.
func refsOf(refs []install.Ref) string {
	names := text.Strings(refs)
	slices.Sort(names)
	return some(names)
}

// Dial returns the certificate chain that the server at an address (host:port) serves for a DNS name, leaf first. It
// does not verify the chain, because the checks do. If a server requires a client certificate, it may close the
// connection after it has sent its chain. Dial then still returns the chain.
func Dial(ctx context.Context, address, dnsName string) ([]*x509.Certificate, error) {
	var chain []*x509.Certificate
	dialer := tls.Dialer{Config: &tls.Config{
		ServerName: dnsName,
		// Dial does not send any data. chain verifies the chain against the caBundle.
		InsecureSkipVerify: true, //nolint:gosec // see above
		VerifyConnection: func(s tls.ConnectionState) error {
			chain = s.PeerCertificates
			return nil
		},
	}}
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err == nil {
		err = conn.Close()
	}
	switch {
	case len(chain) > 0:
		return chain, nil
	case err == nil:
		err = errors.New("it did not send a certificate")
	}
	return nil, fmt.Errorf("connect to %s: %w", address, err)
}

// ServiceOf returns the target of the API server's calls: the DNS name that the certificate has to contain, and the
// address to dial, which is the cluster IP if it is known.
func ServiceOf(objects *install.Objects) (dnsName, address string, err error) {
	joined, err := install.Join(objects)
	if err != nil {
		return "", "", err
	}
	for _, h := range joined.Hooks {
		if h.ClientConfig.Service == nil {
			continue
		}
		host := h.DNSName()
		if h.Called != nil && h.Called.Spec.ClusterIP != corev1.ClusterIPNone {
			host = cmp.Or(h.Called.Spec.ClusterIP, host)
		}
		return h.DNSName(), net.JoinHostPort(host, strconv.Itoa(int(h.Port()))), nil
	}
	return "", "", errors.New("no webhook of Evergate calls a Service")
}
