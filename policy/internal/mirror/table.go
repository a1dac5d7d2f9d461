package mirror

import (
	"cmp"
	"iter"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Table finds the route of an image. The cost depends on the length of the image's name, not on the number of
// routes. Mirrors, routes and origins are slices with their final capacity, so pointers to their elements stay valid.
type Table struct {
	// ShortNames is the registry of images without a registry. If it is empty, it is docker.io.
	ShortNames string

	mirrors    []mirror
	routes     []mirrorRoute
	origins    []origin
	strictest  rule.Mode // of the mirrors; rule.Off without mirrors
	slashes    int       // most slashes in a source or mirror; look-ups of deeper names begin there
	dots       int       // most dots in the domain of a wildcard
	limitFiled bool      // the error about too many comparisons was added

	places       map[string]*origin         // by the place that is the source
	wildcards    map[match.Wildcard]*origin // by the wildcard that is the source
	ends         map[string]*mirror         // by the place where routes end; the first entry if there are several
	wildcardEnds map[end]*mirror            // by the end of routes with a wildcard; the first entry if there are several
}

// Compile builds the table of the entries that are not off, and adds errors about conflicts between them.
func Compile(entries []Entry, shortNames ShortNames, e *rule.Comparisons, errs *strict.Collector) *Table {
	t := newMirrorTable(entries)
	t.ShortNames = string(shortNames)
	for i := range entries {
		if e.PollDone() {
			return t
		}
		if entries[i].Mode != rule.Off {
			t.add(&entries[i], errs)
		}
	}
	t.indexNamespaces(e, errs)
	t.rejectLoops(e, errs)
	t.rejectCollisions(e, errs)
	for i := range t.mirrors {
		t.mirrors[i].Pos = strict.Pos{} // only errors need it, and all errors have been added
	}
	return t
}

// newMirrorTable returns an empty table with room for entries.
func newMirrorTable(entries []Entry) *Table {
	sources := 0
	for i := range entries {
		sources += len(entries[i].Sources)
	}
	return &Table{
		mirrors: make([]mirror, 0, len(entries)),
		routes:  make([]mirrorRoute, 0, sources),
		origins: make([]origin, 0, sources),
		places:  map[string]*origin{}, wildcards: map[match.Wildcard]*origin{},
		ends: map[string]*mirror{}, wildcardEnds: map[end]*mirror{},
	}
}

// RewritesDockerHub returns the name of the entry that rewrites all images of docker.io, for any Pod. It returns an
// empty name if there is no such entry.
func (t *Table) RewritesDockerHub() string {
	entry, _, _ := t.Rewrites(match.ImagePattern{Name: match.DockerHub})
	return entry
}

// StrictestMode implements rules.
func (t *Table) StrictestMode() rule.Mode { return t.strictest }

// Places returns the places of the mirrors, each once, in the order of their names.
func (t *Table) Places() []string {
	var places []string
	for i := range t.mirrors {
		if !t.mirrors[i].qualify {
			places = append(places, t.mirrors[i].to.place)
		}
	}
	slices.Sort(places)
	return slices.Compact(places)
}

// Destinations returns the mirrors as policies write them, each once, in the order of the entries.
func (t *Table) Destinations() []string {
	var all []string
	seen := map[string]bool{}
	for i := range t.mirrors {
		if to := t.mirrors[i].to.String(); !seen[to] && !t.mirrors[i].qualify {
			seen[to] = true
			all = append(all, to)
		}
	}
	return all
}

// add adds an entry that is not off.
func (t *Table) add(e *Entry, errs *strict.Collector) {
	t.mirrors = append(t.mirrors, newMirror(e, len(t.mirrors)))
	m := &t.mirrors[len(t.mirrors)-1]
	t.strictest = max(t.strictest, e.Mode)
	for _, s := range e.Sources {
		r := new(newRoute(m, s))
		if !m.qualify { // images that stay at their source do not cause loops and collisions
			t.routes = append(t.routes, *r)
			r = &t.routes[len(t.routes)-1]
			t.addEnd(r.end(), m)
		}
		t.dots = max(t.dots, strings.Count(s.wild.Domain, "."))
		// The 1 is for a route with a wildcard, which ends one segment below its base.
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

// addEnd adds the end of a route, unless an earlier entry has the same end.
func (t *Table) addEnd(e end, m *mirror) {
	switch {
	case e.wild != (match.Wildcard{}):
		if t.wildcardEnds[e] == nil {
			t.wildcardEnds[e] = m
		}
	case t.ends[e.place] == nil:
		t.ends[e.place] = m
	}
}

// origin returns the origin of a source. It adds the origin if the table does not contain it.
func (t *Table) origin(s source) *origin {
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

// covering yields the origins that cover a name. The longest source comes first, and wildcards come last.
func (t *Table) covering(name string) iter.Seq[*origin] {
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

// standsAt returns the entry whose mirror contains an image with the given name, and the mirror's place. It returns nil
// if the image is not at a mirror.
func (t *Table) standsAt(name string) (m *mirror, place string) {
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

// Decide returns the outcome for an image. It does not set the field Image of the outcome.
func (t *Table) Decide(ref match.Reference, s *rule.Subject) ImageOutcome {
	if m, _ := t.standsAt(ref.Name); m != nil {
		return ImageOutcome{Outcome: AtMirror, Entry: string(m.Name), Mode: m.Mode}
	}
	out := ImageOutcome{Name: ref.Name}
	for o := range t.covering(ref.Name) {
		r := o.route(s)
		if r != nil && !r.Until.HasEnded(s.Now) {
			return r.follow(ref, s)
		}
		if out.Detail == "" && r != nil {
			out.Detail = "mirrors entry " + string(r.Name) + " ended, it has until: " + r.Until.String()
		} else if out.Detail == "" {
			out.Detail = "the match of no entry for " + o.source.String() + " is met"
		}
	}
	return out
}

// origin is one source, with the routes of all entries that contain the source.
type origin struct {
	source       source
	withMatch    []*mirrorRoute // of entries with match, in their order; nil without such entries
	index        namespaceIndex // of the entries in withMatch; sources of the same entries share it
	withoutMatch *mirrorRoute   // of the entry without match; nil without such an entry
}

// route returns the route for the origin's images, or nil if no entry matches. It returns the route of an expired entry
// only if no other entry applies.
func (o *origin) route(s *rule.Subject) *mirrorRoute {
	if len(o.withMatch) == 0 {
		return o.withoutMatch
	}
	if m := o.index.find(s); m != nil && (o.withoutMatch == nil || !m.Until.HasEnded(s.Now)) {
		i, _ := slices.BinarySearchFunc(o.withMatch, m.order, func(r *mirrorRoute, order int) int {
			return cmp.Compare(r.order, order)
		})
		return o.withMatch[i]
	}
	return o.withoutMatch
}

// routes yields every route of the origin, whatever its match.
func (o *origin) routes() iter.Seq[*mirrorRoute] {
	return func(yield func(*mirrorRoute) bool) {
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

// end is the place to which a route rewrites images. For a wildcard source, it is every place directly below this place
// whose last segment is a registry that the wildcard covers.
type end struct {
	place string
	wild  match.Wildcard
}

// endsAt yields the ends at exactly this place. It does not yield ends above the place.
func endsAt(place string) iter.Seq[end] { return endsAtUpTo(place, len(place)) }

// endsAtUpTo does the same as endsAt, but yields only wildcards whose domain has at most n dots.
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

// Rewrites returns the name of the entry that rewrites all images of a place, for any Pod, and the place that they are
// rewritten to. It returns false if there is no such entry.
func (t *Table) Rewrites(p match.ImagePattern) (entry string, to match.ImagePattern, ok bool) {
	for o := range t.covering(p.Name) {
		r := o.withoutMatch
		if r == nil {
			continue
		}
		if r.Mode != rule.Enforce || r.qualify || r.excludesPlace(p.Name) {
			break
		}
		name := r.prefix + p.Name[len(r.source.place):]
		return string(r.Name), match.ImagePattern{Name: name, Version: p.Version, Beneath: p.Beneath}, true
	}
	return "", match.ImagePattern{}, false
}
