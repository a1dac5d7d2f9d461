package policy

import (
	"iter"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// loops refuses mirrors that a source covers: what is pulled from there would be rewritten again, or, since an image
// at a mirror is let be, the source would be a dead letter. A source whose entry excludes the mirror is none.
func (t *mirrorTable) refuseLoops(e *comparisons, errs *strict.Collector) {
	type loop struct {
		of, by *mirror
		base   string
	}
	told := map[loop]bool{} // sources of one entry share a mirror, and so its loops
	covered := map[string]*route{}
	for i := range t.routes {
		r := &t.routes[i]
		by, known := covered[r.base]
		if !known {
			by = t.nextRoute(r.base, e)
			covered[r.base] = by
		}
		if by != nil && !told[loop{r.mirror, by.mirror, r.base}] {
			told[loop{r.mirror, by.mirror, r.base}] = true
			errs.Errorf(r.Pos, "the mirror %s is covered by the source %s of %s, which would rewrite its images "+
				"again: that entry needs exclude: {images: [%s]}", r.to, by.source, by.where(), r.base)
		}
		if m, place := t.standsAt(r.source.place); m != nil && !r.excludesPlace(place) {
			errs.Errorf(r.Pos, "the source %s lies at %s, the mirror of %s, where images are never rewritten: "+
				"name the place that they come from", r.source, place, m.where())
		}
		if t.limitReached(r.mirror, e, errs) {
			return
		}
	}
}

// gaveUp says whether to compare entries no more, and files an error if it is since that takes too much.
func (t *mirrorTable) limitReached(at *mirror, e *comparisons, errs *strict.Collector) bool {
	if e.over && !t.limitFiled {
		t.limitFiled = true
		errs.Errorf(at.Pos, "to tell the entries of mirrors apart takes more than %s comparisons, which is the limit: let fewer "+
			"of them share sources, mirrors and namespaces with several *", text.Thousands(e.limit))
	}
	return e.over || e.pollDone()
}

// coveredBy returns a route that would lead images on from the place base; nil when there is none.
func (t *mirrorTable) nextRoute(base string, e *comparisons) *route {
	for o := range t.covering(base) {
		if o.source.place == base {
			continue // a source that lies at a mirror is told of with its own entry
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

// collisions refuses mirrors at which images of different sources would land on one name, so that one is pulled where
// the other was meant. Sources of one entry hold the same content and may do so.
//
// The images of a source s land at its mirror. If another source d has this mirror too, or one above it from which the
// path p leads to it, then the images of d/p land there as well. That is harmless when d/p is s itself, and when no
// image of d/p takes the way of d because a longer source or exclude.images takes them all away.
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
		if t.limitReached(r.mirror, e, errs) {
			return
		}
	}
}

// diverted tells whether all images below a name that the source s covers take the way of a longer source.
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

// landings are the routes by where they end, and there by entry: sources of one entry are not compared, so that ten
// thousand of them cost no more than one.
type routesByEnd map[end][]entryRoutes

type entryRoutes struct {
	mirror *mirror
	routes []*route
}

func groupByEnd(routes []route) routesByEnd {
	type way struct {
		source source
		end    end
	}
	known := map[way]bool{}
	all := routesByEnd{}
	for i := range routes {
		r := &routes[i]
		e := r.end()
		// Entries that differ only in their match lead the same images to the same names: one speaks for all of them.
		if known[way{r.source, e}] {
			continue
		}
		known[way{r.source, e}] = true
		if last := len(all[e]) - 1; last >= 0 && all[e][last].mirror == r.mirror {
			all[e][last].routes = append(all[e][last].routes, r)
		} else {
			all[e] = append(all[e], entryRoutes{r.mirror, []*route{r}})
		}
	}
	return all
}

// beside yields the routes of other entries that end where r does or above it, each with the place whose images land
// where those of r do. Of two that end at the same place, the earlier one is beside the later one alone: one error for
// both is enough.
func (x routesByEnd) colliding(r *route) iter.Seq2[*route, string] {
	return func(yield func(*route, string) bool) {
		for place := range match.Ancestors(r.base) {
			for e := range endsAt(place) {
				for _, l := range x[e] { // in the order of the entries
					if e == r.end() && l.mirror.order >= r.mirror.order {
						break
					}
					if l.mirror != r.mirror && !l.yield(r.base, yield) {
						return
					}
				}
			}
		}
	}
}

// each yields the routes of a landing, each with the place whose images it leads to the place base.
func (l entryRoutes) yield(base string, yield func(*route, string) bool) bool {
	for _, r := range l.routes {
		if !yield(r, r.source.place+base[len(r.prefix()):]) {
			return false
		}
	}
	return true
}
