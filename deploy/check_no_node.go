package deploy

import "slices"

// noNode checks that at least one node has the labels that the Pods require, and only taints that they tolerate. The
// scheduler does not place Pods that have scheduling gates.
func noNode() check {
	return check{
		id: "no-node", severity: Warning,
		finds: "Pods that no node takes, because of its labels or taints, or because of their scheduling gates",
		why:   "the replicas stay Pending until such a node exists, or until a controller removes the gates",
		fix: "correct the nodeSelector and the required node affinity, tolerate the taints, or remove schedulingGates. " +
			"Accept the finding if an autoscaler adds such nodes or a controller removes the gates",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			for _, gate := range s.pod.SchedulingGates {
				r.warning(s.ref, "its Pods have the scheduling gate %s", printable(gate.Name))
			}
			nodes := c.ordinaryNodes()
			if len(nodes) > 0 && !slices.ContainsFunc(nodes, s.fits) {
				tainted := len(slices.DeleteFunc(slices.Clone(nodes), s.tolerates))
				r.warning(s.ref, "none of the %d nodes takes its Pods: %d have a taint that the Pods do not tolerate, and the "+
					"labels of the others do not match", len(nodes), tainted)
			}
		}),
	}
}
