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
	closed, keep := slices.ContainsFunc(i.Hooks, (*install.Hook).Closed), i.Main()
	for _, s := range i.Servers {
		why := ""
		n, _ := s.Replicas()
		if s.Scaler != nil {
			why = ", which is the minimum of " + i.Ref(s.Scaler).String()
		}
		i.at("single-replica", s.Ref).add(n < 2, severityIf(closed), "replicas is %d%s", n, why)
		i.at("duplicate-deployment", s.Ref).warn(s != keep, "it runs evergate serve, and so does %s: remove %s", keep.Ref,
			s.Ref)
		f, unavailable := i.at("rollout", s.Ref), 0
		unavailable, _ = s.Rollout(n)
		f.error(s.Spec.Paused, "it is paused, so a new installation gets no replicas, and a change has no effect")
		f.error(n > 1 && unavailable >= n, "its strategy may remove all %d replicas at the same time", n)
		f.warn(unavailable > 0 && unavailable < n,
			"its strategy may remove %d of %d replicas before their replacements are ready", unavailable, n)
		i.budget(s, n)
		i.quotas(s)
		i.spread(s, n)
	}
}

// budget inspects whether exactly one PodDisruptionBudget selects the Pods and lets nodes be drained. A budget for one
// replica would block its drain. Annotations of autoscalers make them keep a node while the Pod runs on it, although
// the budget allows the eviction.
func (i *inspection) budget(s *install.Server, n int) {
	const id = "disruption-budget"
	for _, keeping := range [][2]string{
		{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"}, {"karpenter.sh/do-not-disrupt", "true"},
		{"karpenter.sh/do-not-evict", "true"},
	} {
		i.at(id, s.Ref).warn(s.Spec.Template.Annotations[keeping[0]] == keeping[1], "the annotation %s: %q of its Pod "+
			"template keeps every node with a replica from being replaced", keeping[0], keeping[1])
	}
	i.at(id, s.Ref).warn(n > 1 && len(s.Budgets) == 0, "no PodDisruptionBudget selects its Pods")
	if n < 2 || len(s.Budgets) == 0 {
		return
	}
	f, b := i.at(id, i.Ref(s.Budgets[0])), &s.Budgets[0].Spec
	if len(s.Budgets) > 1 {
		i.at(id, i.Ref(s.Budgets[1])).error(true, "its Pods are selected by %s too", f.at)
		return
	}
	mayGo, limit := n, "without a limit it"
	switch { // the API server rounds both up
	case b.MaxUnavailable != nil:
		mayGo, limit = install.Scaled(b.MaxUnavailable, n, true), "maxUnavailable: "+b.MaxUnavailable.String()
	case b.MinAvailable != nil:
		mayGo, limit = n-install.Scaled(b.MinAvailable, n, true), "minAvailable: "+b.MinAvailable.String()
	}
	f.error(mayGo <= 0, "%s does not let any of the %d replicas of %s be evicted", limit, n, s.Ref)
	f.error(mayGo >= n, "%s lets all %d replicas of %s be evicted at the same time", limit, n, s.Ref)
	f.warn(*cmp.Or(b.UnhealthyPodEvictionPolicy, new(policyv1.IfHealthyBudget)) != policyv1.AlwaysAllow,
		"unhealthyPodEvictionPolicy is not AlwaysAllow: a replica that never becomes ready holds up the drain of its node")
}

// spread inspects whether the replicas are spread over zones and nodes, and whether a requirement keeps them in one.
func (i *inspection) spread(s *install.Server, n int) {
	f, affinity := i.at("spread", s.Ref), cmp.Or(s.Pod.Affinity, &corev1.Affinity{})
	anti := cmp.Or(affinity.PodAntiAffinity, &corev1.PodAntiAffinity{})
	i.surge(s, n, anti.RequiredDuringSchedulingIgnoredDuringExecution)
	apart := slices.Clone(anti.RequiredDuringSchedulingIgnoredDuringExecution)
	for _, t := range anti.PreferredDuringSchedulingIgnoredDuringExecution {
		apart = append(apart, t.PodAffinityTerm)
	}
	for _, t := range s.Pod.TopologySpreadConstraints {
		apart = append(apart, corev1.PodAffinityTerm{TopologyKey: t.TopologyKey, LabelSelector: t.LabelSelector})
	}
	together := cmp.Or(affinity.PodAffinity, &corev1.PodAffinity{}).RequiredDuringSchedulingIgnoredDuringExecution
	counts := func(terms []corev1.PodAffinityTerm, key string) bool {
		return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
			return t.TopologyKey == key && s.Counted(t.LabelSelector)
		})
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		place := s.Pod.NodeSelector[key]
		f.warn(n > 1 && !counts(apart, key), "its %d replicas are not spread across %s", n, key)
		f.warn(place != "", "all of them run in one place: it selects only nodes with %s=%s", key, place)
		f.warn(counts(together, key), "all of them run in one place: a required podAffinity keeps its Pods together by %s",
			key)
	}
}

// surge inspects whether there are enough nodes or zones for the replicas and the Pods that a rollout adds. Rules with
// matchLabelKeys: [pod-template-hash] count the Pods of one revision, so replicas of the old revision do not get in the
// way.
func (i *inspection) surge(s *install.Server, n int, apart []corev1.PodAffinityTerm) {
	_, surge := s.Rollout(n)
	limited := func(wrong bool, name, key string, need int) {
		domains := i.domains(s, key)
		i.at("surge", s.Ref).error(wrong && domains < need,
			"%s lets %d Pods be scheduled on %d domains of %s, and a rollout needs %d", name, domains, domains, key, need)
	}
	live := len(install.Of[*corev1.Node](i.Objects)) > 0
	onHost := live && slices.ContainsFunc(s.AllContainers(), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return s.Pod.HostNetwork || p.HostPort != 0 })
	})
	limited(onHost, "a port of the host, which one Pod of a node can have,", corev1.LabelHostname, n+surge)
	for _, t := range apart {
		need := n
		if !slices.Contains(t.MatchLabelKeys, appsv1.DefaultDeploymentUniqueLabelKey) {
			need += surge
		}
		limited(s.Counted(t.LabelSelector), "a required podAntiAffinity", t.TopologyKey, need)
	}
}

// domains counts the values of a label on the nodes whose taints the Pods tolerate. Node affinity is not evaluated. If
// no node is known, there are three, the least that survives the loss of one.
func (i *inspection) domains(s *install.Server, key string) int {
	values, nodes := map[string]bool{}, install.Of[*corev1.Node](i.Objects)
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
	if len(nodes) == 0 {
		return 3
	}
	return len(values)
}
