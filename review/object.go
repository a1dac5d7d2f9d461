package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

func readMeta(r *jsonscan.Reader, m *object.Meta) {
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
