package policy

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

const (
	maxWarnings = 100 // more than anybody reads
	// maxCompared bounds the pairs of a denied place and a source that are looked at, to a tenth of a second: entries
	// for a source that differ in their match have a mirror each. What is beyond is not warned of.
	maxCompared = 200_000
)

// deniedPlace is one pattern of images.denied.
type deniedPlace struct {
	entry   *podsEntry
	all     match.ImageSet // what the entry denies
	pattern match.ImagePattern
	warned  bool
}

// deniedBehind warns of images.denied where a mirror has what they deny under a name that they do not deny: an image
// that is written for the mirror passes.
func (t *mirrorTable) warnDenied(entries []podsEntry) []string {
	var places []*deniedPlace
	byName := map[string][]*deniedPlace{}
	for i := range entries {
		e := &entries[i]
		if e.Mode == Off {
			continue
		}
		all := match.NewImageSet(e.Images.Denied)
		for _, p := range e.Images.Denied {
			d := &deniedPlace{entry: e, all: all, pattern: p}
			places = append(places, d)
			if p.Version == "" {
				byName[p.Name] = append(byName[p.Name], d)
			}
		}
	}
	w := mirrorWarnings{remaining: maxCompared}
	for _, d := range places {
		for _, name := range d.names() {
			t.warnDeniedPlace(d, name, &w)
		}
	}
	for i := range t.routes {
		r := &t.routes[i]
		for name := range match.Ancestors(r.source.place) {
			for _, d := range byName[name] {
				if name != r.source.place && !w.check(d, r, match.ImagePattern{Name: r.prefix()}) {
					break
				}
			}
		}
	}
	return w.lines()
}

// names are those that the pattern denies images by: docker.io/nginx is also short for docker.io/library/nginx.
func (d *deniedPlace) names() []string {
	registry, path, _ := strings.Cut(d.pattern.Name, "/")
	if registry == match.DockerHub && path != "" && path != "library" && !strings.Contains(path, "/") {
		return []string{d.pattern.Name, registry + "/library/" + path}
	}
	return []string{d.pattern.Name}
}

// deniedUnder looks for the mirrors of a denied place.
func (t *mirrorTable) warnDeniedPlace(d *deniedPlace, name string, w *mirrorWarnings) {
	if m, _ := t.standsAt(name); m != nil {
		return // what stands there is not rewritten
	}
	for o := range t.covering(name) {
		for r := range o.routes() {
			p := match.ImagePattern{
				Name: r.prefix() + name[len(r.source.place):], Version: d.pattern.Version, Beneath: d.pattern.Beneath,
			}
			if !r.excludesPlace(name) && !w.check(d, r, p) {
				return
			}
		}
		if o.withoutMatch != nil {
			return // no shorter source gets any
		}
	}
}

// mirrorWarnings are the warnings of one policy.
type mirrorWarnings struct {
	errs      strict.Collector
	more      bool
	remaining int // pairs that may still be compared
}

// compare warns if an entry does not deny what a mirror has of a place that it denies. It returns false when there is
// nothing more to learn of the place.
func (w *mirrorWarnings) check(d *deniedPlace, r *route, at match.ImagePattern) bool {
	if w.remaining--; d.warned || w.remaining < 0 {
		w.more = w.more || w.remaining < 0
		return false
	}
	if d.all.Covers(at) {
		return true
	}
	d.warned = true
	if w.errs.Len() == maxWarnings {
		w.more = true
		return false
	}
	w.errs.Errorf(d.entry.Pos, "images.denied has %s, and mirrors entry %s has it at %s: written so, an "+
		"image is not denied; deny %[3]s too", d.pattern, r.Name, at)
	return false
}

func (w *mirrorWarnings) lines() []string {
	var lines []string
	for _, e := range slices.Compact(w.errs.Errors()) {
		lines = append(lines, e.Error())
	}
	if w.more {
		lines = append(lines, "and there may be more of these")
	}
	return lines
}
