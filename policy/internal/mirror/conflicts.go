package mirror

import (
	"iter"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// rejectLoops adds an error for each mirror that a source covers, because its images would be rewritten again. It also
// adds an error for each source at a mirror. Such a source would not have any effect, because an image at a mirror is
// never rewritten. If the entry of the source excludes the place, rejectLoops does not add an error.
func (t *Table) rejectLoops(e *rule.Comparisons, errs *strict.Collector) {
	type loop struct {
		of, by *mirror
		base   string
	}
	filed := map[loop]bool{} // sources of one entry share a mirror, so they also share its loops
	covered := map[string]*mirrorRoute{}
	for i := range t.routes {
		r := &t.routes[i]
		by, known := covered[r.base]
		if !known {
			by = t.nextRoute(r.base, e)
			covered[r.base] = by
		}
		if by != nil && !filed[loop{r.mirror, by.mirror, r.base}] {
			filed[loop{r.mirror, by.mirror, r.base}] = true
			errs.Errorf(r.Pos, "the mirror %s is covered by the source %s of %s, which would rewrite its images "+
				"again: that entry needs exclude: {images: [%s]}%s", r.to, by.source, by.where(), r.base, by.forGood())
		}
		if m, place := t.standsAt(r.source.place); m != nil && !r.excludesPlace(place) {
			errs.Errorf(r.Pos, "the source %s is at %s, the mirror of %s, where images are never rewritten: "+
				"write the place that they come from", r.source, place, m.where())
		}
		if t.stopComparing(r.mirror, e, errs) {
			return
		}
	}
}

// forGood returns the end of a sentence that requires an exclude block. If the entry already has an exclude block that
// expires, the end requires one without until.
func (m *mirror) forGood() string {
	if m.Exclude != nil && m.PermanentExclude() == nil {
		return " without until"
	}
	return ""
}

// stopComparing reports whether to stop comparing entries. It adds an error if the reason is the limit on comparisons.
func (t *Table) stopComparing(at *mirror, e *rule.Comparisons, errs *strict.Collector) bool {
	limit, over := e.Limit()
	if over && !t.limitFiled {
		t.limitFiled = true
		errs.Errorf(at.Pos, "comparing the mirrors entries takes more than %s comparisons, which is the limit: "+
			"let fewer entries share sources, mirrors and namespaces with several *", text.Thousands(limit))
	}
	return over || e.PollDone()
}

// nextRoute returns a route that would rewrite the images at the place base again. It returns nil if there is no such
// route.
func (t *Table) nextRoute(base string, e *rule.Comparisons) *mirrorRoute {
	for o := range t.covering(base) {
		if o.source.place == base {
			continue // a source at a mirror; rejectLoops adds an error for its entry
		}
		for by := range o.routes() {
			if !e.Compare() {
				return nil
			}
			if !by.qualify && !by.excludesPlace(base) {
				return by
			}
		}
	}
	return nil
}

// rejectCollisions adds an error for each mirror at which images from different sources would have the same name. One
// image would be pulled instead of the other. Sources of one entry have the same content, so their images may share
// names.
//
// The images of a source s are rewritten to its mirror. If another source d also has this mirror, or its mirror is
// above this one by the path p, then the images of d/p are rewritten to the same names. This is harmless if d/p is s
// itself. It is also harmless if d does not rewrite any image of d/p, because a longer source covers them all or
// exclude.images excludes them all.
func (t *Table) rejectCollisions(e *rule.Comparisons, errs *strict.Collector) {
	known := groupByEnd(t.routes)
	for i := range t.routes {
		r := &t.routes[i]
		for other, from := range known.colliding(r) {
			if !e.Compare() {
				break
			}
			if from == r.source.place || other.excludesPlace(from) || t.hasLongerSource(from, other.source) {
				continue
			}
			errs.Errorf(r.Pos, "images of %s would be mixed with images of %s, which %s also puts at %s: give each a "+
				"separate mirror, or make them sources of one entry if they have the same content",
				r.source, from, other.where(), r.base)
			break
		}
		if t.stopComparing(r.mirror, e, errs) {
			return
		}
	}
}

// hasLongerSource reports whether a source longer than s covers all images below a name that s covers.
func (t *Table) hasLongerSource(name string, s source) bool {
	for o := range t.covering(name) {
		if o.source == s {
			return false
		}
		if o.withoutMatch != nil {
			return true
		}
	}
	return false
}

// routesByEnd groups all routes by their end, and the routes with the same end by entry. Sources of one entry are not
// compared with each other, so ten thousand sources do not cost more than one.
type routesByEnd map[end][]entryRoutes

// entryRoutes contains the routes of one entry that have the same end.
type entryRoutes struct {
	mirror *mirror
	routes []*mirrorRoute
}

// groupByEnd groups routes. If routes have the same source and end, it keeps only the first.
func groupByEnd(routes []mirrorRoute) routesByEnd {
	type endpoints struct {
		source source
		end    end
	}
	known := map[endpoints]bool{}
	all := routesByEnd{}
	for i := range routes {
		r := &routes[i]
		e := r.end()
		// Entries that differ only in their match rewrite the same images to the same names. One route represents them all.
		if known[endpoints{r.source, e}] {
			continue
		}
		known[endpoints{r.source, e}] = true
		if last := len(all[e]) - 1; last >= 0 && all[e][last].mirror == r.mirror {
			all[e][last].routes = append(all[e][last].routes, r)
		} else {
			all[e] = append(all[e], entryRoutes{r.mirror, []*mirrorRoute{r}})
		}
	}
	return all
}

// colliding yields the routes of other entries that have the same end as r or an end above it. Each route comes with
// the place whose images it rewrites to the same names as r. If two routes have the same end, colliding yields only the
// earlier route for the later one, because one error for both is enough.
func (x routesByEnd) colliding(r *mirrorRoute) iter.Seq2[*mirrorRoute, string] {
	return func(yield func(*mirrorRoute, string) bool) {
		for place := range match.Ancestors(r.base) {
			for e := range endsAt(place) {
				for _, l := range x[e] { // in the order of the entries
					if e == r.end() && l.mirror.order >= r.mirror.order {
						break
					}
					if l.mirror != r.mirror && !l.yieldTo(r.base, yield) {
						return
					}
				}
			}
		}
	}
}

// yieldTo yields the routes, each with the place whose images it rewrites to the place base. It returns false if yield
// does.
func (l entryRoutes) yieldTo(base string, yield func(*mirrorRoute, string) bool) bool {
	for _, r := range l.routes {
		if !yield(r, r.source.place+base[len(r.prefix):]) {
			return false
		}
	}
	return true
}
