package reviewtest

import (
	"fmt"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	cmmeta "github.com/cert-manager/cert-manager/pkg/apis/meta/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"
)

// Service returns a LoadBalancer Service with two ports and allocated node ports.
func Service() *corev1.Service {
	s := &corev1.Service{
		TypeMeta:   metav1.TypeMeta{Kind: "Service", APIVersion: "v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{
				{Name: "http", Protocol: corev1.ProtocolTCP, Port: 80, TargetPort: intstr.FromString("http"), NodePort: 30080},
				{Name: "https", Protocol: corev1.ProtocolTCP, Port: 443, TargetPort: intstr.FromInt32(8443), NodePort: 30443},
			},
			Selector:                      map[string]string{"app.kubernetes.io/name": "shop"},
			ClusterIP:                     "10.96.14.7",
			ClusterIPs:                    []string{"10.96.14.7"},
			Type:                          corev1.ServiceTypeLoadBalancer,
			SessionAffinity:               corev1.ServiceAffinityNone,
			LoadBalancerSourceRanges:      []string{"10.0.0.0/8", "fd00::/8"},
			ExternalTrafficPolicy:         corev1.ServiceExternalTrafficPolicyLocal,
			HealthCheckNodePort:           31234,
			IPFamilies:                    []corev1.IPFamily{corev1.IPv4Protocol},
			IPFamilyPolicy:                new(corev1.IPFamilyPolicySingleStack),
			AllocateLoadBalancerNodePorts: new(true),
			LoadBalancerClass:             new("example.com/internal"),
			InternalTrafficPolicy:         new(corev1.ServiceInternalTrafficPolicyCluster),
		},
	}
	s.Annotations = map[string]string{"service.beta.kubernetes.io/aws-load-balancer-internal": "true"}
	manage(s, "v1")
	return s
}

// XBackend returns an XBackend that names a host outside of the cluster.
func XBackend() *gatewayxv1alpha1.XBackend {
	b := &gatewayxv1alpha1.XBackend{
		TypeMeta:   metav1.TypeMeta{Kind: "XBackend", APIVersion: "gateway.networking.x-k8s.io/v1alpha1"},
		ObjectMeta: meta("payments", "team-shop"),
		Spec: gatewayxv1alpha1.BackendSpec{
			Type:             gatewayxv1alpha1.BackendTypeExternalHostname,
			Port:             gatewayxv1alpha1.BackendPort{Port: 443},
			ExternalHostname: &gatewayxv1alpha1.ExternalHostnameBackend{Hostname: "payments.corp.example"},
		},
	}
	manage(b, "gateway.networking.x-k8s.io/v1alpha1")
	return b
}

