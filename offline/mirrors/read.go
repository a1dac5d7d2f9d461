package mirrors

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/pelletier/go-toml/v2"

	"github.com/evergate/evergate/internal/text"
)

// maxRows is the maximum number of rows in a table. The tables of large clusters have a few hundred rows.
const maxRows = 2000

// File is a file with a table.
type File struct {
	Name string // its path
	Data []byte

	searches int   // the calls of at
	err      error // the first mistake
}

// Read reads the tables in files as one table. Different mirrors for one prefix are an error. Mirrors for images with a
// tag are joined with mirrors for images with a digest.
func Read(files []File) (Table, error) {
	var table Table
	known := map[string]int{}
	for _, f := range files {
		f.Name = filepath.ToSlash(f.Name)
		rows := f.read()
		if len(rows) == 0 {
			f.fail("", "the table is empty: it has no mirrors")
		}
		if len(table)+len(rows) > maxRows {
			f.fail("", "the table is too long: %s, limit %s", text.Count(len(table)+len(rows), "row"), text.Thousands(maxRows))
		}
		if f.err != nil {
			return nil, f.err
		}
		for _, r := range rows {
			if i, is := known[r.Prefix]; is && r.rule == nil && table[i].rule == nil {
				if err := table[i].join(r); err != nil {
					return nil, err
				}
				continue
			}
			known[r.Prefix] = len(table)
			table = append(table, r)
		}
	}
	return table, nil
}

// fail records a mistake at a text.
func (f *File) fail(at, format string, args ...any) {
	f.err = cmp.Or(f.err, fmt.Errorf("%s: %s", f.at(at), fmt.Sprintf(format, args...)))
}

// at returns file:line for the first of several texts that is in the file. The decoders do not return lines.
func (f *File) at(texts ...string) string {
	line := 1
	for _, s := range texts {
		if f.searches++; f.searches > 3*maxRows {
			break // a longer table is an error
		}
		if before, _, found := bytes.Cut(f.Data, []byte(s)); found {
			line += bytes.Count(before, []byte("\n"))
			break
		}
	}
	return text.Path(f.Name) + ":" + strconv.Itoa(line)
}

// read reads the rows of a file. The first line that is not a comment shows whether it is TOML or YAML.
func (f *File) read() []Row {
	isTOML := regexp.MustCompile(`\A(?:\s*(?:#.*)?\n)*\s*(?:\[|[\w."'-]+[ \t]*=)`)
	switch {
	case !isTOML.Match(f.Data):
		return f.yaml()
	case filepath.Base(f.Name) == "hosts.toml":
		return f.hostsTOML()
	}
	return f.registriesConf()
}

// wrong records an error of a decoder with the line of the mistake.
func (f *File) wrong(err error) {
	line, message := 1, err.Error()
	if unknown, ok := errors.AsType[*toml.StrictMissingError](err); ok {
		key := unknown.Errors[0].Key()
		line, _ = unknown.Errors[0].Position()
		message = "field " + key[len(key)-1] + " not found in type"
	} else if syntax, ok := errors.AsType[*toml.DecodeError](err); ok {
		line, _ = syntax.Position()
	} else if parts := regexp.MustCompile(`line (\d+): (.*)`).FindStringSubmatch(message); parts != nil {
		line, _ = strconv.Atoi(parts[1])
		message = parts[2]
	}
	message = regexp.MustCompile(`^toml: | into \S+$`).ReplaceAllString(message, "")
	unknown := regexp.MustCompile(`^field (.*) not found in type.*`)
	message = unknown.ReplaceAllString(message, "unknown field $1: remove it")
	f.err = fmt.Errorf("%s:%d: %s", text.Path(f.Name), line, text.Printable(message, 2*text.Short))
}

// decodeTOML decodes the file. A field that the value does not have is a mistake.
func (f *File) decodeTOML(into any) {
	if err := toml.NewDecoder(bytes.NewReader(f.Data)).DisallowUnknownFields().Decode(into); err != nil {
		f.wrong(err)
	}
}

