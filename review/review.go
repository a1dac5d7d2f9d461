// Package review is the wire: AdmissionReview bytes in, AdmissionReview bytes out, and the JSON of the objects between
// them turned into what package policy judges. It reads only the fields that decide and checks all the rest to be JSON.
//
// A body is read once, and no Kubernetes type is involved: a field that is newer than Evergate costs nothing and is
// never lost, because answers carry patches of single fields.
//
//	review.go                            the review around the object
//	object.go, pod.go, ingress.go, …     the objects
//	error.go                             what is wrong with a review, and with an object's content
//	answer.go, patch.go                  the answer
package review

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// The kind and version of a review, and of its answer. No API server since Kubernetes 1.16 needs the only other
// version, v1beta1.
const (
	reviewVersion = "admission.k8s.io/v1"
	reviewKind    = "AdmissionReview"
)

// Request is the request of an admission.k8s.io/v1 AdmissionReview.
type Request[T any] struct {
	UID string
	policy.Attributes
	DryRun bool
	Object *T // nil on DELETE
	Old    *T // nil on CREATE, and on an UPDATE whose old object cannot be read
}

// Objects reads the objects of some kinds: out of reviews, and alone. Reviews of all of them come to one path, and
// policy.Attributes.Resource says of which one an object is.
type Objects[T any] struct {
	Kinds   []Kind
	read    reader[T]
	readOld reader[T]
	// readerOf returns what reads the objects of a resource, where that is not the same for all kinds, and nil for a
	// resource that is not among them. read and readOld are nil then.
	readerOf func(Resource) reader[T]
	// skipsOld says that of the old object only its presence is read.
	skipsOld bool
}

// reader reads an object.
type reader[T any] = func(*jsonscan.Reader, *T)

// Kind is a kind of objects, and the resource that reviews of it are of.
type Kind struct {
	Name     string // Ingress
	Resource Resource
	// Older lists further versions that clusters serve, or have served, with the same meaning of the fields that decide.
	// The API server converts reviews to the version of Resource; a manifest in a file has the version that it was
	// written for.
	Older []string
}

// Resource is what reviews are of, as a GroupVersionResource.
type Resource struct{ Group, Version, Name string }

// Pods are v1 Pods.
func Pods() Objects[policy.Pod] {
	return Objects[policy.Pod]{[]Kind{{"Pod", Resource{"", "v1", "pods"}, nil}}, readPod, readPod, nil, false}
}

// Ingresses are networking.k8s.io/v1 Ingresses.
func Ingresses() Objects[policy.Ingress] {
	kinds := []Kind{{"Ingress", Resource{"networking.k8s.io", "v1", "ingresses"}, nil}}
	return Objects[policy.Ingress]{kinds, readIngress, readIngress, nil, false}
}

// Services are v1 Services, and the XBackends of the experimental channel of Gateway API, which may stand in place of a
// Service of type ExternalName.
func Services() Objects[policy.Service] {
	kinds := []Kind{
		{"Service", Resource{"", "v1", "services"}, nil},
		{"XBackend", Resource{"gateway.networking.x-k8s.io", "v1alpha1", "xbackends"}, nil},
	}
	return Objects[policy.Service]{kinds, readService, readService, nil, false}
}

// Decode reads a review. The error is an *Error or a *ContentError. A request to create or update comes with its
// Object, one to update also with Old, unless the content of the old object is what cannot be read: its size, its
// depth, a value of the wrong type. The update is then evaluated like a creation, so that it can replace such an object
// with a conforming one.
func (o Objects[T]) Decode(body []byte) (*Request[T], error) {
	req, err := o.decode(body)
	if isOldContent(err) {
		o.skipsOld = true
		if repair, again := o.decode(body); again == nil {
			return repair, nil
		}
	}
	if err != nil {
		return nil, reviewError(body, err)
	}
	return req, nil
}

func (o Objects[T]) decode(body []byte) (*Request[T], error) {
	r := jsonscan.New(body, limits())
	req := o.readReview(r)
	if err := r.End(); err != nil {
		return nil, err
	}
	return req, nil
}

// Parse reads an object from its JSON. The error is an *Error when that is not JSON, a *ContentError without uid when a
// field that decides has the wrong type or stands twice.
func (o Objects[T]) Parse(object []byte) (*T, error) {
	return o.parse(object, o.read)
}

// ParseAs is Parse for an object of one of the resources of Kinds.
func (o Objects[T]) ParseAs(of Resource, object []byte) (*T, error) {
	read := o.read
	if o.readerOf != nil {
		read = o.readerOf(of)
	}
	return o.parse(object, read)
}

