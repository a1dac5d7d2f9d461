package policy

// hostSet is many host patterns. A look-up takes at most as many steps as a host has labels, however many patterns
// there are.
type hostSet map[hostPattern]struct{}

func newHostSet(patterns []hostPattern) hostSet {
	s := make(hostSet, len(patterns))
	for _, p := range patterns {
		s[p] = struct{}{}
	}
	return s
}

func (s hostSet) has(p hostPattern) bool {
	_, ok := s[p]
	return ok
}

// covers returns a pattern of the set that covers every host that p stands for.
func (s hostSet) covers(p hostPattern) (by hostPattern, ok bool) {
	if s.has(p) {
		return p, true
	}
	above := p.name
	if p.depth == hostItself {
		above = parentHost(p.name)
		if by = (hostPattern{above, oneLabelBelow}); s.has(by) {
			return by, true
		}
	}
	return s.deep(above)
}

// deep returns the pattern of the set that has ** in front of name, or of the nearest name above it.
func (s hostSet) deep(name string) (by hostPattern, ok bool) {
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

// hostNames returns patterns as they are written in sentences.
func hostNames(patterns []hostPattern) []string {
	names := make([]string, len(patterns))
	for i, p := range patterns {
		names[i] = p.String()
	}
	return names
}
