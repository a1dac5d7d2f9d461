package policy

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// mirrorTable finds the route of an image. What that costs depends on the length of the image's name, not on how many
// routes there are.
//
// Each garbage collection follows all pointers of a policy, and ten thousand mirrors in a hundred thousand pieces of memory would be a
// tenth of the cost of a review. So what every entry has lies in one piece of each kind, made at once so that its elements stay where they
// are, and large maps hold positions in them. Names of entries do not: metrics keep them, and would keep the whole piece.
type mirrorTable struct {
	mirrors   []mirror
	routes    []route
	origins   []origin
	texts     strings.Builder // of sources and mirrors
	strictest Mode            // of the mirrors; Off when there are none
	slashes   int             // in the source or mirror that has most of them: what is deeper is looked up from there
	dots      int             // in the domain of a wildcard that has most of them
	tooMuch   bool            // to tell them apart took too many comparisons, which has been told

	// What lies at a place, and what a wildcard covers, which in most policies is nothing.
	places       map[string]int // positions in origins
	wildcards    map[match.Wildcard]*origin
	ends         map[string]int // positions in mirrors; of entries that share an end, the first
	wildcardEnds map[end]*mirror
}

// compileMirrors builds the table of the entries that are in force, and says what is wrong between them.
func compileMirrors(entries []mirrorEntry, e *comparisons, errs *strict.Collector) *mirrorTable {
	t := newMirrorTable(entries)
	for i := range entries {
		if e.stopped() {
			return t
		}
		if entries[i].Mode != Off {
			t.add(&entries[i], errs)
		}
	}
	t.matchNamespaces(e, errs)
	t.loops(e, errs)
	t.collisions(e, errs)
	for i := range t.mirrors {
		t.mirrors[i].Pos = strict.Pos{} // for errors alone, and all are told
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
		places:  map[string]int{}, wildcards: map[match.Wildcard]*origin{},
		ends: map[string]int{}, wildcardEnds: map[end]*mirror{},
	}
	t.texts.Grow(texts)
	return t
}

// keep returns a string that lies with the others.
func (t *mirrorTable) keep(s string) string {
	start := t.texts.Len()
	t.texts.WriteString(s)
	return t.texts.String()[start:]
}

// len returns how many entries are in force.
func (t *mirrorTable) len() int { return len(t.mirrors) }

// mirrorPlaces lists the places of the mirrors, each once, in the order of their names.
func (t *mirrorTable) mirrorPlaces() []string {
	var places []string
	for i := range t.mirrors {
		places = append(places, t.mirrors[i].to.place)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

func (t *mirrorTable) add(e *mirrorEntry, errs *strict.Collector) {
	t.mirrors = append(t.mirrors, newMirror(e, len(t.mirrors)))
	m := &t.mirrors[len(t.mirrors)-1]
	m.to.place = t.keep(m.to.place)
	t.strictest = max(t.strictest, e.Mode)
	for _, s := range e.Sources {
		s.place = t.keep(s.place)
		t.routes = append(t.routes, newRoute(m, s))
		r := &t.routes[len(t.routes)-1]
		t.addEnd(r.end(), m)
		t.dots = max(t.dots, strings.Count(s.wild.Domain, "."))
		t.slashes = max(t.slashes, strings.Count(s.place, "/"), strings.Count(r.base, "/")+1) // 1: a wildcard ends one below
		switch o := t.origin(s); {
		case e.Match != nil:
			o.conditional = append(o.conditional, r)
		case o.always == nil:
			o.always = r
		default:
			errs.Errorf(e.Pos, "the source %s is taken by %s: give one of the two entries a match, "+
				"or another source", s, o.always.where())
		}
	}
}

func (t *mirrorTable) addEnd(e end, m *mirror) {
	if e.wild == (match.Wildcard{}) {
		if _, taken := t.ends[e.place]; !taken {
			t.ends[e.place] = m.order
		}
	} else if t.wildcardEnds[e] == nil {
		t.wildcardEnds[e] = m
	}
}

// origin returns the origin of a source, a new one if there was none.
func (t *mirrorTable) origin(s source) *origin {
	o := t.at(s.place)
	if s.place == "" {
		o = t.wildcards[s.wild]
	}
	if o != nil {
		return o
	}
	t.origins = append(t.origins, origin{source: s})
	last := len(t.origins) - 1
	if s.place == "" {
		t.wildcards[s.wild] = &t.origins[last]
	} else {
		t.places[s.place] = last
	}
	return &t.origins[last]
}

// at returns the origin of a place; nil when it is none.
func (t *mirrorTable) at(place string) *origin {
	if i, ok := t.places[place]; ok {
		return &t.origins[i]
	}
	return nil
}

// covering yields the origins that cover a name, the longest source first and wildcards last.
func (t *mirrorTable) covering(name string) iter.Seq[*origin] {
	return func(yield func(*origin) bool) {
		for place := range match.Ancestors(match.UpToSlash(name, t.slashes)) {
			if o := t.at(place); o != nil && !yield(o) {
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

// standsAt returns the entry at whose mirror a name stands, and the mirror's place; nil when it stands at none.
func (t *mirrorTable) standsAt(name string) (m *mirror, place string) {
	for place := range match.Ancestors(match.UpToSlash(name, t.slashes)) {
		if i, ok := t.ends[place]; ok {
			return &t.mirrors[i], place
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

// decide says what becomes of an image. The answer is filled in but for the field Image.
func (t *mirrorTable) decide(ref match.Reference, s *subject) ImageOutcome {
	if m, _ := t.standsAt(ref.Name); m != nil {
		return ImageOutcome{Outcome: AtMirror, Entry: string(m.Name), Mode: m.Mode}
	}
	var out ImageOutcome
	for o := range t.covering(ref.Name) {
		if r := o.route(s); r != nil {
			return r.follow(ref, s)
		}
		if out.Detail == "" {
			out.Detail = "the match of no entry for " + o.source.String() + " is met"
		}
	}
	return out
}

// origin is one source, with all that a policy says of it.
type origin struct {
	source      source
	conditional []*route       // of entries with match, in their order; nil when there are none
	matched     namespaceIndex // finds one of their entries; shared by sources that the same entries have
	always      *route         // of the entry without match; nil when there is none
}

// route returns the route that the origin's images take; nil when no entry's match is met.
func (o *origin) route(s *subject) *route {
	if m := o.matched.find(s); m != nil {
		i, _ := slices.BinarySearchFunc(o.conditional, m.order, func(r *route, order int) int { return cmp.Compare(r.order, order) })
		return o.conditional[i]
	}
	return o.always
}

// routes yields every route of the origin, whatever its match.
func (o *origin) routes() iter.Seq[*route] {
	return func(yield func(*route) bool) {
		if o.always != nil && !yield(o.always) {
			return
		}
		for _, r := range o.conditional {
			if !yield(r) {
				return
			}
		}
	}
}

// end is where a route leads: a place, or, for a wildcard source, every place directly below that has the name of a
// registry which the wildcard covers.
type end struct {
	place string
	wild  match.Wildcard
}

// endsAt yields the ends that a place belongs to, apart from those that end above it.
func endsAt(place string) iter.Seq[end] { return endsAtUpTo(place, len(place)) }

// endsAtUpTo yields those whose wildcard's domain has at most n dots.
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