func (o Objects[T]) parse(object []byte, read reader[T]) (*T, error) {
	r := jsonscan.New(object, limits())
	v := new(T)
	read(r, v)
	if err := r.End(); err != nil {
		return nil, objectError(err)
	}
	return v, nil
}

// maxUID is how long a uid may be, which is sent back as it is. The API server's have 36 characters.
const maxUID = 128

const (
	// maxElements bounds the list elements and map entries of an object that are kept: each may be compared with every
	// pattern of every rule. An element can take three bytes of JSON and sixty of memory. No object that means anything
	// comes near it: etcd takes 1.5 MiB, 150 bytes for each.
	maxElements = 10_000
	// maxText bounds the bytes of text of an object that are kept: as many as the API server reads of a request (3 MiB),
	// so that nothing in etcd has more.
	maxText = 3 << 20
)

// limits are those of an object, and of what is around the objects.
func limits() jsonscan.Limits { return jsonscan.Limits{Elements: maxElements, Text: maxText} }

// UID finds the uid of a review in the first bytes of its body, so that a review that is too large to be read can still
// be answered: kube-apiserver writes it before anything of the object, within the first 200 bytes.
func UID(prefix []byte) (uid string, ok bool) {
	r := jsonscan.New(prefix, limits())
	for name := range r.Members {
		if string(name) != "request" {
			continue
		}
		for name := range r.Members {
			if string(name) == "uid" {
				if uid = r.String(); uid == "" || len(uid) > maxUID {
					return "", false
				}
				return uid, true
			}
		}
	}
	return "", false
}

// readReview reads an AdmissionReview. What is wrong with a field is found where it stands, before the object is read;
// what is missing is found at the end.
func (o Objects[T]) readReview(r *jsonscan.Reader) *Request[T] {
	var version, kind string
	var req *Request[T]
	for name := range r.Fields {
		switch string(name) {
		case "apiVersion":
			version = r.String()
			require(r, "apiVersion", version, reviewVersion)
		case "kind":
			kind = r.String()
			require(r, "kind", kind, reviewKind)
		case "request":
			req = jsonscan.Optional(r, o.readRequest)
		}
	}
	require(r, "apiVersion", version, reviewVersion)
	require(r, "kind", kind, reviewKind)
	if req == nil {
		r.Fail(badRequest("request is missing"))
	}
	return req
}

// require refuses a review in which a field does not have the one value that it may have here.
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
		case "subResource":
			req.Subresource = r.String()
		case "name":
			req.Name = r.String()
		case "namespace":
			req.Namespace = r.String()
		case "operation":
			req.Operation = policy.Operation(r.String())
		case "userInfo":
			readUserInfo(r, &req.Attributes)
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
		}
	}
	req.Resource, req.Group = of.Name, of.Group
	checkResource(r, of, o.Kinds)
	switch creates, updates := req.Operation == policy.Create, req.Operation == policy.Update; {
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

// apart reads an object within limits of its own; null is nil. Where objects are read by their resource, that must be
// known: kube-apiserver writes it first.
func (o Objects[T]) apart(r *jsonscan.Reader, into **T, read reader[T]) {
	if read == nil {
		r.Fail(badRequest("an object stands before request.resource, by which it is read: kube-apiserver writes that first"))
		return
	}
	r.Apart(func() { *into = jsonscan.Optional(r, read) })
}

func readUserInfo(r *jsonscan.Reader, a *policy.Attributes) {
	for name := range r.Fields {
		switch string(name) {
		case "username":
			a.User = r.String()
		case "groups":
			a.Groups = r.Strings()
		}
	}
}

// APIVersions lists the versions that manifests of the kind may have, as they write them, that of reviews first.
func (k Kind) APIVersions() []string {
	versions := []string{k.Resource.APIVersion()}
	for _, v := range k.Older {
		versions = append(versions, Resource{k.Resource.Group, v, ""}.APIVersion())
	}
	return versions
}

// APIVersion is as manifests write it: v1, networking.k8s.io/v1.
func (g Resource) APIVersion() string { return strings.TrimPrefix(g.Group+"/"+g.Version, "/") }

// String is as kubectl writes it: pods.v1, ingresses.v1.networking.k8s.io.
func (g Resource) String() string {
	if g.Group == "" {
		return g.Name + "." + g.Version
	}
	return g.Name + "." + g.Version + "." + g.Group
}

// Unversioned is the resource, or a subresource of it, as rules of RBAC and of webhooks name it, with its group behind
// it: ingresses/status.networking.k8s.io.
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

// checkResource refuses a review of another resource than those of the kinds.
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
