package policy

import (
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// ingressNginxRules is the field ingressNginx of an ingresses entry.
type ingressNginxRules struct {
	// MaxRisk is the highest risk that an annotation may have: Low, Medium or High. The project itself publishes a
	// risk for each of its annotations; one that it does not list counts as Critical.
	MaxRisk nginxRisk `yaml:"maxRisk,required"`
	// Prefix is what the controller's annotations begin with, where its flag --annotations-prefix says so.
	// Absent: nginx.ingress.kubernetes.io.
	Prefix annotationPrefix `yaml:"prefix"`
}

// Validate implements strict.Validator.
func (n *ingressNginxRules) Validate() error {
	if n.MaxRisk == nginxCritical {
		return strict.Fieldf("maxRisk", "Critical lets every annotation pass: leave ingressNginx out")
	}
	return nil
}

func (n *ingressNginxRules) checks() []check[Ingress] {
	if n == nil {
		return nil
	}
	prefix := string(n.Prefix)
	if prefix == "" {
		prefix = "nginx.ingress.kubernetes.io"
	}
	return []check[Ingress]{ingressNginxMaxRisk{prefix + "/", n.MaxRisk}}
}

// annotationPrefix is the part of an annotation's key before the slash.
type annotationPrefix string

// UnmarshalText refuses what cannot stand before the slash.
func (p *annotationPrefix) UnmarshalText(b []byte) error {
	if err := match.CheckHostName(string(b)); err != nil {
		return fmt.Errorf("%s is not a prefix of annotations: %w", text.Quote(b), err)
	}
	*p = annotationPrefix(b)
	return nil
}
