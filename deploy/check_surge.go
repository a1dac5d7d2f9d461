package deploy

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// surge checks that all replicas and the Pods that a rollout adds can be scheduled. Three kinds of rules may prevent
// that. A required anti-affinity between the Pods needs a domain (node, zone) for each Pod. A strict spread with more
// minDomains than there are domains allows only maxSkew Pods in each domain. Ports of the host need a node for each
// Pod, and are checked only if nodes are known. Rules with matchLabelKeys: [pod-template-hash] count the Pods of one
// revision, so replicas of the old revision do not get in the way. The domains are counted among the nodes that take
// the Pods. If no node is known, there are three.
func surge() check {
	return check{
		id: "surge", severity: Error,
		finds: "spread rules that a rollout cannot satisfy",
		why: "the Pod that the rollout adds stays Pending, and the rollout does not remove another Pod before the " +
			"new one is ready. The release, the new certificate authority or the security fix never arrives, and " +
			"nothing reports an error",
		fix: "spread Pods over zones with DoNotSchedule and over nodes with ScheduleAnyway, both with " +
			"matchLabelKeys: [pod-template-hash], and do not use a required anti-affinity. In the host network, use " +
			"more nodes than replicas",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			for _, rule := range s.spreadRules(len(c.nodes) > 0) {
				domains, need := c.domains(s, rule.topologyKey), s.atOnce(rule.perRevision)
				if room := rule.room(domains); room < need {
					r.error(s.ref, "%s lets %d Pods be scheduled on %d domains of %s, and a rollout needs %d",
						rule.name, room, domains, rule.topologyKey, need)
				}
			}
		}),
	}
}

// spreadRule limits how many Pods can be scheduled.
type spreadRule struct {
	name        string
	topologyKey string
	perDomain   int // Pods that fit into one domain
	minDomains  int // no limit applies with this many domains; 0: the limit always applies
	perRevision bool
}

// room returns how many Pods can be scheduled on a number of domains.
func (r *spreadRule) room(domains int) int {
	if r.minDomains > 0 && domains >= r.minDomains {
		return maxPods
	}
	return domains * r.perDomain
}

// maxPods represents no limit. It is more than any Deployment has.
const maxPods = 1 << 20

func (s *server) spreadRules(nodesKnown bool) []spreadRule {
	var rules []spreadRule
	for _, t := range s.pod.TopologySpreadConstraints {
		if t.WhenUnsatisfiable == corev1.DoNotSchedule && t.MinDomains != nil && s.counted(t.LabelSelector) {
			rules = append(rules, spreadRule{"a topologySpreadConstraint with minDomains", t.TopologyKey,
				int(t.MaxSkew), int(*t.MinDomains), hasRevision(t.MatchLabelKeys)})
		}
	}
	if nodesKnown && s.hasHostPort() {
		rules = append(rules, spreadRule{"a port of the host, which one Pod of a node can have,", corev1.LabelHostname, 1, 0,
			false})
	}
	if a := s.pod.Affinity; a != nil && a.PodAntiAffinity != nil {
		for _, t := range a.PodAntiAffinity.RequiredDuringSchedulingIgnoredDuringExecution {
			if s.counted(t.LabelSelector) {
				rules = append(rules, spreadRule{"a required podAntiAffinity", t.TopologyKey, 1, 0, hasRevision(t.MatchLabelKeys)})
			}
		}
	}
	return rules
}

// hasHostPort reports whether the Pods use ports of their node. The scheduler gives such a port to one Pod of each
// node.
func (s *server) hasHostPort() bool {
	return slices.ContainsFunc(s.allContainers(), func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(p corev1.ContainerPort) bool { return s.pod.HostNetwork || p.HostPort != 0 })
	})
}

func hasRevision(keys []string) bool {
	return slices.Contains(keys, appsv1.DefaultDeploymentUniqueLabelKey)
}

// atOnce returns how many Pods have to be scheduled at the same time.
func (s *server) atOnce(perRevision bool) int {
	if perRevision {
		return s.replicas()
	}
	_, surge := s.rollout()
	return s.replicas() + surge
}
