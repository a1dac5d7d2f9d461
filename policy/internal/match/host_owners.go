package match

import (
	"cmp"
	"iter"
	"slices"
	"strings"
)

// HostOwners maps hosts to owners. A host belongs to the owner of the most specific pattern that covers it. The most
// specific pattern is the host itself, then *. of the name above it, then **. of the nearest name above it. Owners are
// numbers.
type HostOwners struct {
	patterns map[HostPattern]int
	// sorted contains the patterns in the order of their names, read from the last label to the first. Patterns below the
	// same name are therefore next to each other.
	sorted   []ownedHost
	children map[string][]ownedHost // the hosts without stars, by the name one label above them
}

// ownedHost is a pattern and its owner.
type ownedHost struct {
	HostPattern
	owner int
	key   string // the labels of the name from the last to the first, each followed by a dot
	next  int    // the index in the list of the next pattern with another owner
}

// NewHostOwners returns the owners of patterns. Each pattern must occur only once.
func NewHostOwners(all iter.Seq2[HostPattern, int]) *HostOwners {
	o := &HostOwners{patterns: map[HostPattern]int{}, children: map[string][]ownedHost{}}
	for p, owner := range all {
		o.patterns[p] = owner
		o.sorted = append(o.sorted, ownedHost{HostPattern: p, owner: owner, key: reversedLabels(p.Name)})
	}
	slices.SortFunc(o.sorted, func(a, b ownedHost) int {
		return cmp.Or(strings.Compare(a.key, b.key), cmp.Compare(a.Depth, b.Depth))
	})
	for _, h := range o.sorted {
		if h.Depth == HostItself {
			parent := ParentHost(h.Name)
			o.children[parent] = append(o.children[parent], h)
		}
	}
	linkRuns(o.sorted)
	for _, list := range o.children {
		linkRuns(list)
	}
	return o
}

// linkRuns sets next in each element. A search then visits an owner only once for each run of its patterns.
func linkRuns(list []ownedHost) {
	for i := len(list) - 1; i >= 0; i-- {
		list[i].next = i + 1
		if i+1 < len(list) && list[i+1].owner == list[i].owner {
			list[i].next = list[i+1].next
		}
	}
}

// reversedLabels returns the labels of a name from the last to the first, each followed by a dot.
func reversedLabels(name string) string {
	var reversed strings.Builder
	for name != "" {
		dot := strings.LastIndexByte(name, '.')
		reversed.WriteString(name[dot+1:])
		reversed.WriteByte('.')
		name = name[:max(dot, 0)]
	}
	return reversed.String()
}

// Find yields the owners of the hosts that p represents, each with one of its patterns. It may yield an owner several
// times. It skips an owner if each of these hosts has a more specific owner.
func (o *HostOwners) Find(p HostPattern) iter.Seq2[HostPattern, int] {
	return func(yield func(HostPattern, int) bool) {
		if p.Depth == HostItself {
			if owner, ok := o.patterns[p]; ok {
				yield(p, owner)
				return
			}
			p = HostPattern{ParentHost(p.Name), OneLabelBelow}
		} else {
			list, from, to := o.below(p)
			for i := from; i < to; i = list[i].next {
				if !yield(list[i].HostPattern, list[i].owner) {
					return
				}
			}
		}
		if by, owner, ok := o.above(p); ok {
			yield(by, owner)
		}
	}
}

// below returns the patterns that share hosts with the wildcard p and are more specific than p. They are list[from:to].
func (o *HostOwners) below(p HostPattern) (list []ownedHost, from, to int) {
	switch {
	case p.Depth == OneLabelBelow:
		list = o.children[p.Name]
		return list, 0, len(list)
	case len(p.Name) > MaxHost: // no pattern has a longer name
		return nil, 0, 0
	}
	key := reversedLabels(p.Name)
	from, _ = slices.BinarySearchFunc(o.sorted, key, func(h ownedHost, key string) int {
		return strings.Compare(h.key, key)
	})
	below, _ := slices.BinarySearchFunc(o.sorted[from:], key, func(h ownedHost, key string) int {
		if strings.HasPrefix(h.key, key) {
			return -1
		}
		return 1
	})
	to = from + below
	if from < to && o.sorted[from].HostPattern == (HostPattern{p.Name, HostItself}) {
		from++ // a wildcard does not cover its own name
	}
	return o.sorted, from, to
}

// above returns the most specific pattern that covers the whole wildcard p, and its owner. More specific patterns may
// cover parts of p.
func (o *HostOwners) above(p HostPattern) (HostPattern, int, bool) {
	if owner, ok := o.patterns[p]; ok {
		return p, owner, true
	}
	name := p.Name
	if longer := len(name) - MaxHost; longer > 0 {
		name = ParentHost(name[longer-1:]) // no pattern has a longer name
	}
	for {
		by := HostPattern{name, LabelsBelow}
		if owner, ok := o.patterns[by]; ok || name == "" {
			return by, owner, ok
		}
		name = ParentHost(name)
	}
}
