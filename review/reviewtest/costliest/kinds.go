package costliest

import (
	"reflect"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	gatewayv1 "sigs.k8s.io/gateway-api/apis/v1"
	gatewayxv1alpha1 "sigs.k8s.io/gateway-api/apisx/v1alpha1"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/review/reviewtest"
)

// kind is a kind of object that is evaluated.
type kind struct {
	name     string
	paths    []string // the paths for its reviews
	sent     raw      // the review of the creation of an ordinary object
	of       reflect.Type
	decode   func(body []byte) (any, error) // a *review.Request
	variants []variant
}

// variant is a change that causes an object to be evaluated differently, for contents of a field.
type variant struct {
	name  string
	field string
	sets  []set
}

// set is a path in a review with its new value. null removes a field.
type set struct {
	path  string
	value raw
}

// kindOf returns a kind with the type T in Kubernetes. paths are separated by spaces.
func kindOf[T, O any](objects review.Objects[O], paths string, sent reviewtest.Object, variants ...variant) kind {
	return kind{
		name: sent.GetObjectKind().GroupVersionKind().Kind, paths: strings.Fields(paths),
		sent: raw(reviewtest.Create(sent)), of: reflect.TypeFor[T](), variants: variants,
		decode: func(body []byte) (any, error) { return objects.Decode(body) },
	}
}

// kinds returns all kinds. A Deployment represents all workloads with one template, and a Gateway also represents
// ListenerSets.
func kinds() []kind {
	const spec, annotations = objectPath + "spec", objectPath + "metadata.annotations"
	return []kind{
		kindOf[gatewayv1.HTTPRoute](review.Routes(), "/validate/routes", reviewtest.HTTPRoute(1),
			variant{"mesh", spec + ".hostnames", []set{
				{spec + ".parentRefs[].group", `""`}, {spec + ".parentRefs[].kind", `"Service"`}}}),
		kindOf[gatewayv1.GRPCRoute](review.Routes(), "/validate/routes", reviewtest.GRPCRoute()),
		kindOf[gatewayv1.TLSRoute](review.Routes(), "/validate/routes", reviewtest.TLSRoute()),
		kindOf[gatewayv1.TCPRoute](review.Routes(), "/validate/routes", reviewtest.TCPRoute()),
		kindOf[gatewayv1.UDPRoute](review.Routes(), "/validate/routes", reviewtest.UDPRoute()),
		kindOf[gatewayWithFilters](review.Gateways(), "/validate/gateways", reviewtest.Gateway(1)),
		kindOf[gatewayv1.ReferenceGrant](review.Grants(), "/validate/grants", reviewtest.ReferenceGrant()),
		kindOf[gatewayxv1alpha1.XBackend](review.Services(), "/validate/services", reviewtest.XBackend()),
		kindOf[reviewtest.OpenShiftRoute](review.OpenShiftRoutes(), "/validate/openshiftroutes", reviewtest.Route(),
			variant{"subdomain", spec + ".subdomain", []set{{spec + ".host", "null"}}}),
		kindOf[certmanagerv1.Certificate](review.Certificates(), "/validate/certificates", reviewtest.Certificate(1)),
		kindOf[reviewtest.DNSEndpoint](review.DNSEndpoints(), "/validate/dnsendpoints", reviewtest.DNSRecords(1),
			variant{"a property that names hosts", spec + ".endpoints[].providerSpecific[].value", []set{
				{spec + ".endpoints[].providerSpecific[].name", `"external-dns.kubernetes.io/cloudflare-custom-hostname"`}}},
			variant{"a record of text", spec + ".endpoints[].targets", []set{{spec + ".endpoints[].recordType", `"TXT"`}}}),
		kindOf[appsv1.Deployment](review.Workloads(), "/validate/workloads", reviewtest.Deployment(1, 0)),
		kindOf[reviewtest.TemplateKind](review.Workloads(templates()), "/validate/workloads", reviewtest.Templates()),
		kindOf[corev1.Pod](review.Pods(), "/mutate/pods /validate/pods", reviewtest.Pod(1, 0),
			variant{"ephemeralcontainers", spec, []set{{"request.subResource", `"ephemeralcontainers"`}}}),
		kindOf[networkingv1.Ingress](review.Ingresses(), "/validate/ingresses", reviewtest.Ingress(1),
			variant{"no class", annotations, []set{{spec + ".ingressClassName", "null"}}}),
		kindOf[corev1.Service](review.Services(), "/validate/services /validate/services/status", reviewtest.Service(),
			variant{"ExternalName", spec + ".externalName", []set{{spec + ".type", `"ExternalName"`}}},
			variant{"no ranges", annotations, []set{{spec + ".loadBalancerSourceRanges", "null"}}},
			variant{"status", objectPath + "status", []set{{"request.subResource", `"status"`}}}),
	}
}

// templates returns the entry in the templates block of policy.yaml: a custom resource with many templates.
func templates() policy.Template {
	return policy.Template{
		Group: "worst.example", Versions: []string{"v1"}, Kind: "Worst", Resource: "worsts",
		Paths: []policy.TemplatePath{
			{"spec", "template"}, {"spec", "jobs", "*", "template", "spec"}, {"spec", "roles", "*", "*", "template"},
		},
		Images: []policy.TemplatePath{{"spec", "steps", "*", "image"}},
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