// Ingress returns an Ingress with the given number of hosts, each with two paths and a separate certificate.
func Ingress(hosts int) *networkingv1.Ingress {
	ing := &networkingv1.Ingress{
		TypeMeta:   metav1.TypeMeta{Kind: "Ingress", APIVersion: "networking.k8s.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec:       networkingv1.IngressSpec{IngressClassName: new("internal")},
	}
	ing.Annotations = map[string]string{
		"cert-manager.io/cluster-issuer":                    "corp",
		"nginx.ingress.kubernetes.io/proxy-body-size":       "8m",
		"nginx.ingress.kubernetes.io/force-ssl-redirect":    "true",
		"nginx.ingress.kubernetes.io/proxy-connect-timeout": "5",
	}
	for i := range hosts {
		host := fmt.Sprintf("shop-%03d.apps.corp.example", i)
		ing.Spec.TLS = append(ing.Spec.TLS, networkingv1.IngressTLS{
			Hosts: []string{host}, SecretName: fmt.Sprintf("shop-%03d-tls", i),
		})
		ing.Spec.Rules = append(ing.Spec.Rules, networkingv1.IngressRule{
			Host: host,
			IngressRuleValue: networkingv1.IngressRuleValue{HTTP: &networkingv1.HTTPIngressRuleValue{
				Paths: []networkingv1.HTTPIngressPath{path("/", i), path("/api", i)},
			}},
		})
	}
	manage(ing, "networking.k8s.io/v1")
	return ing
}

// Gateway returns a Gateway with the given number of TLS listeners, each with a different host.
func Gateway(listeners int) *gatewayv1.Gateway {
	g := &gatewayv1.Gateway{
		TypeMeta:   metav1.TypeMeta{Kind: "Gateway", APIVersion: "gateway.networking.k8s.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: gatewayv1.GatewaySpec{
			GatewayClassName: "internal",
			Infrastructure: &gatewayv1.GatewayInfrastructure{Annotations: map[gatewayv1.AnnotationKey]gatewayv1.AnnotationValue{
				"service.beta.kubernetes.io/aws-load-balancer-internal": "true",
			}},
			AllowedListeners: &gatewayv1.AllowedListeners{
				Namespaces: &gatewayv1.ListenerNamespaces{From: new(gatewayv1.NamespacesFromNone)},
			},
		},
	}
	g.Annotations = map[string]string{"cert-manager.io/cluster-issuer": "corp"}
	for i := range listeners {
		g.Spec.Listeners = append(g.Spec.Listeners, gatewayv1.Listener{
			Name:     gatewayv1.SectionName(fmt.Sprintf("https-%02d", i)),
			Hostname: new(gatewayv1.Hostname(fmt.Sprintf("shop-%02d.apps.corp.example", i))),
			Port:     443,
			Protocol: gatewayv1.HTTPSProtocolType,
			TLS: &gatewayv1.ListenerTLSConfig{
				Mode: new(gatewayv1.TLSModeTerminate),
				CertificateRefs: []gatewayv1.SecretObjectReference{{
					Group: new(gatewayv1.Group("")), Kind: new(gatewayv1.Kind("Secret")),
					Name: gatewayv1.ObjectName(fmt.Sprintf("shop-%02d-tls", i)),
				}},
			},
			AllowedRoutes: &gatewayv1.AllowedRoutes{
				Namespaces: &gatewayv1.RouteNamespaces{From: new(gatewayv1.NamespacesFromSame)},
			},
		})
	}
	manage(g, "gateway.networking.k8s.io/v1")
	return g
}

// ReferenceGrant returns a ReferenceGrant for one Service to the HTTPRoutes of another namespace.
func ReferenceGrant() *gatewayv1.ReferenceGrant {
	g := &gatewayv1.ReferenceGrant{
		TypeMeta:   metav1.TypeMeta{Kind: "ReferenceGrant", APIVersion: "gateway.networking.k8s.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: gatewayv1.ReferenceGrantSpec{
			From: []gatewayv1.ReferenceGrantFrom{{
				Group: "gateway.networking.k8s.io", Kind: "HTTPRoute", Namespace: "team-web",
			}},
			To: []gatewayv1.ReferenceGrantTo{{Kind: "Service", Name: new(gatewayv1.ObjectName("shop"))}},
		},
	}
	manage(g, "gateway.networking.k8s.io/v1")
	return g
}

// Certificate returns a Certificate with the given number of DNS names.
func Certificate(names int) *certmanagerv1.Certificate {
	crt := &certmanagerv1.Certificate{
		TypeMeta:   metav1.TypeMeta{Kind: "Certificate", APIVersion: "cert-manager.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: certmanagerv1.CertificateSpec{
			SecretName: "shop-tls", IssuerRef: cmmeta.IssuerReference{Kind: "ClusterIssuer", Name: "corp"},
			PrivateKey: &certmanagerv1.CertificatePrivateKey{RotationPolicy: certmanagerv1.RotationPolicyAlways},
		},
	}
	for i := range names {
		crt.Spec.DNSNames = append(crt.Spec.DNSNames, fmt.Sprintf("shop-%03d.apps.corp.example", i))
	}
	manage(crt, "cert-manager.io/v1")
	return crt
}

func path(prefix string, i int) networkingv1.HTTPIngressPath {
	return networkingv1.HTTPIngressPath{
		Path:     prefix,
		PathType: new(networkingv1.PathTypePrefix),
		Backend: networkingv1.IngressBackend{Service: &networkingv1.IngressServiceBackend{
			Name: fmt.Sprintf("shop-%03d", i), Port: networkingv1.ServiceBackendPort{Number: 80},
		}},
	}
}
