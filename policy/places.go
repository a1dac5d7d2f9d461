package policy

import (
	"strings"

	"github.com/evergate/evergate/policy/internal/rule"
)

// EntryPlace is the place of a policy entry that is not off, or of an exception.
type EntryPlace struct {
	Name  string
	Block string  // the block that contains it, such as ingresses or exceptions
	Place Problem // without Message
}

// EntryPlaces returns the places of all entries that are not off, including the entries in rule sets, and of all
// exceptions. Callers must not change the result.
func (p *Policy) EntryPlaces() []EntryPlace { return p.places }

// places returns the places of all entries that are not off, and of all exceptions.
func (d *document) places() []EntryPlace {
	var all []EntryPlace
	var block string // of the last entry; cloned, because a substring would keep the whole path of each entry in memory
	add := func(h *rule.Header) {
		if h.Mode == Off {
			return
		}
		if of, _, _ := strings.Cut(h.Pos.Path, "["); of != block {
			block = strings.Clone(of)
		}
		at := Problem{File: h.Pos.File, Line: h.Pos.Line, Column: h.Pos.Column}
		all = append(all, EntryPlace{string(h.Name), block, at})
	}
	for h := range d.headers {
		add(h)
	}
	for i := range d.Exceptions {
		add(&rule.Header{Name: d.Exceptions[i].Name, Mode: Enforce, Pos: d.Exceptions[i].Pos})
	}
	return all
}
