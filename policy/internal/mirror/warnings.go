package mirror

import (
	"iter"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// deniedPlace is one pattern in images.denied.
type deniedPlace struct {
	pos     strict.Pos
	all     match.ImageSet // images.denied of the entry
	pattern match.ImagePattern
	warned  bool
}

// WarnDenied returns warnings about patterns in images.denied if a mirror serves the denied images under names that the
// entry does not deny. A Pod that uses the name at the mirror would pass. denied yields the position and images.denied
// of each entry.
func (t *Table) WarnDenied(denied iter.Seq2[strict.Pos, []match.ImagePattern]) strict.Errors {
	var places []*deniedPlace
	byName := map[string][]*deniedPlace{}
	for pos, patterns := range denied {
		all := match.NewImageSet(patterns)
		for _, p := range patterns {
			d := &deniedPlace{pos: pos, all: all, pattern: p}
			places = append(places, d)
			if p.Version == "" {
				byName[p.Name] = append(byName[p.Name], d)
			}
		}
	}
	w := mirrorWarnings{remaining: rule.MaxCompared}
	for _, d := range places {
		for _, name := range d.names() {
			t.warnDeniedPlace(d, name, &w)
		}
	}
	for i := range t.routes {
		r := &t.routes[i]
		for name := range match.Ancestors(r.source.place) {
			for _, d := range byName[name] {
				if name != r.source.place && !w.compare(d, r, match.ImagePattern{Name: r.prefix}) {
					break
				}
			}
		}
	}
	return w.all()
}

// names returns the names that the pattern denies. For example, docker.io/nginx is also short for
// docker.io/library/nginx.
func (d *deniedPlace) names() []string {
	registry, path, _ := strings.Cut(d.pattern.Name, "/")
	if registry == match.DockerHub && path != "" && path != "library" && !strings.Contains(path, "/") {
		return []string{d.pattern.Name, registry + "/library/" + path}
	}
	return []string{d.pattern.Name}
}

// warnDeniedPlace adds warnings about the mirrors of a denied place.
func (t *Table) warnDeniedPlace(d *deniedPlace, name string, w *mirrorWarnings) {
	if m, _ := t.standsAt(name); m != nil {
		return // images at a mirror are not rewritten
	}
	for o := range t.covering(name) {
		for r := range o.routes() {
			p := match.ImagePattern{
				Name: r.prefix + name[len(r.source.place):], Version: d.pattern.Version, Beneath: d.pattern.Beneath,
			}
			if !r.excludesPlace(name) && !w.compare(d, r, p) {
				return
			}
		}
		if o.withoutMatch != nil {
			return // no image reaches a shorter source
		}
	}
}

// mirrorWarnings collects the warnings of one policy.
type mirrorWarnings struct {
	errs      strict.Collector
	more      bool // there are more than rule.MaxWarnings, or some pairs were not compared
	remaining int  // number of pairs that may still be compared
}

// compare adds a warning if the entry of d does not deny at. at is a place at which a mirror serves images of d. It
// returns false if the place does not need more comparisons.
func (w *mirrorWarnings) compare(d *deniedPlace, r *mirrorRoute, at match.ImagePattern) bool {
	if w.remaining--; d.warned || w.remaining < 0 {
		w.more = w.more || w.remaining < 0
		return false
	}
	if d.all.Covers(at) {
		return true
	}
	d.warned = true
	if w.errs.Len() == rule.MaxWarnings {
		w.more = true
		return false
	}
	w.errs.Errorf(d.pos, "images.denied has %s, and mirrors entry %s has it at %s: an image "+
		"written like that is not denied; deny %[3]s too", d.pattern, r.Name, at)
	return false
}

// all returns all warnings. If some may be missing, the last warning reports this.
func (w *mirrorWarnings) all() strict.Errors {
	all := slices.Compact(w.errs.Errors())
	if w.more {
		all = append(all, strict.Error{Msg: "and there may be more of these"})
	}
	return all
}
