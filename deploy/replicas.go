package deploy

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"

	"github.com/evergate/evergate/deploy/install"
)

// replicas inspects whether enough replicas keep running: during rollouts, drains and the loss of a node or a zone.
func (i *inspection) replicas() {
	const id = "duplicate-deployment"
	for _, r := range i.Replaced {
		i.error(id, r[1], "it replaces the Deployment with the same name at %s: remove that Deployment", r[0].Source)
	}
	few := Warning
	if slices.ContainsFunc(i.Hooks, (*install.Hook).Closed) {
		few = Error
	}
	keep := i.Main()
	for _, s := range i.Servers {
		n, why := s.Replicas(), ""
		if scaler := s.Scaler(); scaler != nil {
			why = ", which is the minimum of " + i.Ref(scaler).String()
		}
		if n < 2 {
			i.add("single-replica", few, s.Ref, "replicas is %d%s", n, why)
		}
		why = ""
		for _, h := range i.Hooks {
			if why == "" && keep.Behind(h.Called) && !s.Behind(h.Called) {
				why = ", whose Pods " + i.Ref(h.Called).String() + " does not select"
			}
		}
		i.warnIf(s != keep, id, s.Ref, "it runs evergate serve, and so does %s: remove %s%s", keep.Ref, s.Ref, why)
		unavailable, _ := s.Rollout(n)
		i.errorIf(s.Spec.Paused, "rollout", s.Ref,
			"it is paused, so a new installation gets no replicas, and a change has no effect")
		i.errorIf(n > 1 && unavailable >= n, "rollout", s.Ref, "its strategy may remove all %d replicas at the same time", n)
		i.warnIf(unavailable > 0 && unavailable < n, "rollout", s.Ref, "its strategy may remove %d of %d replicas before their "+
			"replacements are ready", unavailable, n)
		i.budget(s, n)
		i.quotas(s)
		i.spread(s, n)
		i.surge(s)
	}
}

// budget inspects whether exactly one PodDisruptionBudget selects the Pods and lets nodes be drained. A budget for one
// replica would block its drain. Annotations of autoscalers make them keep a node while the Pod runs on it, although the
// budget allows the eviction.
func (i *inspection) budget(s *install.Server, n int) {
	const id = "disruption-budget"
	for _, keeping := range [][2]string{
		{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}, {"karpenter.sh/do-not-disrupt", "true"},
		{"karpenter.sh/do-not-evict", "true"},
	} {
		i.warnIf(s.Spec.Template.Annotations[keeping[0]] == keeping[1], id, s.Ref, "the annotation %s: %q of its Pod template "+
			"keeps every node with a replica from being replaced", keeping[0], keeping[1])
	}
	i.warnIf(n > 1 && len(s.Budgets) == 0, id, s.Ref, "no PodDisruptionBudget selects its Pods")
	if n < 2 || len(s.Budgets) == 0 {
		return
	}
	at, b := i.Ref(s.Budgets[0]), &s.Budgets[0].Spec
	if len(s.Budgets) > 1 {
		i.error(id, i.Ref(s.Budgets[1]), "its Pods are selected by %s too", at)
		return
	}
	mayGo, limit := n, "without a limit it"
	switch { // the API server rounds both up
	case b.MaxUnavailable != nil:
		mayGo, limit = install.Scaled(b.MaxUnavailable, n, true), "maxUnavailable: "+b.MaxUnavailable.String()
	case b.MinAvailable != nil:
		mayGo, limit = n-install.Scaled(b.MinAvailable, n, true), "minAvailable: "+b.MinAvailable.String()
	}
	i.errorIf(mayGo <= 0, id, at, "%s does not let any of the %d replicas of %s be evicted", limit, n, s.Ref)
	i.errorIf(mayGo >= n, id, at, "%s lets all %d replicas of %s be evicted at the same time", limit, n, s.Ref)
	always := b.UnhealthyPodEvictionPolicy != nil && *b.UnhealthyPodEvictionPolicy == policyv1.AlwaysAllow
	i.warnIf(!always, id, at, "unhealthyPodEvictionPolicy is not AlwaysAllow: a replica that never becomes ready holds up the "+
		"drain of its node")
}

// spread inspects whether the replicas are spread over zones and nodes, and whether a requirement keeps them in one.
func (i *inspection) spread(s *install.Server, n int) {
	affinity := cmp.Or(s.Pod.Affinity, &corev1.Affinity{})
	anti := cmp.Or(affinity.PodAntiAffinity, &corev1.PodAntiAffinity{})
	apart := anti.RequiredDuringSchedulingIgnoredDuringExecution
	for _, t := range anti.PreferredDuringSchedulingIgnoredDuringExecution {
		apart = append(apart, t.PodAffinityTerm)
	}
	for _, t := range s.Pod.TopologySpreadConstraints {
		apart = append(apart, corev1.PodAffinityTerm{TopologyKey: t.TopologyKey, LabelSelector: t.LabelSelector})
	}
	counts := func(terms []corev1.PodAffinityTerm, key string) bool {
		return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
			return t.TopologyKey == key && s.Counted(t.LabelSelector)
		})
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		i.warnIf(n > 1 && !counts(apart, key), "spread", s.Ref, "its %d replicas are not spread across %s", n, key)
	}
	together := cmp.Or(affinity.PodAffinity, &corev1.PodAffinity{}).RequiredDuringSchedulingIgnoredDuringExecution
	only := map[string]string{corev1.LabelHostname: s.Pod.NodeName}
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone} {
		one := "all of them run in one zone"
		if key == corev1.LabelHostname {
			one = "all of them run on one node"
		}
		place := cmp.Or(only[key], onlyPlace(s, key))
		i.warnIf(place != "", "spread", s.Ref, "it selects only nodes with %s=%s: %s", key, install.Printable(place), one)
		i.warnIf(place == "" && counts(together, key), "spread", s.Ref, "a required podAffinity keeps its Pods together by %s: %s",
			key, one)
		if place != "" || counts(together, key) {
			return // a node is in one zone
		}
	}
}

