package deploy

// usualDomains is the assumed number of zones, and of nodes, if no node is known. Three is the least that survives
// the loss of one.
const usualDomains = 3

// domains counts the values of a node label.
func (c *cluster) domains(topologyKey string) int {
	values := map[string]bool{}
	for _, n := range c.nodes {
		if v, ok := n.Labels[topologyKey]; ok && !n.Spec.Unschedulable {
			values[v] = true
		}
	}
	if len(c.nodes) == 0 {
		return usualDomains
	}
	return len(values)
}
