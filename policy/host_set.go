package policy

// hostSet is many host patterns. A look-up takes at most as many steps as a host has labels, however many patterns
// there are. A nil set is empty.
type hostSet struct {
	patterns map[hostPattern]struct{}
	// lengths has a bit for each length that names of a depth have, the last one for all from there on. Most steps of a
	// look-up end here, and need not hash a name.
	lengths [labelsBelow + 1][4]uint64
}

// makeHostSet returns an empty set with room for n patterns.
func makeHostSet(n int) *hostSet { return &hostSet{patterns: make(map[hostPattern]struct{}, n)} }

func newHostSet(patterns []hostPattern) *hostSet {
	s := makeHostSet(len(patterns))
	for _, p := range patterns {
		s.add(p)
	}
	return s
}

func (s *hostSet) add(p hostPattern) {
	s.patterns[p] = struct{}{}
	n := min(len(p.name), 255)
	s.lengths[p.depth][n/64] |= 1 << (n % 64)
}

func (s *hostSet) has(p hostPattern) bool {
	n := min(len(p.name), 255)
	if s == nil || s.lengths[p.depth][n/64]&(1<<(n%64)) == 0 {
		return false
	}
	_, ok := s.patterns[p]
	return ok
}

// covers returns a pattern of the set that covers every host that p stands for.
func (s *hostSet) covers(p hostPattern) (by hostPattern, ok bool) {
	switch {
	case s.has(p):
		return p, true
	case p.depth == hostItself:
		return s.below(parentHost(p.name))
	}
	return s.deep(p.name)
}

// below returns a pattern of the set that covers every host one label below a name.
func (s *hostSet) below(name string) (by hostPattern, ok bool) {
	if by = (hostPattern{name, oneLabelBelow}); s.has(by) {
		return by, true
	}
	return s.deep(name)
}

// deep returns the pattern of the set that has ** in front of name, or of the nearest name above it.
func (s *hostSet) deep(name string) (by hostPattern, ok bool) {
	if longer := len(name) - maxHost; longer > 0 {
		// No pattern is that long: begin where one can be, so that an endless name does not take endless steps.
		name = parentHost(name[longer-1:])
	}
	for {
		by = hostPattern{name, labelsBelow}
		if ok = s.has(by); ok || name == "" {
			return by, ok
		}
		name = parentHost(name)
	}
}
