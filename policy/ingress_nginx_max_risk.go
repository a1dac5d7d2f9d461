package policy

import "strings"

// ingressNginxMaxRisk is ingressNginx.maxRisk: it finds each annotation of ingress-nginx whose published risk is
// above the limit. A changed value of such an annotation is a new finding.
type ingressNginxMaxRisk struct {
	prefix string // with its slash
	limit  nginxRisk
}

func (c ingressNginxMaxRisk) find(ing *Ingress, r *report) {
	for _, key := range offendingKeys(ing.Annotations, func(key, _ string) bool {
		name, ours := strings.CutPrefix(key, c.prefix)
		if !ours {
			return false
		}
		risk, _ := nginxRiskOf(name)
		return risk > c.limit
	}) {
		risk, known := nginxRiskOf(strings.TrimPrefix(key, c.prefix))
		found := "has the risk " + risk.String()
		if !known {
			found = "is not in ingress-nginx's list of risks, so it counts as " + risk.String()
		}
		r.add(annotationFinding("ingressNginx.maxRisk", key, ing.Annotations[key],
			found+"; at most "+c.limit.String()+" is allowed"))
	}
}
