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
					g.From = jsonscan.List(r, readGrantFrom)
				case "to":
					g.To = jsonscan.List(r, readGrantTo)
				}
			}
		}
	}
}

func readGrantFrom(r *jsonscan.Reader, f *object.GrantFrom) {
	for name := range r.Fields {
		switch string(name) {
		case "group":
			f.Group = r.String()
		case "kind":
			f.Kind = r.String()
		case "namespace":
			f.Namespace = r.String()
		}
	}
}

func readGrantTo(r *jsonscan.Reader, t *object.GrantTo) {
	for name := range r.Fields {
		switch string(name) {
		case "group":
			t.Group = r.String()
		case "kind":
			t.Kind = r.String()
		case "name":
			t.Name = r.String()
		}
	}
}
