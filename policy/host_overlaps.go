package policy

// hostOverlaps finds patterns that have a host in common with another pattern. A look-up takes as many steps as one in
// a hostSet.
type hostOverlaps struct {
	listed []hostPattern
	set    *hostSet
	below  map[string]hostPattern // by the name above it: a host that a wildcard of that name covers
}

// newHostOverlaps returns an index of at least one pattern.
func newHostOverlaps(patterns []hostPattern) *hostOverlaps {
	o := &hostOverlaps{patterns, newHostSet(patterns), map[string]hostPattern{}}
	for _, p := range patterns {
		parent := parentHost(p.name)
		if _, taken := o.below[parent]; !taken && p.depth == hostItself {
			o.below[parent] = p
		}
	}
	return o
}

// hostOverlap is how a host and a pattern overlap.
type hostOverlap uint8

const (
	// noOverlap means that no pattern has a host in common with the one looked up.
	noOverlap hostOverlap = iota
	// overlapCovered means that the pattern covers all that the host stands for.
	overlapCovered
	// overlapOfWildcard means that the host is a wildcard that covers the pattern.
	overlapOfWildcard
	// overlapOfEvery means that the host stands for every host.
	overlapOfEvery
)

// find returns a pattern that overlaps a host of an object, which may be a wildcard or every host, and how it does.
func (o *hostOverlaps) find(host hostPattern) (by hostPattern, how hostOverlap) {
	if host.depth == labelsBelow {
		return o.listed[0], overlapOfEvery
	}
	if by, ok := o.set.covers(host); ok {
		return by, overlapCovered
	}
	if by, ok := o.below[host.name]; ok && host.depth == oneLabelBelow {
		return by, overlapOfWildcard
	}
	return hostPattern{}, noOverlap
}
