// Package reviewtest creates AdmissionReviews for tests and benchmarks. They are the same as those from kube-apiserver:
// with its types and field order, default values, managedFields and options. The same call always returns the same
// bytes, so measurements from different days can be compared.
package reviewtest

import (
	"encoding/json"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// UID is the uid of every review from this package.
const UID = "705ab4f5-6393-11e8-b7cc-42010a800002"

// Body is a review for measurements.
type Body struct {
	Name     string // name in benchmarks
	Resource string // pods, services, ingresses, httproutes or deployments
	Data     []byte
}

// Bodies returns the reviews for measuring costs: Pods of 2.7, 13 and 97 KB, a Service, Ingresses with 10 and 500
// hosts, an HTTPRoute with the maximum of 16 hosts, and a Deployment of five containers. All are creations.
func Bodies() []Body {
	return []Body{
		{"pod-small", "pods", Create(Pod(1, 0))},
		{"pod-typical", "pods", Create(Pod(5, 2))},
		{"pod-large", "pods", Create(Pod(20, 18))},
		{"service", "services", Create(Service())},
		{"ingress-10", "ingresses", Create(Ingress(10))},
		{"ingress-500", "ingresses", Create(Ingress(500))},
		{"httproute-16", "httproutes", Create(HTTPRoute(16))},
		{"deployment-5", "deployments", Create(Deployment(5, 2))},
	}
}

// Object is an object that a review can contain. Its kind and apiVersion must be set, as in the objects that this
// package returns.
type Object interface {
	metav1.Object
	GetObjectKind() schema.ObjectKind
}

// Create returns the review of a creation of obj.
func Create(obj Object) []byte { return encode(request(admissionv1.Create, obj, nil)) }

// Update returns the review of an update from old to obj.
func Update(obj, old Object) []byte { return encode(request(admissionv1.Update, obj, old)) }

// Delete returns the review of a deletion of old. Its object is null.
func Delete(old Object) []byte { return encode(request(admissionv1.Delete, nil, old)) }

// request sets the same fields as kube-apiserver's CreateV1AdmissionReview.
func request(op admissionv1.Operation, obj, old Object) *admissionv1.AdmissionRequest {
	subject := obj
	if subject == nil {
		subject = old
	}
	kind := metav1.GroupVersionKind(subject.GetObjectKind().GroupVersionKind())
	resource := resourceOf(kind)
	dryRun := false
	return &admissionv1.AdmissionRequest{
		UID:             UID,
		Kind:            kind,
		Resource:        resource,
		RequestKind:     &kind,
		RequestResource: &resource,
		Name:            subject.GetName(),
		Namespace:       subject.GetNamespace(),
		Operation:       op,
		UserInfo:        sender(subject),
		Object:          raw(obj),
		OldObject:       raw(old),
		DryRun:          &dryRun,
		Options:         options(op),
	}
}

// sender returns the user of a request: a person for a Deployment, and a controller for other objects.
func sender(obj Object) authenticationv1.UserInfo {
	user := authenticationv1.UserInfo{
		Username: "system:serviceaccount:kube-system:replicaset-controller",
		UID:      "7b719e78-9f29-4b3f-9c41-6d7a3e0c2f4a",
		Groups:   []string{"system:serviceaccounts", "system:serviceaccounts:kube-system", "system:authenticated"},
		Extra: map[string]authenticationv1.ExtraValue{
			"authentication.kubernetes.io/credential-id": {"JTI=5f0fd0f1-7a42-4b5e-a4b3-4e6a3f0a8c11"},
		},
	}
	if _, ok := obj.(*appsv1.Deployment); ok {
		user.Username, user.Groups = "jane@corp.example", []string{"team-shop", "system:authenticated"}
	}
	return user
}

// resourceOf returns the resource of a kind: its name in lower case and in the plural.
func resourceOf(kind metav1.GroupVersionKind) metav1.GroupVersionResource {
	name := strings.ToLower(kind.Kind)
	if strings.HasSuffix(name, "s") {
		name += "e"
	}
	return metav1.GroupVersionResource{Group: kind.Group, Version: kind.Version, Resource: name + "s"}
}

func options(op admissionv1.Operation) runtime.RawExtension {
	meta := metav1.TypeMeta{APIVersion: "meta.k8s.io/v1"}
	switch op {
	case admissionv1.Create:
		meta.Kind = "CreateOptions"
		return runtime.RawExtension{Raw: marshal(metav1.CreateOptions{TypeMeta: meta, FieldManager: manager})}
	case admissionv1.Update:
		meta.Kind = "UpdateOptions"
		return runtime.RawExtension{Raw: marshal(metav1.UpdateOptions{TypeMeta: meta, FieldManager: manager})}
	default:
		meta.Kind = "DeleteOptions"
		return runtime.RawExtension{Raw: marshal(metav1.DeleteOptions{TypeMeta: meta})}
	}
}

func raw(obj Object) runtime.RawExtension {
	if obj == nil {
		return runtime.RawExtension{}
	}
	return runtime.RawExtension{Raw: marshal(obj)}
}

func encode(r *admissionv1.AdmissionRequest) []byte {
	review := admissionv1.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/v1"},
		Request:  r,
	}
	return append(marshal(review), '\n') // the API server's serializer ends every document with a newline
}

func marshal(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic("reviewtest: " + err.Error())
	}
	return data
}

func meta(name, namespace string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Name:              name,
		Namespace:         namespace,
		UID:               "0e2f1f4e-5d1c-4b6a-8f0c-3f1c5e7a9b11",
		CreationTimestamp: created(),
		Labels:            map[string]string{"app.kubernetes.io/name": "shop", "app.kubernetes.io/part-of": "store"},
	}
}
