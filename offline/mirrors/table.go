// Package mirrors converts between the mirrors block of a policy and the tables of mirrors of container runtimes and of
// another webhook.
//
// [FromPolicy] makes a [Table] of a policy, which [Table.Write] writes for a container runtime. [Read] reads a table,
// and [Import] makes a policy of it. Import compares the results of both for generated images, so a row is exact only
// if the policy pulls these images from the same place.
//
//	table.go       the table, and the places that it pulls an image from
//	export.go      the table of a policy, and the parts of a policy that container runtimes cannot express
//	write.go       the formats of the container runtimes
//	read.go        the recognition of formats, and rows of several files
//	images.go      the images of a cluster
//	openshift.go, registries_conf.go, containerd.go, k3s.go, harbor.go  the readers
//	propose.go     the entries of a policy for a row
//	import.go      the policy of a table, and the verdict of each row
//	report.go      the report of an import
package mirrors

import (
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
)

// Table is a table of mirrors, in the order of its origin.
type Table []Row

// Row is a row of a table: where images with a prefix are pulled from.
type Row struct {
	At Origin
	// Prefix is a registry, or a registry and a path, and may end in a tag or a digest. It covers the images below it. *.x
	// covers registries at any depth, and * covers all registries. For a row with Matches, it is the name of the rule.
	Prefix string
	// Mirrors are the places from which the images are pulled instead, the first one first.
	Mirrors []Mirror
	// Fallback reports whether the images are pulled from the prefix if no mirror has them.
	Fallback bool
	// Rewrites change the path of an image at the mirrors.
	Rewrites []Rewrite
	// Matches and Excludes select the images of a rule instead of Prefix. The mirror then replaces their registry.
	Matches, Excludes []*regexp.Regexp

	short      bool     // Prefix is a name without a registry, or empty for all such names
	pullSecret string   // is added to Pods with images from the mirror
	perHost    bool     // the mirror receives the registry of the image in the parameter ns
	notes      []string // what the import loses without a different result for any image
}

// Origin is the place of a row in a file.
type Origin struct {
	File string
	Line int
}

// String returns file:line.
func (o Origin) String() string { return o.File + ":" + strconv.Itoa(o.Line) }

// Mirror is a mirror of a row.
type Mirror struct {
	Place string // replaces the prefix of the row
	Only  Kind   // the images that are pulled from it
	// Note is a property of the connection to the mirror that an image in a Pod cannot express.
	Note string
}

// Kind is the kind of images that a mirror is for.
type Kind uint8

// The kinds of images. An image with a tag and a digest is pulled by its digest.
const (
	All Kind = iota
	Digests
	Tags
)

// Rewrite changes the paths that a pattern matches.
type Rewrite struct {
	Pattern     *regexp.Regexp
	Replacement string
}

// normalize returns an image as container runtimes read it, with its registry and its tag or digest.
func normalize(image string) (string, error) {
	ref, err := reference.ParseDockerRef(image)
	if err != nil {
		return "", err
	}
	return ref.String(), nil
}

// find returns the row for a normalized image, or nil. The first rule that matches wins, or the row with the longest
// prefix (findRegistryWithParsedConfig in pkg/sysregistriesv2/system_registries_v2.go of go.podman.io/image v5.42.1).
func (t Table) find(image string) *Row {
	var found *Row
	for i := range t {
		r := &t[i]
		switch {
		case r.short:
		case len(r.Matches) > 0:
			if matchesAny(r.Matches, image) && !matchesAny(r.Excludes, image) {
				return r
			}
		case r.covers(image) >= 0 && (found == nil || len(r.Prefix) > len(found.Prefix)):
			found = r
		}
	}
	return found
}

func matchesAny(patterns []*regexp.Regexp, s string) bool {
	return slices.ContainsFunc(patterns, func(p *regexp.Regexp) bool { return p.MatchString(s) })
}

