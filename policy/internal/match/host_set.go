package match

// HostSet is a set of host patterns. A look-up hashes at most as many names as the host has labels. Its cost does not
// depend on the number of patterns. A nil set is empty.
type HostSet struct {
	patterns map[HostPattern]struct{}
	// lengths contains a bit for the length of each name, by depth. The last bit represents all longer names. With these
	// bits, a look-up rarely hashes a name that is not in the set.
	lengths [LabelsBelow + 1][4]uint64
}

// MakeHostSet returns an empty set with room for n patterns.
func MakeHostSet(n int) *HostSet { return &HostSet{patterns: make(map[HostPattern]struct{}, n)} }

// NewHostSet returns a set of patterns.
func NewHostSet(patterns []HostPattern) *HostSet {
	s := MakeHostSet(len(patterns))
	for _, p := range patterns {
		s.Add(p)
	}
	return s
}

// Add adds a pattern.
func (s *HostSet) Add(p HostPattern) {
	s.patterns[p] = struct{}{}
	n := min(len(p.Name), 255)
	s.lengths[p.Depth][n/64] |= 1 << (n % 64)
}

// Has reports whether p itself is in the set. Covers also finds wider patterns.
func (s *HostSet) Has(p HostPattern) bool {
	n := min(len(p.Name), 255)
	if s == nil || s.lengths[p.Depth][n/64]&(1<<(n%64)) == 0 {
		return false
	}
	_, ok := s.patterns[p]
	return ok
}

// Covers returns a pattern of the set that covers every host of p. ok is false if the set does not have such a pattern.
func (s *HostSet) Covers(p HostPattern) (by HostPattern, ok bool) {
	switch {
	case s.Has(p):
		return p, true
	case p.Depth == HostItself:
		return s.CoversBelow(ParentHost(p.Name))
	}
	return s.deep(p.Name)
}

// CoversBelow returns a pattern of the set that covers every host one label below name. ok is false if the set does not
// have such a pattern.
func (s *HostSet) CoversBelow(name string) (by HostPattern, ok bool) {
	if by = (HostPattern{name, OneLabelBelow}); s.Has(by) {
		return by, true
	}
	return s.deep(name)
}

// deep returns the pattern of the set that has ** in front of name or of the nearest name above it.
func (s *HostSet) deep(name string) (by HostPattern, ok bool) {
	if longer := len(name) - MaxHost; longer > 0 {
		// No pattern has a longer name, so the labels before that cannot match. Skipping them bounds the cost of a look-up.
		name = ParentHost(name[longer-1:])
	}
	for {
		by = HostPattern{name, LabelsBelow}
		if ok = s.Has(by); ok || name == "" {
			return by, ok
		}
		name = ParentHost(name)
	}
}

// HostOverlaps finds patterns that have a host in common with another pattern. A look-up costs as much as in a HostSet.
type HostOverlaps struct {
	listed []HostPattern
	set    *HostSet
	below  map[string]HostPattern // by parent name: a host that a wildcard of one label covers
	under  map[string]HostPattern // by each name above it: a pattern with a host below that name
}

// NewHostOverlaps returns an index of patterns.
func NewHostOverlaps(patterns []HostPattern) *HostOverlaps {
	o := &HostOverlaps{patterns, NewHostSet(patterns), map[string]HostPattern{}, map[string]HostPattern{}}
	for _, p := range patterns {
		for above := p.Name; above != ""; above = ParentHost(above) {
			if _, taken := o.under[above]; !taken && (above != p.Name || p.Depth != HostItself) {
				o.under[above] = p
			}
		}
		parent := ParentHost(p.Name)
		if _, taken := o.below[parent]; !taken && p.Depth == HostItself {
			o.below[parent] = p
		}
	}
	return o
}

// HostOverlap describes how the host of an object and a pattern overlap.
type HostOverlap uint8

// A host and a pattern can overlap in these ways.
const (
	// NoOverlap means that no pattern has a host in common with the host of the object.
	NoOverlap HostOverlap = iota
	// OverlapCovered means that the pattern covers the host completely.
	OverlapCovered
	// OverlapWildcard means that the host is a wildcard that covers the pattern.
	OverlapWildcard
	// OverlapEvery means that the host of the object is the pattern **.
	OverlapEvery
)

// Find returns a pattern that overlaps the host of an object, and how they overlap. The host may be a wildcard or every
// host.
func (o *HostOverlaps) Find(host HostPattern) (by HostPattern, how HostOverlap) {
	if host.IsEvery() && len(o.listed) > 0 {
		return o.listed[0], OverlapEvery
	}
	if by, ok := o.set.Covers(host); ok {
		return by, OverlapCovered
	}
	if by, ok := o.below[host.Name]; ok && host.Depth == OneLabelBelow {
		return by, OverlapWildcard
	}
	if by, ok := o.under[host.Name]; ok && host.Depth == LabelsBelow {
		return by, OverlapWildcard
	}
	return HostPattern{}, NoOverlap
}
