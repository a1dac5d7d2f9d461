package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

// Grants returns the kind ReferenceGrant of gateway.networking.k8s.io/v1. Clusters store v1beta1, which is sent as v1.
func Grants() Objects[object.Grant] {
	kinds := []Kind{{
		"ReferenceGrant", Resource{gatewayGroup, "v1", "referencegrants"}, []string{"v1beta1", "v1alpha2"},
	}}
	return Objects[object.Grant]{kinds, readGrant, readGrant, nil, false}
}

func readGrant(r *jsonscan.Reader, g *object.Grant) {
	for name := range r.Fields {
		switch string(name) {
		case "metadata":
			readMeta(r, &g.Meta)
		case "spec":
			for name := range r.Fields {
				switch string(name) {
				case "from":
					g.From = jsonscan.List(r, readGrantElement("namespace"))
				case "to":
					g.To = jsonscan.List(r, readGrantElement("name"))
				}
			}
		}
	}
}

// readGrantElement returns a function that reads an element. nameField is the field that is read into its name.
func readGrantElement(nameField string) func(*jsonscan.Reader, *object.GrantElement) {
	return func(r *jsonscan.Reader, e *object.GrantElement) {
		for name := range r.Fields {
			switch string(name) {
			case "group":
				e.Group = r.String()
			case "kind":
				e.Kind = r.String()
			case nameField:
				e.Name = r.String()
			}
		}
	}
}
