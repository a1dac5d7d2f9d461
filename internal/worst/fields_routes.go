package worst

import (
	"reflect"

	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"

	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/review/reviewtest"
)

// routeKinds are the kinds of routes of Gateway API.
func routeKinds() []kind {
	route := func(name string, sent []byte, of reflect.Type, variants ...variant) kind {
		return kind{
			name: name, paths: []string{"/validate/routes"}, sent: sent, of: of, variants: variants,
			decodes: func(body []byte) error { _, err := review.Routes().Decode(body); return err },
		}
	}
	return []kind{
		route("HTTPRoute", reviewtest.Create(reviewtest.HTTPRoute(1)), reflect.TypeFor[gatewayv1.HTTPRoute](),
			variant{"mesh", []string{objectPath + "spec.hostnames"}, func(_, o *object) {
				o.child("spec").put("parentRefs[].group", "")
				o.child("spec").put("parentRefs[].kind", "Service")
			}}),
		route("GRPCRoute", reviewtest.Create(reviewtest.GRPCRoute()), reflect.TypeFor[gatewayv1.GRPCRoute]()),
		route("TLSRoute", reviewtest.Create(reviewtest.TLSRoute()), reflect.TypeFor[gatewayv1.TLSRoute]()),
		route("TCPRoute", reviewtest.Create(reviewtest.TCPRoute()), reflect.TypeFor[gatewayv1.TCPRoute]()),
		route("UDPRoute", reviewtest.Create(reviewtest.UDPRoute()), reflect.TypeFor[gatewayv1.UDPRoute]()),
	}
}

// gatewayKinds are a Gateway, which stands for ListenerSets too, and a ReferenceGrant.
func gatewayKinds() []kind {
	return []kind{
		{
			name: "Gateway", paths: []string{"/validate/gateways"},
			sent: reviewtest.Create(reviewtest.Gateway(1)), of: reflect.TypeFor[gatewayv1.Gateway](),
			decodes: func(body []byte) error { _, err := review.Gateways().Decode(body); return err },
		},
		{
			name: "ReferenceGrant", paths: []string{"/validate/grants"},
			sent: reviewtest.Create(reviewtest.ReferenceGrant()), of: reflect.TypeFor[gatewayv1.ReferenceGrant](),
			decodes: func(body []byte) error { _, err := review.Grants().Decode(body); return err },
		},
		{
			name: "Route", paths: []string{"/validate/openshiftroutes"},
			sent: reviewtest.Create(reviewtest.Route()), of: reflect.TypeFor[reviewtest.OpenShiftRoute](),
			decodes: func(body []byte) error { _, err := review.OpenShiftRoutes().Decode(body); return err },
			variants: []variant{{"subdomain", []string{objectPath + "spec.subdomain"}, func(_, o *object) {
				o.child("spec").remove("host")
			}}},
		},
	}
}
