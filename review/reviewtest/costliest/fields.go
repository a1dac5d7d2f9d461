package costliest

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"

	"github.com/evergate/evergate/review"
	"github.com/evergate/evergate/review/reviewtest"
)

// field is a place in a review that the decoder reads, such as request.object.spec.containers[].image.
type field struct {
	Path string
	Type fieldType
}

// fieldType is the type of a field.
type fieldType int

// The types of the fields that affect decisions.
const (
	textual fieldType = iota
	numeric
	boolean // true or false
	mapping // string keys and string values
)

// object reports whether the field is in the object, which a tenant writes, and not in the rest of the review.
func (f field) object() bool { return strings.HasPrefix(f.Path, objectPath) }

const objectPath = "request.object."

// kind is a kind of object that is evaluated.
type kind struct {
	name     string
	paths    []string // the paths for its reviews
	sent     *object  // the creation of an ordinary object
	of       reflect.Type
	decode   func(body []byte) (any, error) // a *review.Request
	variants []variant
}

// decoder returns a function that decodes reviews of these objects.
func decoder[T any](objects review.Objects[T]) func([]byte) (any, error) {
	return func(body []byte) (any, error) { return objects.Decode(body) }
}

// variant is a change that causes an object to be evaluated differently.
type variant struct {
	name   string
	fields []string // prefixes of the paths that the variant applies to
	change func(request, object *object)
}

func kinds() []kind {
	return append(slices.Concat(routeKinds(), gatewayKinds(), hostKinds(), workloadKinds()), []kind{
		{
			name: "Pod", paths: []string{"/mutate/pods", "/validate/pods"},
			sent: parse(reviewtest.Create(reviewtest.Pod(1, 0))), of: reflect.TypeFor[corev1.Pod](),
			decode: decoder(review.Pods()),
			variants: []variant{{"ephemeralcontainers", []string{objectPath + "spec"}, func(r, _ *object) {
				r.set("subResource", "ephemeralcontainers")
			}}},
		},
		{
			name: "Ingress", paths: []string{"/validate/ingresses"},
			sent: parse(reviewtest.Create(reviewtest.Ingress(1))), of: reflect.TypeFor[networkingv1.Ingress](),
			decode: decoder(review.Ingresses()),
			variants: []variant{{"no class", []string{objectPath + "metadata.annotations"}, func(_, o *object) {
				o.child("spec").remove("ingressClassName")
			}}},
		},
		{
			name: "Service", paths: []string{"/validate/services", "/validate/services/status"},
			sent: parse(reviewtest.Create(reviewtest.Service())), of: reflect.TypeFor[corev1.Service](),
			decode: decoder(review.Services()),
			variants: []variant{
				{"ExternalName", []string{objectPath + "spec.externalName"}, func(_, o *object) {
					o.child("spec").set("type", "ExternalName")
				}},
				{"no ranges", []string{objectPath + "metadata.annotations"}, func(_, o *object) {
					o.child("spec").remove("loadBalancerSourceRanges")
				}},
				{"status", []string{objectPath + "status"}, func(r, _ *object) {
					r.set("subResource", "status")
				}},
			},
		},
	}...)
}

// hostKinds returns the kinds of other projects that contain hosts.
func hostKinds() []kind {
	return []kind{
		{
			name: "Route", paths: []string{"/validate/openshiftroutes"},
			sent: parse(reviewtest.Create(reviewtest.Route())), of: reflect.TypeFor[reviewtest.OpenShiftRoute](),
			decode: decoder(review.OpenShiftRoutes()),
			variants: []variant{{"subdomain", []string{objectPath + "spec.subdomain"}, func(_, o *object) {
				o.child("spec").remove("host")
			}}},
		},
		{
			name: "Certificate", paths: []string{"/validate/certificates"},
			sent: parse(reviewtest.Create(reviewtest.Certificate(1))), of: reflect.TypeFor[certmanagerv1.Certificate](),
			decode: decoder(review.Certificates()),
		},
		{
			name: "DNSEndpoint", paths: []string{"/validate/dnsendpoints"},
			sent: parse(reviewtest.Create(reviewtest.DNSRecords(1))), of: reflect.TypeFor[reviewtest.DNSEndpoint](),
			decode: decoder(review.DNSEndpoints()),
			variants: []variant{
				{"a property that names hosts", []string{objectPath + "spec.endpoints[].providerSpecific[].value"},
					func(_, o *object) {
						o.child("spec").put("endpoints[].providerSpecific[].name",
							"external-dns.kubernetes.io/cloudflare-custom-hostname")
					}},
				{"a record of text", []string{objectPath + "spec.endpoints[].targets"}, func(_, o *object) {
					o.child("spec").put("endpoints[].recordType", "TXT")
				}},
			},
		},
	}
}

// fields returns the fields that affect decisions, in the order of Kubernetes' types. A field is included if the
// decoder returns an error when it has the wrong type.
func (k kind) fields() []field {
	var all []field
	add := func(f field) {
		if k.reads(f) {
			all = append(all, f)
		}
	}
	k.walk(reflect.TypeFor[admissionv1.AdmissionReview](), "", func(f field) {
		switch f.Path {
		case "request.object":
			k.walk(k.of, objectPath, add)
		case "request.oldObject": // it is read like object
		default:
			add(f)
		}
	})
	return all
}

// reads reports whether the decoder returns an error for a field of the wrong type.
func (k kind) reads(f field) bool {
	wrong := []raw{`5`, `[5]`}
	if f.Type == numeric {
		wrong[0] = `"x"`
	}
	tree := k.creation()
	for _, value := range wrong {
		tree.put(f.Path, value)
		if _, err := k.decode(tree.encode(nil)); err != nil {
			return true
		}
	}
	return false
}

// walk calls visit for each JSON field of the struct type t that does not contain other fields. It skips fields within
// a field that the decoder does not read.
func (k kind) walk(t reflect.Type, path string, visit func(field)) {
	for f := range t.Fields() {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case name == "-":
		case name == "" && f.Anonymous:
			k.walk(f.Type, path, visit)
		case name != "":
			k.walkValue(f.Type, path+name, visit)
		}
	}
}

func (k kind) walkValue(t reflect.Type, path string, visit func(field)) {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	leaf := map[reflect.Kind]fieldType{
		reflect.String: textual, reflect.Bool: boolean, reflect.Map: mapping, reflect.Int: numeric, reflect.Int32: numeric,
		reflect.Int64: numeric,
	}
	of, isLeaf := leaf[t.Kind()]
	if t.Kind() == reflect.Struct {
		of, isLeaf = opaque(t)
	}
	switch {
	case isLeaf:
		visit(field{path, of})
	case t.Kind() == reflect.Slice:
		k.walkValue(t.Elem(), path+"[]", visit)
	case t.Kind() != reflect.Struct:
		panic(fmt.Sprintf("costliest: %s is a %s", path, t))
	case k.reads(field{Path: path}):
		k.walk(t, path+".", visit)
	}
}

// opaque returns the type of a struct whose JSON form does not contain its fields, and reports whether t is such a
// struct.
func opaque(t reflect.Type) (fieldType, bool) {
	switch t.Name() {
	case "Time", "MicroTime", "Quantity":
		return textual, true
	case "IntOrString":
		return numeric, true
	case "RawExtension", "FieldsV1":
		return mapping, true
	}
	return 0, false
}
