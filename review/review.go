// Package review decodes AdmissionReviews and encodes their responses. It converts the JSON of objects to the types
// that package policy evaluates. It reads only the fields that affect a decision, and checks that the rest is valid
// JSON.
//
// A body is read once, without Kubernetes types. A field that is newer than Evergate does not cost anything and is
// never lost, because responses contain patches of single fields.
//
//	review.go                            the review around the object
//	object.go, pod.go, ingress.go, …     the objects
//	error.go                             errors in a review and in an object's content
//	answer.go, patch.go                  the response
package review

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/object"
)

// The kind and version of a review and of its response. API servers since Kubernetes 1.16 do not need v1beta1, the only
// other version.
const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"
)

// Request is the request of an admission.k8s.io/v1 AdmissionReview.
type Request[T any] struct {
	Head
	Object *T // nil for DELETE
	Old    *T // nil for CREATE, and for an UPDATE whose old object cannot be read
}

// Objects reads objects of certain kinds, from reviews and from files. Reviews of all these kinds use the same path,
// and object.Attributes.Resource is the resource of an object.
type Objects[T any] struct {
	Kinds   []Kind
	read    reader[T]
	readOld reader[T]
	// readerOf returns the reader of a resource if the kinds have different readers, and nil for any other resource.
	// read and readOld are nil then.
	readerOf func(Resource) reader[T]
	// skipsOld is true if only the presence of the old object is read.
	skipsOld bool
}

// reader reads an object.
type reader[T any] = func(*jsonscan.Reader, *T)

// Kind is a kind of objects and its resource.
type Kind struct {
	Name     string // such as Ingress
	Resource Resource
	// Older lists further versions that clusters serve, or have served, and in which the fields that affect decisions
	// have the same meaning. The API server converts reviews to the version of Resource. A manifest in a file has the
	// version that it was written for.
	Older []string
}

// Resource is the GroupVersionResource of a review.
type Resource struct{ Group, Version, Name string }

// Pods returns the kind Pod of v1.
func Pods() Objects[object.Pod] {
	return Objects[object.Pod]{[]Kind{{"Pod", Resource{"", "v1", "pods"}, nil}}, readPod, readPod, nil, false}
}

// Ingresses returns the kind Ingress of networking.k8s.io/v1.
func Ingresses() Objects[object.Ingress] {
	kinds := []Kind{{"Ingress", Resource{"networking.k8s.io", "v1", "ingresses"}, nil}}
	return Objects[object.Ingress]{kinds, readIngress, readIngress, nil, false}
}

// Services returns the kinds Service of v1, and XBackend of the experimental channel of Gateway API, which can replace
// a Service of type ExternalName.
func Services() Objects[object.Service] {
	kinds := []Kind{
		{"Service", Resource{"", "v1", "services"}, nil},
		{"XBackend", Resource{"gateway.networking.x-k8s.io", "v1alpha1", "xbackends"}, nil},
	}
	return Objects[object.Service]{kinds, readService, readService, nil, false}
}

// Decode decodes a review. The error is an *Error or a *ContentError. If the request is a create or an update, Object
// is set. If it is an update, Old is also set, unless the old object cannot be read because of its size, its depth, or
// a value of the wrong type. The update is then evaluated like a creation, so it can replace such an object with a
// valid object.
func (o Objects[T]) Decode(body []byte) (*Request[T], error) {
	req, err := parse(body, o.readReview)
	if err == nil {
		return req, nil
	}
	if isOldContent(err) {
		o.skipsOld = true
		if repair, again := parse(body, o.readReview); again == nil {
			return repair, nil
		}
	}
	return nil, reviewError(body, err)
}

// parse reads a text with read.
func parse[T any](text []byte, read reader[T]) (*T, error) {
	r := jsonscan.New(text, limits())
	v := new(T)
	read(r, v)
	return v, r.End()
}

// maxUID is the maximum length of a uid, which is copied to the response. The API server's have 36 characters.
const maxUID = 128

