package mirrors

import (
	"bytes"
	"errors"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/evergate/evergate/internal/text"
)

// conf is registries.conf (V2RegistriesConf in pkg/sysregistriesv2/system_registries_v2.go of go.podman.io/image
// v5.42.1).
type conf struct {
	Registries []struct {
		confEndpoint
		Prefix             string         `toml:"prefix"`
		Mirrors            []confEndpoint `toml:"mirror"`
		Blocked            bool           `toml:"blocked"`
		MirrorByDigestOnly bool           `toml:"mirror-by-digest-only"`
	} `toml:"registry"`
	Aliases                 map[string]string `toml:"aliases"`
	UnqualifiedSearch       []string          `toml:"unqualified-search-registries"`
	ShortNameMode           string            `toml:"short-name-mode"`
	CredentialHelpers       []string          `toml:"credential-helpers"`
	AdditionalLayerStoreKey string            `toml:"additional-layer-store-auth-helper"`
}

type confEndpoint struct {
	Location       string `toml:"location"`
	Insecure       bool   `toml:"insecure"`
	PullFromMirror string `toml:"pull-from-mirror"`
	NamespaceProxy string `toml:"namespace-proxy"`
}

// registriesConf reads registries.conf of CRI-O and Podman (PullSourcesFromReference in the same file):
//
//   - The prefix defaults to the location. The location comes after the mirrors, and can be another place.
//   - Mirrors are for all images, for digests or for tags.
//   - blocked applies to the location, not to the mirrors.
func (f File) registriesConf() (rows []Row, err error) {
	var c conf
	if err := f.decodeTOML(&c); err != nil {
		return nil, err
	}
	lines := f.linesOf(`^[ \t]*\[\[[ \t]*"?registry"?[ \t]*\]\]`)
	for i, r := range c.Registries {
		at := Origin{f.Name, 1}
		if len(lines) == len(c.Registries) {
			at.Line = lines[i].number
		}
		location := strings.TrimRight(r.Location, "/")
		row := Row{At: at, Prefix: strings.TrimRight(r.Prefix, "/"), Fallback: !r.Blocked}
		if row.Prefix == "" {
			row.Prefix = location
		}
		if row.Prefix == "" || location == "" && !strings.HasPrefix(row.Prefix, "*.") {
			return nil, errorAt(f.Name, at.Line, "a registry has no location: add it")
		}
		for _, m := range r.Mirrors {
			mirror, err := f.mirrorOf(m, r.MirrorByDigestOnly, at.Line)
			if err != nil {
				return nil, err
			}
			row.Mirrors = append(row.Mirrors, mirror)
		}
		own, err := f.mirrorOf(r.confEndpoint, false, at.Line)
		if err == nil && row.Fallback && location != "" && (location != row.Prefix || own.Note != "") {
			row.Mirrors, row.Fallback = append(row.Mirrors, own), false
		}
		rows = append(rows, row)
	}
	return append(rows, f.shortNames(c)...), nil
}

// mirrorOf returns the mirror at an endpoint.
func (f File) mirrorOf(e confEndpoint, digests bool, line int) (Mirror, error) {
	kinds := map[string]Kind{"": All, "all": All, "digest-only": Digests, "tag-only": Tags}
	only, known := kinds[e.PullFromMirror]
	m := Mirror{Place: strings.TrimRight(e.Location, "/"), Only: only}
	switch {
	case !known:
		return m, errorAt(f.Name, line, "unknown pull-from-mirror %s: use all, digest-only or tag-only",
			text.Name(e.PullFromMirror))
	case m.Place == "" || strings.Contains(m.Place, "://"):
		return m, errorAt(f.Name, line, "%s is not the location of a mirror: use a registry or a registry and a path, "+
			"without https://", text.Quote(e.Location))
	}
	if digests {
		m.Only = Digests
	}
	if e.NamespaceProxy != "" {
		m.Note += " (?ns=" + e.NamespaceProxy + ")"
	}
	if e.Insecure {
		m.Note += " (insecure)"
	}
	return m, nil
}

// shortNames returns a row for each alias, and for the registries of other images without a registry. The prefix is a
// name without a registry, which Evergate reads as an image of docker.io.
func (f File) shortNames(c conf) (rows []Row) {
	for _, alias := range slices.Sorted(maps.Keys(c.Aliases)) {
		at := Origin{f.Name, 1}
		for _, line := range f.linesOf(`^[ \t]*["']?` + regexp.QuoteMeta(alias) + `["']?[ \t]*=`) {
			at.Line = line.number
		}
		rows = append(rows, Row{At: at, Prefix: alias, short: true, Mirrors: []Mirror{{Place: c.Aliases[alias]}}})
	}
	if len(c.UnqualifiedSearch) > 0 && !slices.Equal(c.UnqualifiedSearch, []string{dockerHub}) {
		row := Row{At: Origin{f.Name, f.linesOf(`unqualified-search-registries`)[0].number}, short: true}
		for _, registry := range c.UnqualifiedSearch {
			row.Mirrors = append(row.Mirrors, Mirror{Place: registry})
		}
		rows = append(rows, row)
	}
	return rows
}

// decodeTOML decodes the file into a struct. A field that the struct does not have is an error.
func (f File) decodeTOML(into any) error {
	err := toml.NewDecoder(bytes.NewReader(f.Data)).DisallowUnknownFields().Decode(into)
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		first := unknown.Errors[0]
		line, _ := first.Position()
		return errorAt(f.Name, line, "unknown field %s: remove it", text.Name(strings.Join(first.Key(), ".")))
	}
	if wrong, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ := wrong.Position()
		return errorAt(f.Name, line, "%s", text.Printable(strings.TrimPrefix(wrong.Error(), "toml: "), text.Short))
	}
	if err != nil {
		return errorAt(f.Name, 1, "%s", text.Printable(err.Error(), text.Short))
	}
	return nil
}

// line is a line of a file that a pattern matches.
type line struct {
	number int
	parts  []string // the submatches
}

// linesOf returns the lines that a pattern matches.
func (f File) linesOf(pattern string) (lines []line) {
	re, n := regexp.MustCompile(pattern), 0
	for text := range strings.Lines(string(f.Data)) {
		n++
		if parts := re.FindStringSubmatch(text); parts != nil {
			lines = append(lines, line{n, parts})
		}
	}
	return lines
}
