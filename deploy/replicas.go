package deploy

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/evergate/evergate/deploy/install"
)

// replicas inspects whether enough replicas keep running: during rollouts, drains and the loss of a node or a zone.
func (i *inspection) replicas() {
	for _, r := range i.Replaced {
		i.error("duplicate-deployment", r[1], "it replaces the Deployment with the same name at %s: remove that Deployment",
			r[0].Source)
	}
	fewReplicas := Warning
	if slices.ContainsFunc(i.Hooks, (*install.Hook).Closed) {
		fewReplicas = Error
	}
	for _, s := range i.Servers {
		if n := s.Replicas(); n < 2 {
			why := ""
			if scaler := s.Scaler(); scaler != nil {
				why = ", which is the minimum of " + i.Ref(scaler).String()
			}
			i.add("single-replica", fewReplicas, s.Ref, "replicas is %d%s", n, why)
		}
		i.duplicate(s)
		i.rollout(s)
		i.budget(s)
		i.quotas(s)
		i.spread(s)
		i.surge(s)
	}
}

// duplicate reports a Deployment next to the one to keep.
func (i *inspection) duplicate(s *install.Server) {
	keep := i.Main()
	if s == keep {
		return
	}
	why := ""
	for _, h := range i.Hooks {
		if keep.Behind(h.Called) && !s.Behind(h.Called) {
			why = ", whose Pods " + i.Ref(h.Called).String() + " does not select"
			break
		}
	}
	i.warning("duplicate-deployment", s.Ref, "it runs evergate serve, and so does %s: remove %s%s", keep.Ref, s.Ref, why)
}

// rollout inspects whether a new replica is ready before an old replica stops.
func (i *inspection) rollout(s *install.Server) {
	if s.Spec.Paused {
		i.error("rollout", s.Ref, "it is paused, so a new installation gets no replicas, and a change has no effect")
	}
	n := s.Replicas()
	switch unavailable, _ := s.Rollout(n); {
	case unavailable == 0 || n < 2:
	case unavailable >= n:
		i.error("rollout", s.Ref, "its strategy may remove all %d replicas at the same time", n)
	default:
		i.warning("rollout", s.Ref, "its strategy may remove %d of %d replicas before their replacements are ready",
			unavailable, n)
	}
}

// budget inspects whether exactly one PodDisruptionBudget selects the Pods and lets nodes be drained. A budget for one
// replica would block its drain. Annotations of autoscalers make them keep a node while the Pod runs on it, although the
// budget allows the eviction.
func (i *inspection) budget(s *install.Server) {
	const id = "disruption-budget"
	for _, keeping := range [][2]string{
		{"cluster-autoscaler.kubernetes.io/safe-to-evict", "false"},
		{"karpenter.sh/do-not-disrupt", "true"},
		{"karpenter.sh/do-not-evict", "true"},
	} {
		if key, value := keeping[0], keeping[1]; s.Spec.Template.Annotations[key] == value {
			i.warning(id, s.Ref, "the annotation %s: %q of its Pod template keeps every node with a replica from being replaced",
				key, value)
		}
	}
	n := s.Replicas()
	switch {
	case n < 2:
		return
	case len(s.Budgets) == 0:
		i.warning(id, s.Ref, "no PodDisruptionBudget selects its Pods")
		return
	case len(s.Budgets) > 1:
		i.error(id, i.Ref(s.Budgets[1]), "its Pods are selected by %s too", i.Ref(s.Budgets[0]))
		return
	}
	at, b := i.Ref(s.Budgets[0]), &s.Budgets[0].Spec
	mayGo, limit := n, "without a limit it"
	switch { // the API server rounds both up
	case b.MaxUnavailable != nil:
		mayGo, limit = install.Scaled(b.MaxUnavailable, n, true), "maxUnavailable: "+b.MaxUnavailable.String()
	case b.MinAvailable != nil:
		mayGo, limit = n-install.Scaled(b.MinAvailable, n, true), "minAvailable: "+b.MinAvailable.String()
	}
	switch {
	case mayGo <= 0:
		i.error(id, at, "%s does not let any of the %d replicas of %s be evicted", limit, n, s.Ref)
	case mayGo >= n:
		i.error(id, at, "%s lets all %d replicas of %s be evicted at the same time", limit, n, s.Ref)
	}
	if b.UnhealthyPodEvictionPolicy == nil || *b.UnhealthyPodEvictionPolicy != policyv1.AlwaysAllow {
		i.warning(id, at, "unhealthyPodEvictionPolicy is not AlwaysAllow: a replica that never becomes ready holds up the drain "+
			"of its node")
	}
}

