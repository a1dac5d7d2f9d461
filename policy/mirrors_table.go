package policy

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// mirrorTable finds the route of an image. The cost depends on the length of the image's name, not on the number of
// routes.
//
// Each garbage collection follows all pointers of a policy. Ten thousand mirrors as a hundred thousand allocations
// would be a tenth of the cost of a review, so all mirrors are one allocation, as are all routes and all origins:
// slices with their final capacity, whose elements pointers can refer to. The texts of places are one string. The names
// of entries are not part of it: metrics keep a name for good, and would keep the whole string.
type mirrorTable struct {
	mirrors    []mirror
	routes     []route
	origins    []origin
	texts      strings.Builder // of sources and mirrors
	strictest  Mode            // of the mirrors; Off when there are none
	slashes    int             // the most that a source or mirror has: look-ups of deeper names begin there
	dots       int             // the most that the domain of a wildcard has
	limitFiled bool            // comparing the entries exceeded the limit, and that is filed

	places       map[string]*origin         // by the place that is the source
	wildcards    map[match.Wildcard]*origin // by the wildcard that is the source
	ends         map[string]*mirror         // by the place where routes end; of several entries the first
	wildcardEnds map[end]*mirror            // by the end of routes with a wildcard; of several entries the first
}

// compileMirrors builds the table of the entries in force, and files errors about conflicts between them.
func compileMirrors(entries []mirrorEntry, e *comparisons, errs *strict.Collector) *mirrorTable {
	t := newMirrorTable(entries)
	for i := range entries {
		if e.pollDone() {
			return t
		}
		if entries[i].Mode != Off {
			t.add(&entries[i], errs)
		}
	}
	t.indexNamespaces(e, errs)
	t.refuseLoops(e, errs)
	t.refuseCollisions(e, errs)
	for i := range t.mirrors {
		t.mirrors[i].Pos = strict.Pos{} // only errors need it, and all are filed
	}
	return t
}

// newMirrorTable returns an empty table with room for entries.
func newMirrorTable(entries []mirrorEntry) *mirrorTable {
	sources, texts := 0, 0
	for i := range entries {
		e := &entries[i]
		sources += len(e.Sources)
		texts += len(e.Mirror.place)
		for _, s := range e.Sources {
			texts += len(s.place)
		}
	}
	t := &mirrorTable{
		mirrors: make([]mirror, 0, len(entries)),
		routes:  make([]route, 0, sources),
		origins: make([]origin, 0, sources),
		places:  map[string]*origin{}, wildcards: map[match.Wildcard]*origin{},
		ends: map[string]*mirror{}, wildcardEnds: map[end]*mirror{},
	}
	t.texts.Grow(texts)
	return t
}

// intern returns a copy of s that is part of texts.
func (t *mirrorTable) intern(s string) string {
	start := t.texts.Len()
	t.texts.WriteString(s)
	return t.texts.String()[start:]
}

// len returns how many entries are in force.
func (t *mirrorTable) len() int { return len(t.mirrors) }

// rewritesDockerHub returns the entry in mode enforce that has the source docker.io and no match; empty for none.
func (t *mirrorTable) rewritesDockerHub() string {
	if o := t.places[match.DockerHub]; o != nil && o.withoutMatch != nil && o.withoutMatch.Mode == Enforce {
		return string(o.withoutMatch.Name)
	}
	return ""
}

// strictestMode implements rules.
func (t *mirrorTable) strictestMode() Mode { return t.strictest }