const (
	// maxElements is the maximum number of list elements and map entries that an object can have in memory. Each may be
	// compared with every pattern of every rule. An element can take three bytes of JSON and sixty of memory. No
	// meaningful object reaches this limit: etcd stores up to 1.5 MiB, which is 150 bytes for each element.
	maxElements = 10_000
	// maxText is the maximum number of bytes of text of an object in memory. It is the size of the requests that the
	// API server accepts (3 MiB), so no object in etcd has more.
	maxText = 3 << 20
)

// limits returns the limits of an object, and of the part of a review outside the objects.
func limits() jsonscan.Limits { return jsonscan.Limits{Elements: maxElements, Text: maxText} }

// Head identifies a review and its object.
type Head struct {
	UID string
	object.Attributes
	DryRun bool
}

// ReadHead reads the head of a review from the first bytes of its body. With it, a review that is too large or too deep
// to read can still be answered and logged. kube-apiserver writes the uid within the first 200 bytes, and the name,
// namespace, operation and user before the object. ReadHead does not read groups, and DryRun, which comes after the
// object. ok is false without a valid uid. Other fields are empty if the first bytes do not contain them.
func ReadHead(prefix []byte) (h Head, ok bool) {
	r := jsonscan.New(prefix, limits())
	for name := range r.Members {
		if string(name) != "request" {
			continue
		}
		for name := range r.Members {
			if h.UID != "" && (string(name) == "object" || string(name) == "oldObject") {
				return h, len(h.UID) <= maxUID
			}
			switch string(name) {
			case "uid":
				if h.UID == "" {
					h.UID = r.String()
				}
			case "userInfo":
				for name := range r.Members {
					if string(name) == "username" {
						h.User = r.String()
					}
				}
			default:
				h.readField(r, string(name))
			}
		}
	}
	return h, h.UID != "" && len(h.UID) <= maxUID
}

// readField reads a string of a request if it identifies the object.
func (h *Head) readField(r *jsonscan.Reader, name string) {
	switch name {
	case "subResource":
		h.Subresource = r.String()
	case "name":
		h.Name = r.String()
	case "namespace":
		h.Namespace = r.String()
	case "operation":
		h.Operation = object.Operation(r.String())
	}
}

// readReview reads an AdmissionReview. It reports a wrong field when it reads it, before the object, and a missing
// field at the end.
func (o Objects[T]) readReview(r *jsonscan.Reader, req *Request[T]) {
	var version, kind string
	found := false
	for name := range r.Fields {
		switch string(name) {
		case "apiVersion":
			version = r.String()
			require(r, "apiVersion", version, reviewVersion)
		case "kind":
			kind = r.String()
			require(r, "kind", kind, reviewKind)
		case "request":
			if found = !r.Null(); found {
				o.readRequest(r, req)
			}
		}
	}
	require(r, "apiVersion", version, reviewVersion)
	require(r, "kind", kind, reviewKind)
	if !found {
		r.Fail(badRequest("request is missing"))
	}
}

// require fails a review in which a field does not have the only valid value.
func require(r *jsonscan.Reader, field, got, want string) {
	switch got {
	case want:
	case "":
		r.Fail(badRequest("%s is missing, want %s", field, want))
	case "admission.k8s.io/v1beta1":
		r.Fail(badRequest("%s is %s, want %s: set admissionReviewVersions: [v1] in the webhook configuration",
			field, got, want))
	default:
		r.Fail(badRequest("%s is %s, want %s", field, text.Quote(got), want))
	}
}

