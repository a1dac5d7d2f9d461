package policy

import (
	"iter"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// refuseLoops refuses mirrors that a source covers: their images would be rewritten again. It also refuses sources at a
// mirror, which would have no effect, since an image at a mirror is never rewritten. Neither applies where the entry of
// the source excludes the place.
func (t *mirrorTable) refuseLoops(e *comparisons, errs *strict.Collector) {
	type loop struct {
		of, by *mirror
		base   string
	}
	filed := map[loop]bool{} // sources of one entry share a mirror and its loops
	covered := map[string]*route{}
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
			errs.Errorf(r.Pos, "the source %s lies at %s, the mirror of %s, where images are never rewritten: "+
				"name the place that they come from", r.source, place, m.where())
		}
		if t.stopComparing(r.mirror, e, errs) {
			return
		}
	}
}

// forGood is the end of a sentence that wants an exclude: of an entry whose exclude ends, that it must not.
func (m *mirror) forGood() string {
	if m.exempt == nil {
		return ""
	}
	return " without until"
}

// stopComparing reports whether to stop comparing entries. It files an error if the reason is the limit on comparisons.
func (t *mirrorTable) stopComparing(at *mirror, e *comparisons, errs *strict.Collector) bool {
	if e.over && !t.limitFiled {
		t.limitFiled = true
		errs.Errorf(at.Pos, "to tell the entries of mirrors apart takes more than %s comparisons, which is the limit: "+
			"let fewer of them share sources, mirrors and namespaces with several *", text.Thousands(e.limit))
	}
	return e.over || e.pollDone()
}

// nextRoute returns a route that would rewrite the images at the place base again; nil when there is none.
func (t *mirrorTable) nextRoute(base string, e *comparisons) *route {
	for o := range t.covering(base) {
		if o.source.place == base {
			continue // a source at a mirror: its own entry has the error
		}
		for by := range o.routes() {
			if !e.compare() {
				return nil
			}
			if !by.excludesPlace(base) {
				return by
			}
		}
	}
	return nil
}

// refuseCollisions refuses mirrors at which images of different sources would have one name, so that one would be
// pulled instead of the other. Sources of one entry have the same content, so their images may share names.
//
// The images of a source s are rewritten to its mirror. If another source d has this mirror too, or one that is the
// path p above it, then the images of d/p are rewritten to the same names. That is harmless if d/p is s itself, and if
// no image of d/p is rewritten by d, because a longer source covers or exclude.images excludes all of them.
func (t *mirrorTable) refuseCollisions(e *comparisons, errs *strict.Collector) {
	known := groupByEnd(t.routes)
	for i := range t.routes {
		r := &t.routes[i]
		for other, from := range known.colliding(r) {
			if !e.compare() {
				break
			}
			if from == r.source.place || other.excludesPlace(from) || t.hasLongerSource(from, other.source) {
				continue
			}
			errs.Errorf(r.Pos, "images of %s would land on those of %s, which %s puts at %s as well: give each a "+
				"mirror of its own, or make them sources of one entry if they hold the same content",
				r.source, from, other.where(), r.base)
			break
		}
		if t.stopComparing(r.mirror, e, errs) {
			return
		}
	}
}

// hasLongerSource reports whether a source longer than s covers all images below a name that s covers.
func (t *mirrorTable) hasLongerSource(name string, s source) bool {
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

// routesByEnd is all routes by their end, and for each end by entry: sources of one entry are not compared, so that ten
// thousand of them cost no more than one.
type routesByEnd map[end][]entryRoutes

// entryRoutes is the routes of one entry that have the same end.
type entryRoutes struct {
	mirror *mirror
	routes []*route
}

// groupByEnd groups routes. Of routes with the same source and end it keeps the first.
func groupByEnd(routes []route) routesByEnd {
	type endpoints struct {
		source source
		end    end
	}
	known := map[endpoints]bool{}
	all := routesByEnd{}
	for i := range routes {
		r := &routes[i]
		e := r.end()
		// Entries that differ only in their match rewrite the same images to the same names: one represents all of
		// them.
		if known[endpoints{r.source, e}] {
			continue
		}
		known[endpoints{r.source, e}] = true
		if last := len(all[e]) - 1; last >= 0 && all[e][last].mirror == r.mirror {
			all[e][last].routes = append(all[e][last].routes, r)
		} else {
			all[e] = append(all[e], entryRoutes{r.mirror, []*route{r}})
		}
	}
	return all
}

// colliding yields the routes of other entries that end where r does or above it, each with the place whose images it
// rewrites to the names that r does. Of two with the same end it yields only the earlier one for the later one, since
// one error for both is enough.
func (x routesByEnd) colliding(r *route) iter.Seq2[*route, string] {
	return func(yield func(*route, string) bool) {
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

// yieldTo yields the routes, each with the place whose images it rewrites to the place base.
func (l entryRoutes) yieldTo(base string, yield func(*route, string) bool) bool {
	for _, r := range l.routes {
		if !yield(r, r.source.place+base[len(r.prefix()):]) {
			return false
		}
	}
	return true
}
