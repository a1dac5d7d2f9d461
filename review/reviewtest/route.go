package reviewtest

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
)

// HTTPRoute returns an HTTPRoute with the given number of hosts and two rules. The second rule rewrites URLs.
func HTTPRoute(hosts int) *gatewayv1.HTTPRoute {
	route := &gatewayv1.HTTPRoute{
		TypeMeta:   metav1.TypeMeta{Kind: "HTTPRoute", APIVersion: "gateway.networking.k8s.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: gatewayv1.HTTPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{
				Group: new(gatewayv1.Group(gatewayv1.GroupName)), Kind: new(gatewayv1.Kind("Gateway")),
				Namespace: new(gatewayv1.Namespace("edge")), Name: "public", SectionName: new(gatewayv1.SectionName("https")),
			}}},
			Rules: []gatewayv1.HTTPRouteRule{routeRule("/", "shop"), routeRule("/api", "api")},
		},
	}
	route.Annotations = map[string]string{"external-dns.kubernetes.io/ttl": "60"}
	route.Spec.Rules[1].Filters = []gatewayv1.HTTPRouteFilter{{
		Type: gatewayv1.HTTPRouteFilterURLRewrite,
		URLRewrite: &gatewayv1.HTTPURLRewriteFilter{Path: &gatewayv1.HTTPPathModifier{
			Type: gatewayv1.PrefixMatchHTTPPathModifier, ReplacePrefixMatch: new("/"),
		}},
	}}
	for i := range hosts {
		route.Spec.Hostnames = append(route.Spec.Hostnames, gatewayv1.Hostname(fmt.Sprintf("shop-%03d.apps.corp.example", i)))
	}
	manage(route, "gateway.networking.k8s.io/v1")
	return route
}

func routeRule(prefix, backend string) gatewayv1.HTTPRouteRule {
	return gatewayv1.HTTPRouteRule{
		Matches: []gatewayv1.HTTPRouteMatch{{Path: &gatewayv1.HTTPPathMatch{
			Type: new(gatewayv1.PathMatchPathPrefix), Value: &prefix,
		}}},
		BackendRefs: []gatewayv1.HTTPBackendRef{{BackendRef: gatewayv1.BackendRef{
			BackendObjectReference: gatewayv1.BackendObjectReference{
				Group: new(gatewayv1.Group("")), Kind: new(gatewayv1.Kind("Service")),
				Name: gatewayv1.ObjectName(backend), Port: new(gatewayv1.PortNumber(80)),
			},
			Weight: new(int32(1)),
		}}},
	}
}

// GRPCRoute returns a GRPCRoute of one method, with a copy of each request to another backend.
func GRPCRoute() *gatewayv1.GRPCRoute {
	backend := gatewayv1.BackendObjectReference{
		Group: new(gatewayv1.Group("")), Kind: new(gatewayv1.Kind("Service")), Name: "cart",
		Port: new(gatewayv1.PortNumber(50051)),
	}
	copies := backend
	copies.Name = "cart-next"
	route := &gatewayv1.GRPCRoute{
		TypeMeta:   metav1.TypeMeta{Kind: "GRPCRoute", APIVersion: "gateway.networking.k8s.io/v1"},
		ObjectMeta: meta("cart", "team-shop"),
		Spec: gatewayv1.GRPCRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "public"}}},
			Hostnames:       []gatewayv1.Hostname{"cart.apps.corp.example"},
			Rules: []gatewayv1.GRPCRouteRule{{
				Matches: []gatewayv1.GRPCRouteMatch{{Method: &gatewayv1.GRPCMethodMatch{
					Type: new(gatewayv1.GRPCMethodMatchExact), Service: new("shop.Cart"), Method: new("Add"),
				}}},
				BackendRefs: []gatewayv1.GRPCBackendRef{{
					BackendRef: gatewayv1.BackendRef{BackendObjectReference: backend},
					Filters: []gatewayv1.GRPCRouteFilter{{
						Type:          gatewayv1.GRPCRouteFilterRequestMirror,
						RequestMirror: &gatewayv1.HTTPRequestMirrorFilter{BackendRef: copies},
					}},
				}},
			}},
		},
	}
	manage(route, "gateway.networking.k8s.io/v1")
	return route
}

// TLSRoute returns a TLSRoute with one host.
func TLSRoute() *gatewayv1.TLSRoute {
	route := &gatewayv1.TLSRoute{
		TypeMeta:   metav1.TypeMeta{Kind: "TLSRoute", APIVersion: "gateway.networking.k8s.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: gatewayv1.TLSRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "public"}}},
			Hostnames:       []gatewayv1.Hostname{"*.shop.corp.example"},
			Rules: []gatewayv1.TLSRouteRule{{BackendRefs: []gatewayv1.BackendRef{{
				BackendObjectReference: gatewayv1.BackendObjectReference{Name: "shop"},
			}}}},
		},
	}
	manage(route, "gateway.networking.k8s.io/v1")
	return route
}

// TCPRoute returns a TCPRoute with a host name for external-dns to publish.
func TCPRoute() *gatewayv1.TCPRoute {
	route := &gatewayv1.TCPRoute{
		TypeMeta:   metav1.TypeMeta{Kind: "TCPRoute", APIVersion: "gateway.networking.k8s.io/v1"},
		ObjectMeta: meta("mail", "team-shop"),
		Spec: gatewayv1.TCPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "public"}}},
			Rules: []gatewayv1.TCPRouteRule{{BackendRefs: []gatewayv1.BackendRef{{
				BackendObjectReference: gatewayv1.BackendObjectReference{Name: "mail"},
			}}}},
		},
	}
	route.Annotations = map[string]string{"external-dns.kubernetes.io/hostname": "mail.apps.corp.example"}
	manage(route, "gateway.networking.k8s.io/v1")
	return route
}

// UDPRoute returns a UDPRoute.
func UDPRoute() *gatewayv1.UDPRoute {
	route := &gatewayv1.UDPRoute{
		TypeMeta:   metav1.TypeMeta{Kind: "UDPRoute", APIVersion: "gateway.networking.k8s.io/v1"},
		ObjectMeta: meta("dns", "team-shop"),
		Spec: gatewayv1.UDPRouteSpec{
			CommonRouteSpec: gatewayv1.CommonRouteSpec{ParentRefs: []gatewayv1.ParentReference{{Name: "public"}}},
			Rules: []gatewayv1.UDPRouteRule{{BackendRefs: []gatewayv1.BackendRef{{
				BackendObjectReference: gatewayv1.BackendObjectReference{Name: "dns"},
			}}}},
		},
	}
	manage(route, "gateway.networking.k8s.io/v1")
	return route
}
