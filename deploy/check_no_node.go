package deploy

import "slices"

// noNode checks that at least one node has the labels that the Pods require, and only taints that they tolerate.
func noNode() check {
	return check{
		id: "no-node", severity: Warning,
		finds: "Pods that no node takes, because of its labels or taints",
		why:   "the replicas stay Pending until such a node exists",
		fix: "correct the nodeSelector and the required node affinity, or tolerate the taints. Accept the finding if an " +
			"autoscaler adds such nodes",
		run: eachServer(func(c *cluster, s *server, r *reporter) {
			nodes := c.ordinaryNodes()
			if len(nodes) > 0 && !slices.ContainsFunc(nodes, s.fits) {
				tainted := len(slices.DeleteFunc(slices.Clone(nodes), s.tolerates))
				r.warning(s.ref, "none of the %d nodes takes its Pods: %d have a taint that the Pods do not tolerate, and the "+
					"labels of the others do not match", len(nodes), tainted)
			}
		}),
	}
}