// spread inspects whether the replicas are spread over zones and nodes, and whether a requirement keeps them in one.
func (i *inspection) spread(s *install.Server) {
	affinity := cmp.Or(s.Pod.Affinity, &corev1.Affinity{})
	anti := cmp.Or(affinity.PodAntiAffinity, &corev1.PodAntiAffinity{})
	apart := anti.RequiredDuringSchedulingIgnoredDuringExecution
	for _, t := range anti.PreferredDuringSchedulingIgnoredDuringExecution {
		apart = append(apart, t.PodAffinityTerm)
	}
	for _, key := range []string{corev1.LabelTopologyZone, corev1.LabelHostname} {
		spreads := counts(s, apart, key) ||
			slices.ContainsFunc(s.Pod.TopologySpreadConstraints, func(t corev1.TopologySpreadConstraint) bool {
				return t.TopologyKey == key && s.Counted(t.LabelSelector)
			})
		if s.Replicas() > 1 && !spreads {
			i.warning("spread", s.Ref, "its %d replicas are not spread across %s", s.Replicas(), key)
		}
	}
	if s.Pod.NodeName != "" {
		i.warning("spread", s.Ref, "its nodeName is %s: all its Pods run on one node", install.Printable(s.Pod.NodeName))
		return
	}
	together := cmp.Or(affinity.PodAffinity, &corev1.PodAffinity{}).RequiredDuringSchedulingIgnoredDuringExecution
	for _, key := range []string{corev1.LabelHostname, corev1.LabelTopologyZone, corev1.LabelFailureDomainBetaZone} {
		one := "all of them run in one zone"
		if key == corev1.LabelHostname {
			one = "all of them run on one node"
		}
		if place := onlyPlace(s, key); place != "" {
			i.warning("spread", s.Ref, "it selects only nodes with %s=%s: %s", key, install.Printable(place), one)
			return // a node is in one zone
		}
		if counts(s, together, key) {
			i.warning("spread", s.Ref, "a required podAffinity keeps its Pods together by %s: %s", key, one)
			return
		}
	}
}

// counts reports whether a term of a Pod affinity is about a node label and selects the Deployment's own Pods.
func counts(s *install.Server, terms []corev1.PodAffinityTerm, key string) bool {
	return slices.ContainsFunc(terms, func(t corev1.PodAffinityTerm) bool {
		return t.TopologyKey == key && s.Counted(t.LabelSelector)
	})
}