// conf is registries.conf (V2RegistriesConf in pkg/sysregistriesv2/system_registries_v2.go of go.podman.io/image
// v5.42.1).
type conf struct {
	Registries []struct {
		confEndpoint
		Prefix      string         `toml:"prefix"`
		Mirrors     []confEndpoint `toml:"mirror"`
		Blocked     bool           `toml:"blocked"`
		OnlyDigests bool           `toml:"mirror-by-digest-only"`
	} `toml:"registry"`
	Aliases           map[string]string `toml:"aliases"`
	UnqualifiedSearch []string          `toml:"unqualified-search-registries"`
	ShortNameMode     string            `toml:"short-name-mode"`
	CredentialHelpers []string          `toml:"credential-helpers"`
	LayerStoreHelper  string            `toml:"additional-layer-store-auth-helper"`
}

type confEndpoint struct {
	Location string `toml:"location"`
	Insecure bool   `toml:"insecure"`
	Only     string `toml:"pull-from-mirror"`
	Proxied  string `toml:"namespace-proxy"`
}

// registriesConf reads registries.conf of CRI-O and Podman. The location comes after the mirrors, and can be another
// place than the prefix. blocked applies to the location only (PullSourcesFromReference in the same file).
func (f *File) registriesConf() (rows []Row) {
	var c conf
	f.decodeTOML(&c)
	if len(c.Aliases) > 0 || len(c.UnqualifiedSearch) > 0 && !slices.Equal(c.UnqualifiedSearch, []string{dockerHub}) {
		rows = append(rows, Row{At: f.at("unqualified-search-registries"), Prefix: shortNames, Fallback: true,
			Reason: "Evergate reads a name without a registry as an image of docker.io: write full names in Pods"})
	}
	for _, r := range c.Registries {
		row := Row{Prefix: strings.TrimRight(cmp.Or(r.Prefix, r.Location), "/"), Fallback: !r.Blocked}
		row.At = f.at(`"` + row.Prefix + `"`)
		for _, e := range r.Mirrors {
			m, known := e.mirror()
			if !known {
				f.fail(e.Only, "unknown pull-from-mirror %s: use all, digest-only or tag-only", text.Name(e.Only))
			}
			if r.OnlyDigests {
				m.Only = Digests
			}
			row.Mirrors = append(row.Mirrors, m)
		}
		if own, _ := r.mirror(); row.Fallback && own.Place != "" && own != (Mirror{Place: row.Prefix, Only: All}) {
			own.Only = All
			row.Mirrors, row.Fallback = append(row.Mirrors, own), false
		}
		rows = append(rows, row)
	}
	return rows
}

// mirror returns the mirror at an endpoint, and whether it has a known pull-from-mirror.
func (e confEndpoint) mirror() (Mirror, bool) {
	only, known := map[string]Kind{"": All, "all": All, "digest-only": Digests, "tag-only": Tags}[e.Only]
	m := Mirror{Place: strings.TrimRight(e.Location, "/"), Only: only}
	if e.Insecure || e.Proxied != "" {
		m.Note = " (insecure, or a proxy)"
	}
	return m, known
}

// hosts is hosts.toml of containerd (hostFileConfig in core/remotes/docker/config/hosts.go of containerd v2.4.2).
type hosts struct {
	hostConfig
	Server string                `toml:"server"`
	Hosts  map[string]hostConfig `toml:"host"`
}

type hostConfig struct {
	Capabilities []string       `toml:"capabilities"`
	OverridePath bool           `toml:"override_path"`
	SkipVerify   bool           `toml:"skip_verify"`
	CA           any            `toml:"ca"`
	Client       any            `toml:"client"`
	Header       map[string]any `toml:"header"`
	DialTimeout  string         `toml:"dial_timeout"`
}