// covers returns the length of the part of an image that the mirrors replace, or -1 if the prefix does not cover it.
func (r *Row) covers(image string) int {
	registry := registryOf(image)
	domain, wild := strings.CutPrefix(r.Prefix, "*")
	rest, below := strings.CutPrefix(image, r.Prefix)
	switch {
	case len(r.Matches) > 0:
		return len(registry)
	case wild && strings.HasSuffix(registry, domain):
		return len(registry)
	case below && (rest == "" || rest[0] == '/' || strings.Contains(r.Prefix, "/") && (rest[0] == ':' || rest[0] == '@')):
		return len(r.Prefix)
	}
	return -1
}

// Pull returns the places that an image is pulled from, as it is written in a Pod, and the row that decides. It returns
// nil if no row decides, and no places if the image is blocked. It returns an error if it is not an image.
func (t Table) Pull(written string) (row *Row, places []string, err error) {
	image, err := normalize(written)
	if err != nil {
		return nil, nil, err
	}
	if !strings.HasPrefix(written, registryOf(image)+"/") { // it has no registry
		for i := range t {
			if rest, ok := strings.CutPrefix(written, t[i].Prefix); t[i].short && ok &&
				(t[i].Prefix == "" || rest == "" || rest[0] == ':' || rest[0] == '@') {
				return &t[i], []string{t.short(&t[i], rest)}, nil
			}
		}
	}
	row, places = t.pull(image)
	return row, places, nil
}

// short returns the places that an image without a registry is pulled from. rest is the image without the prefix.
func (t Table) short(row *Row, rest string) string {
	var all []string
	for _, m := range row.Mirrors {
		to := m.Place + rest
		if row.Prefix == "" {
			to = m.Place + "/" + rest
		}
		if normal, err := normalize(to); err == nil {
			if _, places := t.pull(normal); len(places) > 0 {
				to = places[0]
			}
		}
		all = append(all, to)
	}
	return strings.Join(all, " or ")
}

// pull returns the row for a normalized image, and the places that the image is pulled from, the first one first. There
// are no places if the image is blocked.
func (t Table) pull(image string) (row *Row, places []string) {
	row = t.find(image)
	if row == nil {
		return nil, []string{image}
	}
	rest := image[row.covers(image):]
	kind := Tags
	if strings.Contains(image, "@") {
		kind = Digests
	}
	for _, m := range row.Mirrors {
		if m.Only == All || m.Only == kind {
			for _, path := range row.rewrite(rest) {
				places = append(places, m.Place+path+m.Note+t.parameter(row, m.Place))
			}
		}
	}
	if row.Fallback {
		places = append(places, image)
	}
	return row, places
}

// rewrite returns the path of an image at the mirror. If several rewrites change it, it is undefined which of them
// applies, so rewrite returns all results.
func (r *Row) rewrite(rest string) (all []string) {
	end := strings.IndexAny(rest, ":@")
	if end < 0 {
		end = len(rest)
	}
	path := strings.TrimPrefix(rest[:end], "/")
	for _, w := range r.Rewrites {
		if to := w.Pattern.ReplaceAllString(path, w.Replacement); to != path && !slices.Contains(all, "/"+to+rest[end:]) {
			all = append(all, "/"+to+rest[end:])
		}
	}
	if all == nil {
		return []string{rest}
	}
	return all
}

// parameter returns the parameter ns if the content of the mirror depends on it, because it is the mirror of several
// registries.
func (t Table) parameter(row *Row, place string) string {
	if row.perHost && slices.ContainsFunc(t, func(r Row) bool {
		return r.perHost && r.Prefix != row.Prefix && len(r.Rewrites) == 0 && len(row.Rewrites) == 0 &&
			slices.ContainsFunc(r.Mirrors, func(m Mirror) bool { return m.Place == place })
	}) {
		return " (?ns=" + row.Prefix + ")"
	}
	return ""
}

// registryOf returns the registry of a place or an image.
func registryOf(place string) string {
	registry, _, _ := strings.Cut(place, "/")
	return registry
}

// isBelow reports whether a name is a place or a name below it.
func isBelow(name, place string) bool { return name == place || strings.HasPrefix(name, place+"/") }
