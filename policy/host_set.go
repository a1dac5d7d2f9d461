package policy

// hostSet is many host patterns. A look-up takes at most as many steps as a host has labels, however many patterns
// there are. A nil set is empty.
type hostSet struct {
	patterns map[hostPattern]struct{}
	// lengths has a bit for each length that names of a depth have, the last one for all from there on. Most steps of a
	// look-up end here, and need not hash a name.
	lengths [labelsBelow + 1][4]uint64
}

func newHostSet(patterns []hostPattern) *hostSet {
	s := &hostSet{patterns: make(map[hostPattern]struct{}, len(patterns))}
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

// hostLookup asks a set about one host of an Ingress after the other. It remembers the last domain all of which is covered, in
// which the next host mostly lies too. One that is not covered is looked for each time: it is found fault with, which costs more.
type hostLookup struct {
	set     *hostSet
	domain  string
	covered bool // whether a pattern covers every host one label below domain
}

// has says whether a pattern of the set covers every host that h stands for.
func (l *hostLookup) has(h *ingressHost) bool {
	return l.covered && h.depth == hostItself && h.domain == l.domain || l.ask(h)
}

func (l *hostLookup) ask(h *ingressHost) (ok bool) {
	if h.depth != hostItself || l.set.has(h.hostPattern) {
		_, ok = l.set.covers(h.hostPattern)
		return ok
	}
	l.domain = h.domain
	_, l.covered = l.set.below(l.domain)
	return l.covered
}

// hostNames returns patterns as they are written in sentences.
func hostNames(patterns []hostPattern) []string {
	names := make([]string, len(patterns))
	for i, p := range patterns {
		names[i] = p.String()
	}
	return names
}
