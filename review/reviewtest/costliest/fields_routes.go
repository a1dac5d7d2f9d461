package costliest

import (
	"reflect"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/review/reviewtest"
)

// routeKinds returns the Gateway API route kinds.
func routeKinds() []kind {
	route := func(name string, sent *object, of reflect.Type, variants ...variant) kind {
		return kind{
			name: name, paths: []string{"/validate/routes"}, sent: sent, of: of, variants: variants,
			decode: decoder(review.Routes()),
		}
	}
	return []kind{
		route("HTTPRoute", parse(reviewtest.Create(reviewtest.HTTPRoute(1))), reflect.TypeFor[gatewayv1.HTTPRoute](),
			variant{"mesh", []string{objectPath + "spec.hostnames"}, func(_, o *object) {
				o.child("spec").put("parentRefs[].group", "")
				o.child("spec").put("parentRefs[].kind", "Service")
			}}),
		route("GRPCRoute", parse(reviewtest.Create(reviewtest.GRPCRoute())), reflect.TypeFor[gatewayv1.GRPCRoute]()),
		route("TLSRoute", parse(reviewtest.Create(reviewtest.TLSRoute())), reflect.TypeFor[gatewayv1.TLSRoute]()),
		route("TCPRoute", parse(reviewtest.Create(reviewtest.TCPRoute())), reflect.TypeFor[gatewayv1.TCPRoute]()),
		route("UDPRoute", parse(reviewtest.Create(reviewtest.UDPRoute())), reflect.TypeFor[gatewayv1.UDPRoute]()),
	}
}

// gatewayKinds returns a Gateway, which also represents ListenerSets, a ReferenceGrant and an XBackend.
func gatewayKinds() []kind {
	return []kind{
		{
			name: "Gateway", paths: []string{"/validate/gateways"},
			sent: parse(reviewtest.Create(reviewtest.Gateway(1))), of: reflect.TypeFor[gatewayWithFilters](),
			decode: decoder(review.Gateways()),
		},
		{
			name: "ReferenceGrant", paths: []string{"/validate/grants"},
			sent: parse(reviewtest.Create(reviewtest.ReferenceGrant())), of: reflect.TypeFor[gatewayv1.ReferenceGrant](),
			decode: decoder(review.Grants()),
		},
		{
			name: "XBackend", paths: []string{"/validate/services"},
			sent: parse(reviewtest.Create(reviewtest.XBackend())), of: reflect.TypeFor[gatewayxv1alpha1.XBackend](),
			decode: decoder(review.Services()),
		},
	}
}

// gatewayWithFilters is a Gateway with the experimental filters of listeners, which its type does not have yet.
type gatewayWithFilters struct {
	gatewayv1.Gateway
	Filtered struct {
		Listeners []struct {
			Filters struct {
				Requests []gatewayv1.HTTPRouteFilter `json:"requests"`
			} `json:"filters"`
		} `json:"listeners"`
	} `json:"spec"`
}
