package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// spread checks that topologySpreadConstraints or an anti-affinity spread the replicas over zones and over nodes, and
// that they count the Deployment's own Pods. A single replica is not checked.
func spread() check {
	return check{
		id: "spread", severity: Warning, needs: []premise{coherent(), selected()},
		finds: "replicas that are not spread across zones or across nodes",
		why:   "all replicas may run on one node or in one zone. If this node or zone fails, no replica is left",
		fix: "add topologySpreadConstraints for " + corev1.LabelTopologyZone + " and " + corev1.LabelHostname + " that " +
			"select the Pods' own labels",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
				if s.replicas() > 1 && !s.spreads(key) {
					r.warning(s.ref, "its %d replicas are not spread across %s", s.replicas(), key)
				}
			}
		}),
	}
}

func (s *server) spreads(topologyKey string) bool {
	for _, t := range s.pod.TopologySpreadConstraints {
		if t.TopologyKey == topologyKey && s.counted(t.LabelSelector) {
			return true
		}
	}
	if s.pod.Affinity == nil || s.pod.Affinity.PodAntiAffinity == nil {
		return false
	}
	anti := s.pod.Affinity.PodAntiAffinity
	terms := slices.Clone(anti.RequiredDuringSchedulingIgnoredDuringExecution)
	for _, t := range anti.PreferredDuringSchedulingIgnoredDuringExecution {
		terms = append(terms, t.PodAffinityTerm)
	}
	for _, t := range terms {
		if t.TopologyKey == topologyKey && s.counted(t.LabelSelector) {
			return true
		}
	}
	return false
}
