package deploy

import (
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// surge: all replicas, and those that a roll-out adds, can be scheduled. Three kinds of rules may forbid it: a required
// anti-affinity between the Pods, which takes a domain (node, zone) for each; a strict spread with more
// minDomains than there are domains, which lets only maxSkew Pods into each; and ports of the host, which take a node
// for each, and are looked at where nodes are known. Rules with matchLabelKeys:
// [pod-template-hash] count the Pods of one revision, so that replicas of the old one do not stand in the way.
// Domains are counted among the nodes of the inventory; without nodes there are three.
func surge() check {
	return check{
		id: "surge", severity: Error,
		finds: "spreading that a roll-out cannot satisfy",
		why: "the Pod that the roll-out adds stays Pending, and none goes before it is ready: the release, a new " +
			"certificate authority, a security fix never arrive, without an error",
		fix: "spread zones by DoNotSchedule and nodes by ScheduleAnyway, both with matchLabelKeys: " +
			"[pod-template-hash], and no required anti-affinity; in the host's network have a node more than replicas",
		run: func(c *cluster, r *reporter) {
			for _, s := range c.servers {
				for _, rule := range s.spreadRules(len(c.nodes) > 0) {
					domains, need := c.domains(rule.topologyKey), s.atOnce(rule.perRevision)
					if room := rule.room(domains); room < need {
						r.error(s.ref, "%s lets %d Pods be scheduled on %d domains of %s, and a roll-out needs %d",
							rule.name, room, domains, rule.topologyKey, need)
					}
				}
			}
		},
	}
}

// spreadRule limits how many Pods fit.
type spreadRule struct {
	name        string
	topologyKey string
	perDomain   int // Pods that fit into each
	minDomains  int // with so many domains, there is no limit; 0: always the limit
	perRevision bool
}

// room returns how many Pods fit.
func (r *spreadRule) room(domains int) int {
	if r.minDomains > 0 && domains >= r.minDomains {
		return maxPods
	}
	return domains * r.perDomain
}

// maxPods stands for no limit: more than any Deployment has.
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

// hasHostPort reports whether a port of the nodes is taken, which the scheduler gives to one Pod a node.
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
