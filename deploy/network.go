package deploy

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evergate/evergate/deploy/install"
)

// networkPolicies inspects whether one NetworkPolicy allows the serving port from everywhere or from addresses, if
// NetworkPolicies restrict access to the Pods. API servers are not Pods, so a Pod selector cannot allow them.
// NetworkPolicies do not apply to Pods in the host network.
func (i *inspection) networkPolicies(s *install.Server) {
	l, ok := s.Listener("listen")
	policies := install.Filter(install.In[*networkingv1.NetworkPolicy](i.Objects, s.Namespace),
		func(p *networkingv1.NetworkPolicy) bool {
			types := p.Spec.PolicyTypes // without types, a policy restricts ingress
			return (len(types) == 0 || slices.Contains(types, networkingv1.PolicyTypeIngress)) &&
				install.Selects(&p.Spec.PodSelector, s.Labels())
		})
	if !ok || len(policies) == 0 || s.Pod.HostNetwork {
		return
	}
	var called int32 // the port of the Service
	var family corev1.IPFamily
	for _, h := range i.Hooks {
		if h.Called != nil && called == 0 {
			called, family = h.Port(), familyOf(h.Called)
		}
	}
	on := fmt.Sprintf("%d of %s", l.Port, s.Ref)
	found := map[string]*networkingv1.NetworkPolicy{} // a policy with a rule that is wrong in one way
	missing := ""                                     // a port name that no container has
	for _, p := range policies {
		for _, rule := range p.Spec.Ingress {
			onPort, addresses := holdsPort(s, rule.Ports, l.Port, corev1.ProtocolTCP), holdsFamily(rule.From, "")
			switch {
			case onPort && addresses && holdsFamily(rule.From, family):
				return
			case onPort && addresses:
				found["family"] = p
			case addresses && holdsPort(s, rule.Ports, called, corev1.ProtocolTCP):
				found["port"] = p
			case onPort:
				found["pods"] = p
			case holdsPort(s, rule.Ports, l.Port, corev1.ProtocolUDP):
				found["protocol"] = p
			}
			for _, port := range rule.Ports {
				if port.Port != nil && port.Port.Type == intstr.String && install.PodPort(s.Pod, *port.Port, "") == 0 {
					found["name"], missing = p, port.Port.StrVal
				}
			}
		}
	}
	at, message := i.Ref(policies[0]), "no NetworkPolicy opens port "+on
	switch {
	case found["family"] != nil:
		message = fmt.Sprintf("no %s address may reach port %s, and %s is the family of its Service", family, on, family)
	case found["port"] != nil:
		at, message = i.Ref(found["port"]), fmt.Sprintf("it opens port %d of the Service, and calls arrive at port %s", called, on)
	case found["pods"] != nil:
		message = "only Pods may reach port " + on
	case found["protocol"] != nil:
		at, message = i.Ref(found["protocol"]), "it opens port "+on+" only for UDP, and calls use TCP"
	case found["name"] != nil:
		at, message = i.Ref(found["name"]), fmt.Sprintf("it opens the port %q, which no container of %s has", missing, s.Ref)
	}
	i.error("network-policy", at, "%s", message)
}

// holdsPort reports whether the ports of a rule include a port of a server.
func holdsPort(
	s *install.Server, ports []networkingv1.NetworkPolicyPort, port int32, protocol corev1.Protocol,
) bool {
	return len(ports) == 0 || slices.ContainsFunc(ports, func(p networkingv1.NetworkPolicyPort) bool {
		switch {
		case p.Protocol == nil && protocol != corev1.ProtocolTCP, p.Protocol != nil && *p.Protocol != protocol:
			return false // the API's default is TCP
		case p.Port == nil:
			return true
		case p.EndPort != nil:
			return p.Port.IntVal <= port && port <= *p.EndPort
		}
		return s.Port(*p.Port) == port
	})
}

// holdsFamily reports whether peers of a rule include addresses of a family, or of any family if it is not known.
func holdsFamily(peers []networkingv1.NetworkPolicyPeer, family corev1.IPFamily) bool {
	return len(peers) == 0 || slices.ContainsFunc(peers, func(p networkingv1.NetworkPolicyPeer) bool {
		return p.IPBlock != nil &&
			(family == "" || strings.Contains(p.IPBlock.CIDR, ":") == (family == corev1.IPv6Protocol))
	})
}

// familyOf returns the family of the address at which the API server calls a Service. For a dual-stack Service it is the
// first family. It is "" if the Service does not have an address yet.
func familyOf(svc *corev1.Service) corev1.IPFamily {
	switch ip := svc.Spec.ClusterIP; {
	case len(svc.Spec.IPFamilies) > 0:
		return svc.Spec.IPFamilies[0]
	case strings.Contains(ip, ":"):
		return corev1.IPv6Protocol
	case ip != "" && ip != corev1.ClusterIPNone:
		return corev1.IPv4Protocol
	}
	return ""
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
