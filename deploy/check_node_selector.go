package deploy

import (
	"cmp"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// nodeSelector checks that nodeName, nodeSelector, required node affinity and required affinity between the Pods do
// not restrict all replicas to a single node or a single zone. It does not check how many nodes have a label.
func nodeSelector() check {
	return check{
		id: "node-selector", severity: Warning,
		finds: "replicas that must all run on one node or in one zone",
		why: "if this node or zone fails, no replica is left, and none can start elsewhere. Topology spread does not " +
			"help, because the Pods can run in only one node or zone",
		fix: "remove the requirement, or list the zones of the cluster. topologySpreadConstraints spread the " +
			"replicas",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			if s.pod.NodeName != "" {
				r.warning(s.ref, "its nodeName is %s: all its Pods run on one node", printable(s.pod.NodeName))
				return
			}
			for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone} {
				if place := s.only(key); place != "" {
					r.warning(s.ref, "it selects only nodes with %s=%s: %s", key, printable(place), onePlace(key))
					break // a node is in one zone
				}
				if s.together(key) {
					r.warning(s.ref, "a required podAffinity keeps its Pods together by %s: %s", key, onePlace(key))
					break
				}
			}
		}),
	}
}

func onePlace(key string) string {
	if key == corev1.LabelHostname {
		return "all of them run on one node"
	}
	return "all of them run in one zone"
}

// only returns the value of a node label if the Pods can be scheduled only to nodes with this value, or "" if other
// values are possible.
func (s *server) only(key string) string {
	if value, ok := s.pod.NodeSelector[key]; ok {
		return value
	}
	required := s.requiredNodes()
	if required == nil {
		return ""
	}
	var places []string
	for _, term := range required.NodeSelectorTerms { // a node has to meet at least one term
		places = append(places, onlyIn(term, key))
	}
	if slices.Sort(places); len(slices.Compact(places)) != 1 {
		return ""
	}
	return places[0]
}

// onlyIn returns the only value of a node label that a term allows, or "" if the term allows others. A node has to
// meet all requirements of a term.
func onlyIn(term corev1.NodeSelectorTerm, key string) string {
	one := func(requirements []corev1.NodeSelectorRequirement, key string) string {
		for _, r := range requirements {
			if r.Key == key && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
				return r.Values[0]
			}
		}
		return ""
	}
	name := ""
	if key == corev1.LabelHostname {
		name = one(term.MatchFields, "metadata.name")
	}
	return cmp.Or(one(term.MatchExpressions, key), name)
}

// together reports whether a required affinity keeps the Pods in one domain.
func (s *server) together(key string) bool {
	if s.pod.Affinity == nil || s.pod.Affinity.PodAffinity == nil {
		return false
	}
	terms := s.pod.Affinity.PodAffinity.RequiredDuringSchedulingIgnoredDuringExecution
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
		return t.TopologyKey == key && s.counted(t.LabelSelector)
	})
}
