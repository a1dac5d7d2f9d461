// Package review is the wire: AdmissionReview bytes in, AdmissionReview bytes out, and the JSON of the objects between
// them turned into what package policy judges. It reads only the fields that decide and checks all the rest to be JSON.
//
// A body is gone through once, and no Kubernetes type is involved: a field that is newer than Evergate costs nothing and
// is never lost, because answers carry patches of single fields.
//
//	review.go                            the review around the object
//	object.go, pod.go, ingress.go, …     the objects
//	reader.go, fields.go, value.go       JSON, and the names of fields in it
//	scan.go, blocks_amd64.go             where a value ends
//	error.go                             whose fault it is
//	answer.go, patch.go                  the answer
package review

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// What a review says of itself, and its answer too. The only other version, v1beta1, is needed by no API server since
// Kubernetes 1.16, which brought this one.
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
	Old    *T // nil on CREATE
}

// DecodePod reads a review of a v1 Pod. The error is an *Error or a *ContentError. A request to create or update comes
// with its Object, one to update also with Old.
func DecodePod(body []byte) (*Request[policy.Pod], error) {
	return decode(body, pods, (*reader).pod, (*reader).pod)
}

// DecodeIngress reads a review of a networking.k8s.io/v1 Ingress, as DecodePod does.
func DecodeIngress(body []byte) (*Request[policy.Ingress], error) {
	return decode(body, ingresses, (*reader).ingress, (*reader).ingress)
}

// DecodeService reads a review of a v1 Service, as DecodePod does.
func DecodeService(body []byte) (*Request[policy.Service], error) {
	return decode(body, services, (*reader).service, (*reader).service)
}

// maxUID is how long a uid may be, which is sent back as it is. The API server's have 36 characters.
const maxUID = 128

// UID finds the uid of a review in the first bytes of its body, so that a review that is too large to be read can still
// be answered: kube-apiserver writes it before anything of the object, within the first 200 bytes.
func UID(prefix []byte) (uid string, ok bool) {
	r := newReader(prefix)
	for name := range r.members {
		if string(name) != "request" {
			continue
		}
		for name := range r.members {
			if string(name) == "uid" {
				if uid = r.string(); uid == "" || len(uid) > maxUID {
					return "", false
				}
				return uid, true
			}
		}
	}
	return "", false
}

// decode reads a review whose object and old object are read by a function each.
func decode[T any](body []byte, want resource, object, old func(*reader, *T)) (*Request[T], error) {
	r := newReader(body)
	req := envelope(r, want, object, old)
	r.end()
	if r.err != nil {
		return nil, reviewError(body, r.err)
	}
	return req, nil
}

var reviewFields = fieldsOf("kind", "apiVersion", "request")

// envelope reads an AdmissionReview.
func envelope[T any](r *reader, want resource, object, old func(*reader, *T)) *Request[T] {
	var version, kind string
	var req *Request[T]
	for field := range r.fields(reviewFields) {
		switch field {
		case "apiVersion":
			version = r.string()
			r.checkVersion(version)
		case "kind":
			kind = r.string()
			r.checkKind(kind)
		case "request":
			req = optional(r, func(r *reader, req *Request[T]) { request(r, req, want, object, old) })
		}
	}
	r.checkVersion(version)
	r.checkKind(kind)
	if req == nil {
		r.fail(badRequest("request is missing"))
	}
	return req
}

func (r *reader) checkVersion(version string) {
	switch version {
	case reviewVersion:
	case "":
		r.fail(badRequest("apiVersion is missing, want %s", reviewVersion))
	case "admission.k8s.io/v1beta1":
		r.fail(badRequest("apiVersion is %s, want %s: set admissionReviewVersions: [v1] in the webhook configuration",
			version, reviewVersion))
	default:
		r.fail(badRequest("apiVersion is %s, want %s", text.Quote(version), reviewVersion))
	}
}

func (r *reader) checkKind(kind string) {
	switch kind {
	case reviewKind:
	case "":
		r.fail(badRequest("kind is missing, want %s", reviewKind))
	default:
		r.fail(badRequest("kind is %s, want %s", text.Quote(kind), reviewKind))
	}
}

var requestFields = fieldsOf("uid", "-kind", "resource", "subResource", "-requestKind", "-requestResource", "-requestSubResource",
	"name", "namespace", "operation", "userInfo", "object", "oldObject", "dryRun", "-options")

// request reads an AdmissionRequest.
func request[T any](r *reader, req *Request[T], want resource, object, old func(*reader, *T)) {
	var of resource
	for field := range r.fields(requestFields) {
		switch field {
		case "uid":
			req.UID = r.string()
			if len(req.UID) > maxUID {
				r.fail(badRequest("request.uid has %d bytes: a UUID has 36", len(req.UID)))
			}
		case "resource":
			of = r.resource()
			r.checkResource(of, want)
		case "subResource":
			req.Subresource = r.string()
		case "name":
			req.Name = r.string()
		case "namespace":
			req.Namespace = r.string()
		case "operation":
			req.Operation = policy.Operation(r.string())
		case "userInfo":
			r.userInfo(&req.Attributes)
		case "object":
			req.Object = objectOf(r, object)
		case "oldObject":
			req.Old = objectOf(r, old)
		case "dryRun":
			req.DryRun = r.bool()
		}
	}
	req.Resource = of.name
	r.checkResource(of, want)
	switch creates, updates := req.Operation == policy.Create, req.Operation == policy.Update; {
	case req.UID == "":
		r.fail(badRequest("request.uid is missing"))
	case req.Operation == "":
		r.fail(badRequest("request.operation is missing"))
	case (creates || updates) && req.Object == nil:
		r.fail(badRequest("request.object is missing: operation %s has one", req.Operation))
	case updates && req.Old == nil:
		r.fail(badRequest("request.oldObject is missing: operation %s has one", req.Operation))
	}
}

// objectOf reads an object of the review; null is nil. What is kept of it is counted by itself.
func objectOf[T any](r *reader, read func(*reader, *T)) *T {
	around := r.kept
	r.kept = kept{}
	v := optional(r, read)
	r.kept = around
	return v
}

var userFields = fieldsOf("username", "-uid", "groups", "-extra")

func (r *reader) userInfo(a *policy.Attributes) {
	for field := range r.fields(userFields) {
		switch field {
		case "username":
			a.User = r.string()
		case "groups":
			a.Groups = r.strings()
		}
	}
}

// resource is a GroupVersionResource.
type resource struct{ group, version, name string }

// The resources that reviews are decoded for.
var (
	configMaps = resource{"", "v1", "configmaps"}
	pods       = resource{"", "v1", "pods"}
	ingresses  = resource{"networking.k8s.io", "v1", "ingresses"}
	services   = resource{"", "v1", "services"}
)

// String is as kubectl writes it: pods.v1, ingresses.v1.networking.k8s.io.
func (g resource) String() string {
	if g.group == "" {
		return g.name + "." + g.version
	}
	return g.name + "." + g.version + "." + g.group
}

var resourceFields = fieldsOf("group", "version", "resource")

func (r *reader) resource() (g resource) {
	for field := range r.fields(resourceFields) {
		switch field {
		case "group":
			g.group = r.string()
		case "version":
			g.version = r.string()
		case "resource":
			g.name = r.string()
		}
	}
	return g
}

func (r *reader) checkResource(got, want resource) {
	switch got {
	case want:
	case resource{}:
		r.fail(badRequest("request.resource is missing, want %s", want))
	default:
		r.fail(badRequest("request.resource is %s, want %s", text.Truncate(got.String(), text.Short), want))
	}
}
