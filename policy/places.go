package policy

import "strings"

// EntryPlace is an entry of a policy that is in force, or an entry of exceptions, and where it stands.
type EntryPlace struct {
	Name  string
	Block string  // in which it stands: ingresses, exceptions
	Place Problem // without Message
}

// EntryPlaces returns the entries that are in force, those of sets too, and those of exceptions. It must not be
// changed.
func (p *Policy) EntryPlaces() []EntryPlace { return p.places }

// places lists the entries that are not off.
func (d *document) places() []EntryPlace {
	var all []EntryPlace
	var block string // of the last entry: a copy, since a part of its path would keep one path for each entry
	add := func(h *header) {
		if h.Mode == Off {
			return
		}
		if of, _, _ := strings.Cut(h.Pos.Path, "["); of != block {
			block = strings.Clone(of)
		}
		at := Problem{File: h.Pos.File, Line: h.Pos.Line, Column: h.Pos.Column}
		all = append(all, EntryPlace{string(h.Name), block, at})
	}
	d.headers(add)
	for i := range d.Exceptions {
		add(&header{Name: d.Exceptions[i].Name, Mode: Enforce, Pos: d.Exceptions[i].Pos})
	}
	return all
}