// readRequest reads an AdmissionRequest.
func (o Objects[T]) readRequest(r *jsonscan.Reader, req *Request[T]) {
	var of Resource
	hasOld := false
	for name := range r.Fields {
		switch string(name) {
		case "uid":
			req.UID = r.String()
			if len(req.UID) > maxUID {
				r.Fail(badRequest("request.uid has %d bytes: a UUID has 36", len(req.UID)))
			}
		case "resource":
			of = readResource(r)
			checkResource(r, of, o.Kinds)
			if o.readerOf != nil {
				o.read = o.readerOf(of)
				o.readOld = o.read
			}
		case "userInfo":
			for name := range r.Fields {
				switch string(name) {
				case "username":
					req.User = r.String()
				case "groups":
					req.Groups = r.Strings()
				}
			}
		case "object":
			o.apart(r, &req.Object, o.read)
		case "oldObject":
			if o.skipsOld {
				hasOld = r.Present()
				continue
			}
			o.apart(r, &req.Old, o.readOld)
			hasOld = req.Old != nil
		case "dryRun":
			req.DryRun = r.Bool()
		default:
			req.readField(r, string(name))
		}
	}
	req.Resource, req.Group = of.Name, of.Group
	checkResource(r, of, o.Kinds)
	switch creates, updates := req.Operation == object.Create, req.Operation == object.Update; {
	case req.UID == "":
		r.Fail(badRequest("request.uid is missing"))
	case req.Operation == "":
		r.Fail(badRequest("request.operation is missing"))
	case (creates || updates) && req.Object == nil:
		r.Fail(badRequest("request.object is missing: operation %s has one", req.Operation))
	case updates && !hasOld:
		r.Fail(badRequest("request.oldObject is missing: operation %s has one", req.Operation))
	}
}

// apart reads an object with separate limits. null is nil. If the resource determines the reader, it must be known
// before the object. kube-apiserver writes it first.
func (o Objects[T]) apart(r *jsonscan.Reader, into **T, read reader[T]) {
	if read == nil {
		r.Fail(badRequest("an object comes before request.resource: kube-apiserver writes request.resource first"))
		return
	}
	r.Apart(func() { *into = jsonscan.Optional(r, read) })
}

// APIVersions returns the versions that manifests of the kind may have, in the form of apiVersion. The version of
// reviews comes first.
func (k Kind) APIVersions() []string {
	versions := []string{k.Resource.APIVersion()}
	for _, v := range k.Older {
		versions = append(versions, Resource{k.Resource.Group, v, ""}.APIVersion())
	}
	return versions
}

// APIVersion returns the apiVersion in manifests: v1, networking.k8s.io/v1.
func (g Resource) APIVersion() string { return strings.TrimPrefix(g.Group+"/"+g.Version, "/") }

// String returns the form that kubectl accepts: pods.v1, ingresses.v1.networking.k8s.io.
func (g Resource) String() string {
	if g.Group == "" {
		return g.Name + "." + g.Version
	}
	return g.Name + "." + g.Version + "." + g.Group
}

// Unversioned returns the resource or a subresource of it, as in RBAC rules and webhook rules, followed by the group:
// ingresses/status.networking.k8s.io.
func (g Resource) Unversioned(subresource string) string {
	name := strings.TrimSuffix(g.Name+"/"+subresource, "/")
	return strings.TrimSuffix(name+"."+g.Group, ".")
}

func readResource(r *jsonscan.Reader) (g Resource) {
	for name := range r.Fields {
		switch string(name) {
		case "group":
			g.Group = r.String()
		case "version":
			g.Version = r.String()
		case "resource":
			g.Name = r.String()
		}
	}
	return g
}

// checkResource fails a review whose resource does not belong to any of the kinds.
func checkResource(r *jsonscan.Reader, got Resource, kinds []Kind) {
	if slices.ContainsFunc(kinds, func(k Kind) bool { return k.Resource == got }) {
		return
	}
	wanted := make([]string, len(kinds))
	for i, k := range kinds {
		wanted[i] = k.Resource.String()
	}
	want := strings.Join(wanted, " or ")
	if got == (Resource{}) {
		r.Fail(badRequest("request.resource is missing, want %s", want))
		return
	}
	r.Fail(badRequest("request.resource is %s, want %s", text.Truncate(got.String(), text.Short), want))
}
