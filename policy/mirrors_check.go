package policy

import (
	"iter"
	"slices"

	"github.com/evergate/evergate/policy/internal/strict"
)

// loops refuses mirrors that a source covers: what is pulled from there would be rewritten again, or, since an image
// at a mirror is let be, the source would be a dead letter. A source whose entry excludes the mirror is none.
func (t *mirrorTable) loops() strict.Errors {
	var errs strict.Errors
	for i := range t.routes {
		r := &t.routes[i]
		if by := t.coveredBy(r); by != nil {
			errs = append(errs, r.Pos.Errorf("the mirror %s is covered by the source %s of %s, which would rewrite its images "+
				"again: that entry needs exclude: {images: [%s]}", r.to, by.source, by.where(), r.base))
		}
		if m, place := t.standsAt(r.source.place); m != nil && !r.spares(place) {
			errs = append(errs, r.Pos.Errorf("the source %s lies at %s, the mirror of %s, where images are never rewritten: "+
				"name the place that they come from", r.source, place, m.where()))
		}
	}
	return slices.Compact(errs) // sources of one entry share a mirror, and so its loops
}

// coveredBy returns a route that would lead images on from where r leads them; nil when there is none.
func (t *mirrorTable) coveredBy(r *route) *route {
	for o := range t.covering(r.base) {
		if o.source.place == r.base {
			continue // a source that lies at a mirror is told of with its own entry
		}
		for by := range o.routes() {
			if !by.spares(r.base) {
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
func (t *mirrorTable) collisions() strict.Errors {
	var errs strict.Errors
	known := newLandings(t.routes)
	for i := range t.routes {
		r := &t.routes[i]
		for other, from := range known.beside(r) {
			toldThere := other.end() == r.end() && other.order > r.order
			if toldThere || from == r.source.place || other.spares(from) || t.diverted(from, other.source) {
				continue
			}
			errs = append(errs, r.Pos.Errorf("images of %s would land on those of %s, which %s puts at %s as well: give each a "+
				"mirror of its own, or make them sources of one entry if they hold the same content",
				r.source, from, other.where(), r.base))
			break
		}
	}
	return errs
}

// diverted tells whether all images below a name that the source s covers take the way of a longer source.
func (t *mirrorTable) diverted(name string, s source) bool {
	for o := range t.covering(name) {
		if o.source == s {
			return false
		}
		if o.always != nil {
			return true
		}
	}
	return false
}

// landings are the routes by where they end, and there by entry: sources of one entry are not compared, so that ten
// thousand of them cost no more than one.
type landings map[end][]landing

type landing struct {
	mirror *mirror
	routes []*route
}

func newLandings(routes []route) landings {
	type way struct {
		source source
		end    end
	}
	known := map[way]bool{}
	all := landings{}
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
			all[e] = append(all[e], landing{r.mirror, []*route{r}})
		}
	}
	return all
}

// beside yields the routes of other entries that end where r does or above it, each with the place whose images land
// where those of r do.
func (x landings) beside(r *route) iter.Seq2[*route, string] {
	return func(yield func(*route, string) bool) {
		for place := range ancestors(r.base) {
			for e := range endsAt(place) {
				for _, l := range x[e] {
					if l.mirror != r.mirror && !l.each(r.base, yield) {
						return
					}
				}
			}
		}
	}
}

// each yields the routes of a landing, each with the place whose images it leads to the place base.
func (l landing) each(base string, yield func(*route, string) bool) bool {
	for _, r := range l.routes {
		if !yield(r, r.source.place+base[len(r.prefix()):]) {
			return false
		}
	}
	return true
}