// mirrorPlaces returns the places of the mirrors, each once, in the order of their names.
func (t *mirrorTable) mirrorPlaces() []string {
	var places []string
	for i := range t.mirrors {
		places = append(places, t.mirrors[i].to.place)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// add adds an entry in force.
func (t *mirrorTable) add(e *mirrorEntry, errs *strict.Collector) {
	t.mirrors = append(t.mirrors, newMirror(e, len(t.mirrors)))
	m := &t.mirrors[len(t.mirrors)-1]
	m.to.place = t.intern(m.to.place)
	t.strictest = max(t.strictest, e.Mode)
	for _, s := range e.Sources {
		s.place = t.intern(s.place)
		t.routes = append(t.routes, newRoute(m, s))
		r := &t.routes[len(t.routes)-1]
		t.addEnd(r.end(), m)
		t.dots = max(t.dots, strings.Count(s.wild.Domain, "."))
		// 1, since a route with a wildcard ends one segment below its base.
		t.slashes = max(t.slashes, strings.Count(s.place, "/"), strings.Count(r.base, "/")+1)
		switch o := t.origin(s); {
		case e.Match != nil:
			o.withMatch = append(o.withMatch, r)
		case o.withoutMatch == nil:
			o.withoutMatch = r
		default:
			errs.Errorf(e.Pos, "the source %s is taken by %s: give one of the two entries a match, "+
				"or another source", s, o.withoutMatch.where())
		}
	}
}

// addEnd adds the end of a route, unless an earlier entry has it.
func (t *mirrorTable) addEnd(e end, m *mirror) {
	switch {
	case e.wild != (match.Wildcard{}):
		if t.wildcardEnds[e] == nil {
			t.wildcardEnds[e] = m
		}
	case t.ends[e.place] == nil:
		t.ends[e.place] = m
	}
}

// origin returns the origin of a source. It adds the origin if there is none.
func (t *mirrorTable) origin(s source) *origin {
	o := t.places[s.place]
	if s.place == "" {
		o = t.wildcards[s.wild]
	}
	if o != nil {
		return o
	}
	t.origins = append(t.origins, origin{source: s})
	o = &t.origins[len(t.origins)-1]
	if s.place == "" {
		t.wildcards[s.wild] = o
	} else {
		t.places[s.place] = o
	}
	return o
}

// covering yields the origins that cover a name, the longest source first and wildcards last.
func (t *mirrorTable) covering(name string) iter.Seq[*origin] {
	return func(yield func(*origin) bool) {
		for place := range match.Ancestors(match.UpToSlash(name, t.slashes)) {
			if o := t.places[place]; o != nil && !yield(o) {
				return
			}
		}
		if len(t.wildcards) == 0 {
			return
		}
		registry, _, _ := strings.Cut(name, "/")
		for w := range match.Wildcards(registry, t.dots) {
			if o := t.wildcards[w]; o != nil && !yield(o) {
				return
			}
		}
	}
}

// standsAt returns the entry at whose mirror an image of that name is, and the mirror's place; nil where there is none.
func (t *mirrorTable) standsAt(name string) (m *mirror, place string) {
	for place := range match.Ancestors(match.UpToSlash(name, t.slashes)) {
		if m := t.ends[place]; m != nil {
			return m, place
		}
		if len(t.wildcardEnds) == 0 {
			continue
		}
		for e := range endsAtUpTo(place, t.dots) {
			if m := t.wildcardEnds[e]; m != nil {
				return m, place
			}
		}
	}
	return nil, ""
}

// decide returns the outcome of an image, without its field Image.
func (t *mirrorTable) decide(ref match.Reference, s *subject) ImageOutcome {
	if m, _ := t.standsAt(ref.Name); m != nil {
		return ImageOutcome{Outcome: AtMirror, Entry: string(m.Name), Mode: m.Mode}
	}
	var out ImageOutcome
	for o := range t.covering(ref.Name) {
		r := o.route(s)
		if r != nil && !r.Until.hasEnded(s.now) {
			return r.follow(ref, s)
		}
		if out.Detail == "" && r != nil {
			out.Detail = "mirrors entry " + string(r.Name) + " ended, it has until: " + r.Until.text
		} else if out.Detail == "" {
			out.Detail = "the match of no entry for " + o.source.String() + " is met"
		}
	}
	return out
}

// origin is one source, with the routes of all entries that have it.
type origin struct {
	source       source
	withMatch    []*route       // of entries with match, in their order; nil when there are none
	index        namespaceIndex // of those entries; sources of the same entries share it
	withoutMatch *route         // of the entry without match; nil when there is none
}

// route returns the route of the origin's images; nil when no entry matches. One that has ended is returned only where
// there is no other.
func (o *origin) route(s *subject) *route {
	if len(o.withMatch) == 0 {
		return o.withoutMatch
	}
	if m := o.index.find(s); m != nil && (o.withoutMatch == nil || !m.Until.hasEnded(s.now)) {
		i, _ := slices.BinarySearchFunc(o.withMatch, m.order, func(r *route, order int) int {
			return cmp.Compare(r.order, order)
		})
		return o.withMatch[i]
	}
	return o.withoutMatch
}

// routes yields every route of the origin, whatever its match.
func (o *origin) routes() iter.Seq[*route] {
	return func(yield func(*route) bool) {
		if o.withoutMatch != nil && !yield(o.withoutMatch) {
			return
		}
		for _, r := range o.withMatch {
			if !yield(r) {
				return
			}
		}
	}
}

// end is where a route ends: a place, or, for a wildcard source, every place directly below it that has the name of a
// registry that the wildcard covers.
type end struct {
	place string
	wild  match.Wildcard
}

// endsAt yields the ends that are at a place itself, not above it.
func endsAt(place string) iter.Seq[end] { return endsAtUpTo(place, len(place)) }

// endsAtUpTo is endsAt for wildcards whose domain has at most n dots.
func endsAtUpTo(place string, n int) iter.Seq[end] {
	return func(yield func(end) bool) {
		above, last := place, ""
		if i := strings.LastIndexByte(place, '/'); i >= 0 {
			above, last = place[:i], place[i+1:]
		}
		if !yield(end{place: place}) {
			return
		}
		for w := range match.Wildcards(last, n) {
			if !yield(end{above, w}) {
				return
			}
		}
	}
}
