package deploy

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// spreadDomains checks that a topologySpreadConstraint with DoNotSchedule does not count a zone that the Pods can
// never use. The constraint counts nodes with a taint that the Pods do not tolerate unless nodeTaintsPolicy is Honor,
// and with nodeAffinityPolicy Ignore it counts nodes that the Pods do not select. The Pods can never use nodes without
// the label of the constraint. A constraint that does not count the Deployment's own Pods does not limit them.
func spreadDomains() check {
	return check{
		id: "spread-domains", severity: Error,
		finds: "a topologySpreadConstraint with whenUnsatisfiable: DoNotSchedule that leaves replicas Pending because it " +
			"counts nodes that the Pods cannot use, or because no node has its topology label",
		why: "the scheduler waits for a replica in a zone where no replica can run (didn't match pod topology spread " +
			"constraints). Replicas are missing, and a rollout stops",
		fix: "set nodeTaintsPolicy: Honor in the constraint, or whenUnsatisfiable: ScheduleAnyway if nodes do not " +
			"have a zone label",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			for _, t := range s.pod.TopologySpreadConstraints {
				if t.WhenUnsatisfiable == corev1.DoNotSchedule && slices.ContainsFunc(c.ordinaryNodes(), s.fits) {
					c.checkDomains(s, t, r)
				}
			}
		}),
	}
}

func (c *cluster) checkDomains(s *server, t corev1.TopologySpreadConstraint, r *reporter) {
	usable := map[string]bool{} // by label value: whether any node accepts the Pods
	honored := t.NodeTaintsPolicy != nil && *t.NodeTaintsPolicy == corev1.NodeInclusionPolicyHonor
	all := t.NodeAffinityPolicy != nil && *t.NodeAffinityPolicy == corev1.NodeInclusionPolicyIgnore
	for _, n := range c.ordinaryNodes() {
		value, labelled := n.Labels[t.TopologyKey]
		if takes := s.fits(n); labelled && (all || s.selects(n)) && (s.tolerates(n) || !honored) {
			usable[value] = usable[value] || takes
		}
	}
	var never []string
	for _, value := range slices.Sorted(maps.Keys(usable)) {
		if !usable[value] {
			never = append(never, printable(value))
		}
	}
	if !s.counted(t.LabelSelector) && len(never) < len(usable) {
		return // a replica does not change the counts, so it may run in any zone
	}
	switch room := (len(usable) - len(never)) * int(cmp.Or(t.MaxSkew, 1)); {
	case len(usable) == len(never):
		r.error(s.ref, "its topologySpreadConstraint for %s finds no node that takes its Pods and has the label",
			t.TopologyKey)
	case len(never) > 0 && room < s.replicas():
		r.error(s.ref, "its topologySpreadConstraint for %s counts %s, where no node takes its Pods: %d of its %d replicas "+
			"are never scheduled", t.TopologyKey, some(never), s.replicas()-room, s.replicas())
	case len(never) > 0 && room < s.atOnce(hasRevision(t.MatchLabelKeys)):
		r.error(s.ref, "its topologySpreadConstraint for %s counts %s, where no node takes its Pods: a Pod that a rollout "+
			"adds is never scheduled, because the Pods of the old revision count too", t.TopologyKey, some(never))
	}
}