// onlyPlace returns the value of a node label if the Pods can be scheduled only to nodes with this value, or "" if other
// values are possible. A node has to meet at least one term, and all requirements of the term.
func onlyPlace(s *install.Server, key string) string {
	if value, ok := s.Pod.NodeSelector[key]; ok {
		return value
	}
	var places []string
	for _, term := range requiredNodes(s) {
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

// requiredNodes returns the terms of the required node affinity of the Pods.
func requiredNodes(s *install.Server) []corev1.NodeSelectorTerm {
	node := cmp.Or(cmp.Or(s.Pod.Affinity, &corev1.Affinity{}).NodeAffinity, &corev1.NodeAffinity{})
	return cmp.Or(node.RequiredDuringSchedulingIgnoredDuringExecution, &corev1.NodeSelector{}).NodeSelectorTerms
}

// room is a rule that limits how many Pods can be scheduled.
type room struct {
	name, key   string
	perDomain   int // Pods that fit into one domain (node, zone)
	minDomains  int // no limit applies with this many domains; 0: the limit always applies
	perRevision bool
}

// surge inspects whether all replicas and the Pods that a rollout adds can be scheduled. Ports of the host are checked
// only if nodes are known. Rules with matchLabelKeys: [pod-template-hash] count the Pods of one revision, so replicas of
// the old revision do not get in the way.
func (i *inspection) surge(s *install.Server) {
	var rules []room
	revision := func(keys []string) bool { return slices.Contains(keys, appsv1.DefaultDeploymentUniqueLabelKey) }
	for _, t := range s.Pod.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule && t.MinDomains != nil && s.Counted(t.LabelSelector) {
			rules = append(rules, room{"a topologySpreadConstraint with minDomains", t.TopologyKey, int(t.MaxSkew),
				int(*t.MinDomains), revision(t.MatchLabelKeys)})
		}
	}
	// AWS Fargate has its own scheduler, and creates a node for each Pod.
	nodes := install.Filter(install.Of[*corev1.Node](i.Objects), func(n *corev1.Node) bool {
		return n.Labels["eks.amazonaws.com/compute-type"] != "fargate"
	})
	hostPort := slices.ContainsFunc(s.AllContainers(), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return s.Pod.HostNetwork || p.HostPort != 0 })
	})
	if len(nodes) > 0 && hostPort {
		rules = append(rules, room{"a port of the host, which one Pod of a node can have,", corev1.LabelHostname, 1, 0, false})
	}
	anti := cmp.Or(cmp.Or(s.Pod.Affinity, &corev1.Affinity{}).PodAntiAffinity, &corev1.PodAntiAffinity{})
	for _, t := range anti.RequiredDuringSchedulingIgnoredDuringExecution {
		if s.Counted(t.LabelSelector) {
			rules = append(rules, room{"a required podAntiAffinity", t.TopologyKey, 1, 0, revision(t.MatchLabelKeys)})
		}
	}
	for _, r := range rules {
		domains, need := domainsOf(nodes, s, r.key), s.Replicas()
		if _, surge := s.Rollout(need); !r.perRevision {
			need += surge
		}
		if limited := r.minDomains == 0 || domains < r.minDomains; limited && domains*r.perDomain < need {
			i.error("surge", s.Ref, "%s lets %d Pods be scheduled on %d domains of %s, and a rollout needs %d", r.name,
				domains*r.perDomain, domains, r.key, need)
		}
	}
}

// domainsOf counts the values of a label on the nodes that take the Pods. If no node is known, there are three, the
// least that survives the loss of one.
func domainsOf(nodes []*corev1.Node, s *install.Server, key string) int {
	if len(nodes) == 0 {
		return 3
	}
	values := map[string]bool{}
	for _, n := range nodes {
		tainted := slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool {
			return taint.Effect != corev1.TaintEffectPreferNoSchedule &&
				!slices.ContainsFunc(s.Pod.Tolerations, func(t corev1.Toleration) bool {
					exists := t.Operator == corev1.TolerationOpExists
					return (t.Key == taint.Key || t.Key == "" && exists) && (exists || t.Value == taint.Value) &&
						(t.Effect == "" || t.Effect == taint.Effect)
				})
		})
		terms := requiredNodes(s)
		selected := labels.SelectorFromSet(s.Pod.NodeSelector).Matches(labels.Set(n.Labels)) &&
			(len(terms) == 0 || slices.ContainsFunc(terms, func(t corev1.NodeSelectorTerm) bool { return meets(n, t) }))
		if v, ok := n.Labels[key]; ok && !n.Spec.Unschedulable && !tainted && selected {
			values[v] = true
		}
	}
	return len(values)
}

// meets reports whether a node meets all requirements of a term. No node meets a term without requirements.
func meets(n *corev1.Node, term corev1.NodeSelectorTerm) bool {
	fails := func(set labels.Set) func(corev1.NodeSelectorRequirement) bool {
		return func(q corev1.NodeSelectorRequirement) bool {
			operator := map[corev1.NodeSelectorOperator]selection.Operator{
				corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
				corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
				corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
			}[q.Operator]
			requirement, err := labels.NewRequirement(q.Key, operator, q.Values)
			return err != nil || !requirement.Matches(set)
		}
	}
	return len(term.MatchExpressions)+len(term.MatchFields) > 0 &&
		!slices.ContainsFunc(term.MatchExpressions, fails(n.Labels)) &&
		!slices.ContainsFunc(term.MatchFields, fails(labels.Set{"metadata.name": n.Name}))
}