// onlyPlace returns the value of a node label if the Pods can be scheduled only to nodes with this value, or "" if other
// values are possible. A node has to meet at least one term, and all requirements of the term.
func onlyPlace(s *install.Server, key string) string {
	if value, ok := s.Pod.NodeSelector[key]; ok {
		return value
	}
	node := cmp.Or(cmp.Or(s.Pod.Affinity, &corev1.Affinity{}).NodeAffinity, &corev1.NodeAffinity{})
	var places []string
	for _, term := range cmp.Or(node.RequiredDuringSchedulingIgnoredDuringExecution, &corev1.NodeSelector{}).NodeSelectorTerms {
		place := ""
		for _, r := range slices.Concat(term.MatchExpressions, term.MatchFields) {
			named := key == corev1.LabelHostname && r.Key == "metadata.name"
			if (r.Key == key || named) && r.Operator == corev1.NodeSelectorOpIn && len(r.Values) == 1 {
				place = r.Values[0]
			}
		}
		places = append(places, place)
	}
	if slices.Sort(places); len(slices.Compact(places)) != 1 {
		return ""
	}
	return places[0]
}

// surge inspects whether all replicas and the Pods that a rollout adds can be scheduled. Ports of the host are checked
// only if nodes are known. Rules with matchLabelKeys: [pod-template-hash] count the Pods of one revision, so replicas of
// the old revision do not get in the way.
func (i *inspection) surge(s *install.Server) {
	// AWS Fargate has its own scheduler, and creates a node for each Pod.
	nodes := install.Filter(install.Of[*corev1.Node](i.Objects), func(n *corev1.Node) bool {
		return n.Labels["eks.amazonaws.com/compute-type"] != "fargate"
	})
	// No limit applies with enough domains (nodes, zones).
	limited := func(name, key string, perDomain, enough int32, keys []string) {
		domains, need := domainsOf(nodes, s, key), s.Replicas()
		if _, surge := s.Rollout(need); !slices.Contains(keys, appsv1.DefaultDeploymentUniqueLabelKey) {
			need += surge
		}
		room := domains * int(perDomain)
		i.errorIf(domains < int(enough) && room < need, "surge", s.Ref, "%s lets %d Pods be scheduled on %d domains of %s, and a "+
			"rollout needs %d", name, room, domains, key, need)
	}
	const never = 1 << 20 // more than any cluster has
	for _, t := range s.Pod.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule && t.MinDomains != nil && s.Counted(t.LabelSelector) {
			limited("a topologySpreadConstraint with minDomains", t.TopologyKey, t.MaxSkew, *t.MinDomains, t.MatchLabelKeys)
		}
	}
	if len(nodes) > 0 && slices.ContainsFunc(s.AllContainers(), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return s.Pod.HostNetwork || p.HostPort != 0 })
	}) {
		limited("a port of the host, which one Pod of a node can have,", corev1.LabelHostname, 1, never, nil)
	}
	anti := cmp.Or(cmp.Or(s.Pod.Affinity, &corev1.Affinity{}).PodAntiAffinity, &corev1.PodAntiAffinity{})
	for _, t := range anti.RequiredDuringSchedulingIgnoredDuringExecution {
		if s.Counted(t.LabelSelector) {
			limited("a required podAntiAffinity", t.TopologyKey, 1, never, t.MatchLabelKeys)
		}
	}
}

// domainsOf counts the values of a label on the nodes whose taints the Pods tolerate. Node affinity is not evaluated. If
// no node is known, there are three, the least that survives the loss of one.
func domainsOf(nodes []*corev1.Node, s *install.Server, key string) int {
	if len(nodes) == 0 {
		return 3
	}
	values := map[string]bool{}
	for _, n := range nodes {
		tainted := slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Effect != corev1.TaintEffectPreferNoSchedule &&
				!slices.ContainsFunc(s.Pod.Tolerations, func(t corev1.Toleration) bool { return t.Key == "" || t.Key == taint.Key })
		})
		selected := len(s.Pod.NodeSelector) == 0 || install.ContainsAll(n.Labels, s.Pod.NodeSelector)
		if v, ok := n.Labels[key]; ok && !n.Spec.Unschedulable && !tainted && selected {
			values[v] = true
		}
	}
	return len(values)
}
