package policy

import "strings"

// ingressNginxMaxRisk is ingressNginx.maxRisk: it finds each annotation of ingress-nginx whose published risk is
// above the limit. A changed value of such an annotation is a new finding.
type ingressNginxMaxRisk struct {
	prefix string // with its slash
	limit  nginxRisk
}

func (c ingressNginxMaxRisk) find(ing *Ingress, r *report) {
	for _, a := range r.sortedAnnotations(&ing.Meta) {
		if !r.spend(1) {
			return
		}
		name, ours := strings.CutPrefix(a.key, c.prefix)
		if !ours || !r.spend(1) {
			continue
		}
		risk, known := nginxRiskOf(name)
		if risk <= c.limit {
			continue
		}
		if f := r.found(a.identity("ingressNginx.maxRisk")); f != nil {
			found := "has the risk " + risk.String()
			if !known {
				found = "is not in ingress-nginx's list of risks, so it counts as " + risk.String()
			}
			f.Path, f.Reason = annotationPath(a.key), found+"; at most "+c.limit.String()+" is allowed"
		}
	}
}
