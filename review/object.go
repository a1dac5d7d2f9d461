package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy"
)

// ParsePod reads a v1 Pod from its JSON. The error is an *Error when that is not JSON, a *ContentError without uid when
// a field that decides has the wrong type or stands twice.
func ParsePod(object []byte) (*policy.Pod, error) { return parse(object, readPod) }

// ParseIngress reads a networking.k8s.io/v1 Ingress from its JSON, as ParsePod does.
func ParseIngress(object []byte) (*policy.Ingress, error) { return parse(object, readIngress) }

// ParseService reads a v1 Service from its JSON, as ParsePod does.
func ParseService(object []byte) (*policy.Service, error) { return parse(object, readService) }

func parse[T any](object []byte, read func(*jsonscan.Reader, *T)) (*T, error) {
	r := jsonscan.New(object, limits())
	v := new(T)
	read(r, v)
	if err := r.End(); err != nil {
		return nil, objectError(err)
	}
	return v, nil
}

func readMeta(r *jsonscan.Reader, m *policy.Meta) {
	for name := range r.Fields {
		switch string(name) {
		case "name":
			m.Name = r.String()
		case "generateName":
			m.GenerateName = r.String()
		case "namespace":
			m.Namespace = r.String()
		case "labels":
			m.Labels = r.StringMap()
		case "annotations":
			m.Annotations = r.StringMap()
		case "ownerReferences":
			m.Owner = readOwner(r)
		}
	}
}

// readOwner returns the owner that is the controller, as Kind/name.
func readOwner(r *jsonscan.Reader) (controller string) {
	for range r.Items {
		var kind, owner string
		var controls bool
		for name := range r.Fields {
			switch string(name) {
			case "kind":
				kind = r.String()
			case "name":
				owner = r.String()
			case "controller":
				controls = r.Bool()
			}
		}
		if controls && controller == "" {
			controller = kind + "/" + owner
		}
	}
	return controller
}
