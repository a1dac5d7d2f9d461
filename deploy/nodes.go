package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// usualDomains is the assumed number of zones, and of nodes, if no node is known. Three is the least that survives
// the loss of one.
const usualDomains = 3

// domains counts the values of a node label on the nodes that take the Pods of a server.
func (c *cluster) domains(s *server, topologyKey string) int {
	values := map[string]bool{}
	for _, n := range c.ordinaryNodes() {
		if v, ok := n.Labels[topologyKey]; ok && !n.Spec.Unschedulable && s.fits(n) {
			values[v] = true
		}
	}
	if len(c.ordinaryNodes()) == 0 {
		return usualDomains
	}
	return len(values)
}

// ordinaryNodes returns the nodes that are not nodes of AWS Fargate. Fargate has its own scheduler, and creates a node
// for each Pod.
func (c *cluster) ordinaryNodes() []*corev1.Node {
	return slices.DeleteFunc(slices.Clone(c.nodes), isFargate)
}

func isFargate(n *corev1.Node) bool { return n.Labels["eks.amazonaws.com/compute-type"] == "fargate" }

// fits reports whether the labels and the taints of a node let the Pods of a server run on it.
func (s *server) fits(n *corev1.Node) bool { return s.selects(n) && s.tolerates(n) }

// selects reports whether a node has the labels that the Pods require.
func (s *server) selects(n *corev1.Node) bool {
	required := s.requiredNodes()
	return labels.SelectorFromSet(s.pod.NodeSelector).Matches(labels.Set(n.Labels)) &&
		(required == nil || slices.ContainsFunc(required.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
			return meets(n, term)
		}))
}

// requiredNodes returns the required node affinity of the Pods, or nil.
func (s *server) requiredNodes() *corev1.NodeSelector {
	if s.pod.Affinity == nil || s.pod.Affinity.NodeAffinity == nil {
		return nil
	}
	return s.pod.Affinity.NodeAffinity.RequiredDuringSchedulingIgnoredDuringExecution
}

// meets reports whether a node meets all requirements of a term. No node meets a term without requirements.
func meets(n *corev1.Node, term corev1.NodeSelectorTerm) bool {
	fails := func(set labels.Set) func(corev1.NodeSelectorRequirement) bool {
		return func(q corev1.NodeSelectorRequirement) bool { return !holds(q, set) }
	}
	return len(term.MatchExpressions)+len(term.MatchFields) > 0 &&
		!slices.ContainsFunc(term.MatchExpressions, fails(n.Labels)) &&
		!slices.ContainsFunc(term.MatchFields, fails(labels.Set{"metadata.name": n.Name}))
}

// holds reports whether a requirement holds for a set of labels or fields.
func holds(q corev1.NodeSelectorRequirement, set labels.Set) bool {
	operator := map[corev1.NodeSelectorOperator]selection.Operator{
		corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
		corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
		corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
	}[q.Operator]
	requirement, err := labels.NewRequirement(q.Key, operator, q.Values)
	return err == nil && requirement.Matches(set)
}

// tolerates reports whether the Pods of a server tolerate all taints of a node that keep new Pods off.
func (s *server) tolerates(n *corev1.Node) bool {
	return !slices.ContainsFunc(n.Spec.Taints, func(taint corev1.Taint) bool {
		return taint.Effect != corev1.TaintEffectPreferNoSchedule &&
			!slices.ContainsFunc(s.pod.Tolerations, func(t corev1.Toleration) bool {
				exists := t.Operator == corev1.TolerationOpExists
				return (t.Key == taint.Key || t.Key == "" && exists) && (exists || t.Value == taint.Value) &&
					(t.Effect == "" || t.Effect == taint.Effect)
			})
	})
}
