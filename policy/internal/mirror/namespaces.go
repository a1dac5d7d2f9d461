package mirror

import (
	"encoding/binary"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// namespaceIndex finds the entry of a source whose match block a Pod meets. Its keys are the heads of the patterns, so
// a look-up among ten thousand teams with an entry each does not cost more than with one team.
type namespaceIndex map[string][]namespacePattern

// namespacePattern is a pattern in match.namespaces, and its entry.
type namespacePattern struct {
	pattern match.Glob
	mirror  *mirror
}

// find returns the entry whose match block s meets. It returns nil if there is no such entry. Entries do not have
// overlapping namespaces, so the first pattern that matches is the only one.
func (x namespaceIndex) find(s *rule.Subject) *mirror {
	if len(x) == 0 {
		return nil
	}
	for i := range len(s.Namespace) + 1 {
		for _, c := range x[s.Namespace[:i]] {
			if !c.pattern.Match(s.Namespace) {
				continue
			}
			if !c.mirror.Match.Matches(s) {
				return nil
			}
			return c.mirror
		}
	}
	return nil
}

// indexNamespaces builds the indexes of the origins. It adds an error if the namespaces of two entries for one source
// overlap, because it would be undefined which of the entries applies. Sources with the same entries share an index.
// Otherwise an entry with ten thousand sources and ten thousand namespaces would need a hundred million pairs.
func (t *Table) indexNamespaces(e *rule.Comparisons, errs *strict.Collector) {
	shared := map[string]namespaceIndex{}
	var key []byte
	for i := range t.origins {
		o := &t.origins[i]
		if o.withMatch == nil {
			continue
		}
		key = key[:0]
		for _, r := range o.withMatch {
			key = binary.BigEndian.AppendUint32(key, uint32(r.order)) //nolint:gosec // below the limit on entries
		}
		x, known := shared[string(key)]
		if !known {
			all := o.namespacePatterns(e)
			findOverlaps(o.source, all, e, errs)
			x = namespaceIndex{}
			for _, c := range all {
				x[c.pattern.Head()] = append(x[c.pattern.Head()], c)
			}
			shared[string(key)] = x
		}
		if o.index = x; t.stopComparing(o.withMatch[0].mirror, e, errs) {
			return
		}
	}
}

// comparisonsPerPattern is the cost of indexing one pattern, in comparisons. Indexing a pattern allocates 400 bytes and
// keeps 200.
const comparisonsPerPattern = 4

// namespacePatterns returns the patterns of the entries of an origin. A match block without namespaces has the pattern
// *.
func (o *origin) namespacePatterns(e *rule.Comparisons) []namespacePattern {
	n := 0
	for _, r := range o.withMatch {
		n += max(1, len(r.Match.Namespaces))
	}
	if !e.Spend(n * comparisonsPerPattern) {
		return nil
	}
	all := make([]namespacePattern, 0, n)
	for _, r := range o.withMatch {
		if r.Match.Namespaces == nil {
			all = append(all, namespacePattern{"*", r.mirror})
		}
		for _, p := range r.Match.Namespaces {
			all = append(all, namespacePattern{p, r.mirror})
		}
	}
	return all
}
