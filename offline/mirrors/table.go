// Package mirrors converts between the mirrors block of a policy and the tables of mirrors of container runtimes and of
// another webhook.
//
// [FromPolicy] makes a [Table] of a policy, and exports an entry exactly or not at all. [Table.Write] writes it. [Read]
// reads a table, and [Import] makes a policy of it. It compares the results of both for generated images.
//
//	table.go              the table, and the place that it pulls an image from
//	export.go, write.go   the export
//	read.go, yaml.go      the readers
//	import.go             the import and its report
package mirrors

import (
	"fmt"
	"strings"

	"github.com/distribution/reference"

	"github.com/evergate/evergate/internal/text"
)

// Table is a table of mirrors, in the order of its origin.
type Table []Row

// Row is a row of a table: where images with a prefix are pulled from. Its JSON is an interface.
type Row struct {
	At string `json:"at"` // file:line
	// Prefix is a registry, or a registry and a path, and may end in a tag or a digest. It covers the images below it. *.x
	// covers registries at any depth, and * covers all registries.
	Prefix   string   `json:"source"`
	Mirrors  []Mirror `json:"mirrors,omitempty"`  // the places from which the images are pulled instead, in their order
	Fallback bool     `json:"fallback,omitempty"` // the images are pulled from the prefix if no mirror has them

	Verdict string  `json:"verdict"`
	Reason  string  `json:"reason,omitempty"`  // why the row cannot be imported, and what to do
	Example *Change `json:"example,omitempty"` // an image that is pulled from another place

	// rule selects the images instead of Prefix, and returns the place that they are pulled from.
	rule     func(image string) (to string, matches bool)
	excluded []string // the prefixes that the rule excludes
	secret   string   // is added to Pods with images from the mirror
	perHost  bool     // the mirrors receive the registry of the image in the parameter ns
}

// Mirror is a mirror of a row.
type Mirror struct {
	Place string `json:"place"`          // replaces the prefix of the row
	Only  Kind   `json:"-"`              // the images that are pulled from it
	Note  string `json:"note,omitempty"` // a property of the connection that an image in a Pod cannot express
}

// Kind is a set of images. An image with a tag and a digest is pulled by its digest.
type Kind uint8

// The kinds of images.
const (
	Digests Kind = 1 << iota
	Tags
	All = Digests | Tags
)

// shortNames is the prefix of a row for all names without a registry.
const shortNames = "names without a registry"

// join adds a row for the same prefix. It may have the same mirrors, or mirrors for the other kind of images.
func (r *Row) join(o Row) error {
	var kinds, others Kind
	for _, m := range r.Mirrors {
		kinds |= m.Only
	}
	same := 0 // the number of equal mirrors at the beginning
	for i, m := range o.Mirrors {
		others |= m.Only
		if i == same && i < len(r.Mirrors) && m.Place == r.Mirrors[i].Place && m.Note == r.Mirrors[i].Note {
			same++
		}
	}
	r.Fallback = r.Fallback && o.Fallback
	switch {
	case same == len(r.Mirrors) && same == len(o.Mirrors):
		for i := range r.Mirrors {
			r.Mirrors[i].Only |= o.Mirrors[i].Only
		}
	case kinds != 0 && others != 0 && kinds&others == 0:
		r.Mirrors = append(r.Mirrors, o.Mirrors...)
	default:
		at := func(all []Mirror) string { return text.Name(append(all[same:], Mirror{Place: "none"})[0].Place) }
		return fmt.Errorf("%s has different mirrors: %s in %s, and %s in %s: remove one", text.Name(r.Prefix),
			at(r.Mirrors), r.At, at(o.Mirrors), o.At)
	}
	return nil
}

// normalize returns an image as container runtimes read it, with its registry and its tag or digest. It returns other
// texts unchanged.
func normalize(image string) string {
	ref, err := reference.ParseDockerRef(image)
	if err != nil {
		return image
	}
	return ref.String()
}

// pull returns the place from which an image is pulled first, as it is written and in its normal form, and its row or
// -1. rows is the row of each prefix. The first rule that matches wins, or the row with the longest prefix
// (findRegistryWithParsedConfig in pkg/sysregistriesv2/system_registries_v2.go of go.podman.io/image v5.42.1).
func (t Table) pull(rows map[string]int, written, image string) (to string, row int) {
	for i := range t {
		if t[i].rule != nil {
			if to, is := t[i].rule(image); is {
				return to, i
			}
		}
	}
	if i, is := rows[shortNames]; is && !strings.HasPrefix(written, registryOf(image)+"/") {
		return t[i].pull(image), i
	}
	for _, place := range covering(image) {
		if i, is := rows[place]; is {
			return t[i].pull(image), i
		}
	}
	return image, -1
}

// pull returns the place from which the row pulls a normalized image first.
func (r *Row) pull(image string) string {
	if len(r.Mirrors) == 0 && r.Fallback && r.Reason != "" {
		return "an unknown place, because " + r.Reason
	}
	rest, is := strings.CutPrefix(image, r.Prefix)
	if !is { // a wildcard
		rest = image[len(registryOf(image)):]
	}
	kind := Tags
	if strings.Contains(image, "@") {
		kind = Digests
	}
	for _, m := range r.Mirrors {
		if to := m.Place + rest + m.Note; m.Only&kind != 0 && strings.Contains(to, "/") {
			return normalize(to)
		} else if m.Only&kind != 0 {
			return image // the mirror cannot have an image without a path, and Evergate does not rewrite it
		}
	}
	if r.Fallback {
		return image
	}
	return "nowhere (blocked)"
}

// covering returns the prefixes of rows that cover an image or a place, the longest one first.
func covering(image string) (all []string) {
	registry := registryOf(image)
	for end := len(image); end >= len(registry); end = strings.LastIndexAny(image[:end], "/:@") {
		all = append(all, image[:end])
	}
	for _, domain, ok := strings.Cut(registry, "."); ok; _, domain, ok = strings.Cut(domain, ".") {
		all = append(all, "*."+domain)
	}
	return append(all, "*")
}

// registryOf returns the registry of a place or an image.
func registryOf(place string) string {
	registry, _, _ := strings.Cut(place, "/")
	return registry
}

// place returns an image without its tag and its digest, or a place unchanged. A registry may have a port.
func place(image string) string {
	name := strings.LastIndexByte(image, '/') + 1
	if end := strings.IndexAny(image[name:], ":@"); name > 0 && end >= 0 {
		return image[:name+end]
	}
	return image
}

// isBelow reports whether a name is a place or a name below it.
func isBelow(name, place string) bool { return name == place || strings.HasPrefix(name, place+"/") }