// hostsTOML reads hosts.toml of containerd. The name of its folder is the registry, with an underscore instead of the
// colon, and _default is for registries without a folder. The hosts are tried in their order, then the server, which is
// the registry if it is absent (parseHostsFile in the same file). A host without the capability resolve only serves
// digests. Mirrors receive the registry in the parameter ns (addNamespace in core/remotes/docker/resolver.go).
func (f *File) hostsTOML() []Row {
	registry := regexp.MustCompile(`^(.+)_(\d+)_$`).ReplaceAllString(path.Base(path.Dir(f.Name)), "$1:$2")
	switch registry {
	case ".", "/":
		f.fail("", "the folder of hosts.toml is the name of its registry: use a path such as certs.d/docker.io/hosts.toml")
	case "_default":
		registry = "*"
	}
	var h hosts
	f.decodeTOML(&h)
	row := Row{At: f.at("[host"), Prefix: registry, perHost: true, Fallback: h.Server == ""}
	tables := regexp.MustCompile(`(?m)^[ \t]*\[[ \t]*host[ \t]*\.[ \t]*["']([^"']+)["'][ \t]*\]`)
	for _, table := range tables.FindAllStringSubmatch(string(f.Data), -1) { // in their order, which go-toml loses
		f.addHost(&row, table[1], h.Hosts[table[1]])
		delete(h.Hosts, table[1])
	}
	if len(h.Hosts) > 0 {
		f.fail("host", "the order of the hosts is not known: write each host as [host.\"URL\"]")
	}
	if h.Server != "" {
		f.addHost(&row, h.Server, h.hostConfig)
		last := len(row.Mirrors) - 1
		if last >= 0 && row.Mirrors[last] == (Mirror{Place: registry, Only: All}) {
			row.Mirrors, row.Fallback = row.Mirrors[:last], true
		}
	}
	return []Row{row}
}

// addHost adds the mirror at a host.
func (f *File) addHost(row *Row, url string, c hostConfig) {
	m := f.endpoint(url, func(string) bool { return c.OverridePath })
	can := strings.ToLower(strings.Join(c.Capabilities, " "))
	if can != "" && !strings.Contains(can, "pull") {
		return
	}
	if can != "" && !strings.Contains(can, "resolve") {
		m.Only = Digests
	}
	if c.SkipVerify || c.CA != nil || c.Client != nil || c.Header != nil {
		m.Note += " (with other TLS settings or headers)"
	}
	row.Mirrors = append(row.Mirrors, m)
}

// endpoint returns the mirror at a URL of containerd. containerd adds /v2 to the path unless it ends with it, or unless
// override returns true. An image has the path of a mirror only if the API of the mirror is at /v2 (parseHostConfig in
// core/remotes/docker/config/hosts.go of containerd v2.4.2). registry-1.docker.io serves the images of docker.io.
func (f *File) endpoint(endpoint string, override func(path string) bool) (m Mirror) {
	u, err := url.Parse(endpoint)
	if !strings.Contains(endpoint, "://") {
		u, err = url.Parse("https://" + endpoint)
	}
	if err != nil || u.Host == "" {
		f.fail(endpoint, "%s is not the URL of a mirror: use a URL such as https://mirror.example", text.Quote(endpoint))
		return m
	}
	root := strings.TrimSuffix(u.Path, "/")
	if !override(u.Path) && !strings.HasSuffix(root, "/v2") {
		root += "/v2"
	}
	m = Mirror{Place: u.Host, Only: All}
	if u.Host == "registry-1.docker.io" {
		m.Place = dockerHub
	}
	if path, atV2 := strings.CutPrefix(root+"/", "/v2/"); atV2 && !strings.HasSuffix(root, "/v2/v2") {
		m.Place = strings.TrimSuffix(m.Place+"/"+path, "/")
	} else {
		m.Note = " (its API is at " + text.Name(root) + ")"
	}
	if u.Scheme == "http" {
		m.Note += " (without TLS)"
	}
	return m
}
