package review

import "github.com/evergate/evergate/policy"

// ParsePod reads a v1 Pod from its JSON. The error is an *Error when that is not JSON, a *ContentError without uid when
// a field that decides has the wrong type or stands twice.
func ParsePod(object []byte) (*policy.Pod, error) { return parse(object, (*reader).pod) }

// ParseIngress reads a networking.k8s.io/v1 Ingress from its JSON, as ParsePod does.
func ParseIngress(object []byte) (*policy.Ingress, error) { return parse(object, (*reader).ingress) }

// ParseService reads a v1 Service from its JSON, as ParsePod does.
func ParseService(object []byte) (*policy.Service, error) { return parse(object, (*reader).service) }

func parse[T any](object []byte, read func(*reader, *T)) (*T, error) {
	r := newReader(object)
	v := new(T)
	read(r, v)
	r.end()
	if r.err != nil {
		return nil, objectError(r.err)
	}
	return v, nil
}

var objectFields = fieldsOf("-kind", "-apiVersion", "metadata", "spec", "-status")

// Selectors ask for labels of Pods alone.
var metaFields, podMetaFields = metaFieldsOf("-labels"), metaFieldsOf("labels")

func metaFieldsOf(labels string) *fields {
	return fieldsOf("name", "generateName", "namespace", "-uid", "-resourceVersion", "-generation", "-creationTimestamp",
		labels, "annotations", "ownerReferences", "-finalizers", "-managedFields")
}

func (r *reader) meta(m *policy.Meta, known *fields) {
	for field := range r.fields(known) {
		switch field {
		case "name":
			m.Name = r.string()
		case "generateName":
			m.GenerateName = r.string()
		case "namespace":
			m.Namespace = r.string()
		case "labels":
			m.Labels = r.stringMap()
		case "annotations":
			m.Annotations = r.stringMap()
		case "ownerReferences":
			m.Owner = r.owner()
		}
	}
}

var ownerFields = fieldsOf("-apiVersion", "kind", "name", "-uid", "controller", "-blockOwnerDeletion")

// owner returns the owner that is the controller, as Kind/name.
func (r *reader) owner() (controller string) {
	for range r.items {
		var kind, name string
		var controls bool
		for field := range r.fields(ownerFields) {
			switch field {
			case "kind":
				kind = r.string()
			case "name":
				name = r.string()
			case "controller":
				controls = r.bool()
			}
		}
		if controls && controller == "" {
			controller = kind + "/" + name
		}
	}
	return controller
}
