package policy

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/strict"
)

// mirrorTable finds the route of an image. What that costs depends on the length of the image's name, not on how many
// routes there are.
type mirrorTable struct {
	mirrors   []*mirror
	routes    []*route
	strictest Mode // of the mirrors; Off when there are none

	// What lies at a place, and what a wildcard covers, which in most policies is nothing.
	origins     map[string]*origin
	wildOrigins map[wildcard]*origin
	ends        map[string]*mirror // of entries that share an end, the first
	wildEnds    map[end]*mirror
}

// compileMirrors builds the table of the entries that are in force, and says what is wrong between them.
func compileMirrors(entries []mirrorEntry) (*mirrorTable, strict.Errors) {
	t := &mirrorTable{
		origins: map[string]*origin{}, wildOrigins: map[wildcard]*origin{},
		ends: map[string]*mirror{}, wildEnds: map[end]*mirror{},
	}
	var errs strict.Errors
	for i := range entries {
		if entries[i].Mode != Off {
			errs = append(errs, t.add(&entries[i])...)
		}
	}
	errs = slices.Concat(errs, t.overlaps(), t.loops(), t.collisions())
	slices.SortStableFunc(errs, func(a, b strict.Error) int {
		return cmp.Or(strings.Compare(a.File, b.File), cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	return t, errs
}

// len returns how many entries are in force.
func (t *mirrorTable) len() int { return len(t.mirrors) }

// places lists the mirrors, each once, in the order of their names.
func (t *mirrorTable) places() []string {
	var places []string
	for _, m := range t.mirrors {
		places = append(places, m.Mirror.place)
	}
	slices.Sort(places)
	return slices.Compact(places)
}

func (t *mirrorTable) add(e *mirrorEntry) strict.Errors {
	m := newMirror(e, len(t.mirrors))
	t.mirrors = append(t.mirrors, m)
	t.strictest = max(t.strictest, e.Mode)
	var errs strict.Errors
	for _, s := range e.Sources {
		r := newRoute(m, s)
		t.routes = append(t.routes, r)
		t.addEnd(r.end(), m)
		switch o := t.origin(s); {
		case e.Match != nil:
			o.matched.add(r)
		case o.always == nil:
			o.always = r
		default:
			errs = append(errs, e.Pos.Errorf("the source %s is taken by %s: give one of the two entries a match, "+
				"or another source", s, o.always.where()))
		}
	}
	return errs
}

func (t *mirrorTable) addEnd(e end, m *mirror) {
	switch {
	case e.wild != wildcard{}:
		if t.wildEnds[e] == nil {
			t.wildEnds[e] = m
		}
	case t.ends[e.place] == nil:
		t.ends[e.place] = m
	}
}

// origin returns the origin of a source, a new one if there was none.
func (t *mirrorTable) origin(s source) *origin {
	o := t.origins[s.place]
	if s.place == "" {
		o = t.wildOrigins[s.wild]
	}
	if o != nil {
		return o
	}
	o = &origin{source: s, matched: namespaceIndex{}}
	if s.place == "" {
		t.wildOrigins[s.wild] = o
	} else {
		t.origins[s.place] = o
	}
	return o
}

// covering yields the origins that cover a name, the longest source first and wildcards last.
func (t *mirrorTable) covering(name string) iter.Seq[*origin] {
	return func(yield func(*origin) bool) {
		for place := range ancestors(name) {
			if o := t.origins[place]; o != nil && !yield(o) {
				return
			}
		}
		if len(t.wildOrigins) == 0 {
			return
		}
		registry, _, _ := strings.Cut(name, "/")
		for w := range wildcards(registry) {
			if o := t.wildOrigins[w]; o != nil && !yield(o) {
				return
			}
		}
	}
}

// standsAt returns the entry at whose mirror a name stands, and the mirror's place; nil when it stands at none.
func (t *mirrorTable) standsAt(name string) (m *mirror, place string) {
	for place := range ancestors(name) {
		if m := t.ends[place]; m != nil {
			return m, place
		}
		if len(t.wildEnds) == 0 {
			continue
		}
		for e := range endsAt(place) {
			if m := t.wildEnds[e]; m != nil {
				return m, place
			}
		}
	}
	return nil, ""
}

// decide says what becomes of an image. The answer is filled in but for the field Image.
func (t *mirrorTable) decide(ref reference, s *subject) ImageOutcome {
	if m, _ := t.standsAt(ref.name); m != nil {
		return ImageOutcome{Outcome: AtMirror, Entry: string(m.Name), Mode: m.Mode}
	}
	var out ImageOutcome
	for o := range t.covering(ref.name) {
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
	source  source
	matched namespaceIndex // routes of entries with match
	always  *route         // of the entry without; nil when there is none
}

// route returns the route that the origin's images take; nil when no entry's match is met.
func (o *origin) route(s *subject) *route {
	if r := o.matched.find(s); r != nil {
		return r
	}
	return o.always
}

// routes yields every route of the origin, whatever its match.
func (o *origin) routes() iter.Seq[*route] {
	return func(yield func(*route) bool) {
		if o.always != nil && !yield(o.always) {
			return
		}
		for c := range o.matched.all() {
			if !yield(c.route) {
				return
			}
		}
	}
}

// end is where a route leads: a place, or, for a wildcard source, every place directly below that has the name of a
// registry which the wildcard covers.
type end struct {
	place string
	wild  wildcard
}

// endsAt yields the ends that a place belongs to, apart from those that end above it.
func endsAt(place string) iter.Seq[end] {
	return func(yield func(end) bool) {
		above, last := place, ""
		if i := strings.LastIndexByte(place, '/'); i >= 0 {
			above, last = place[:i], place[i+1:]
		}
		if !yield(end{place: place}) {
			return
		}
		for w := range wildcards(last) {
			if !yield(end{above, w}) {
				return
			}
		}
	}
}
