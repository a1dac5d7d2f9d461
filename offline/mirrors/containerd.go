package mirrors

import (
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// hosts is hosts.toml of containerd (hostFileConfig in core/remotes/docker/config/hosts.go of containerd v2.4.2).
// rewrite is a field of the containerd of k3s.
type hosts struct {
	hostConfig
	Server string                `toml:"server"`
	Hosts  map[string]hostConfig `toml:"host"`
}

type hostConfig struct {
	Capabilities []string          `toml:"capabilities"`
	OverridePath bool              `toml:"override_path"`
	SkipVerify   bool              `toml:"skip_verify"`
	CA           any               `toml:"ca"`
	Client       any               `toml:"client"`
	Header       map[string]any    `toml:"header"`
	DialTimeout  string            `toml:"dial_timeout"`
	Rewrite      map[string]string `toml:"rewrite"`
}

// hostsTOML reads hosts.toml of containerd (parseHostsFile in the same file):
//
//   - The name of the folder is the registry. It has an underscore instead of the colon, and _default is for registries
//     without a folder.
//   - The hosts are tried in their order, then the server. Without a server, it is the registry itself.
//   - A host without the capability resolve only serves digests.
//   - Mirrors receive the registry in the parameter ns (addNamespace in core/remotes/docker/resolver.go).
//
// A file may contain the files of several registries, as evergate export writes them. Their names are in comments.
func (f File) hostsTOML() (rows []Row, err error) {
	headers := f.linesOf(`^# (\S*/hosts\.toml)\r?\n`)
	if len(headers) == 0 {
		row, err := f.hostsOf(f.Name, f.Data, 0)
		return []Row{row}, err
	}
	all := slices.Collect(strings.Lines(string(f.Data)))
	for i, h := range headers {
		end := len(all)
		if i+1 < len(headers) {
			end = headers[i+1].number - 1
		}
		row, err := f.hostsOf(h.parts[1], []byte(strings.Join(all[h.number-1:end], "")), h.number-1)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// hostsOf reads the hosts of one registry. before is the number of lines before them.
func (f File) hostsOf(name string, data []byte, before int) (Row, error) {
	part := File{f.Name, slices.Concat([]byte(strings.Repeat("\n", before)), data)}
	registry := path.Base(path.Dir(name))
	if registry == "." || registry == "/" {
		return Row{}, errorAt(f.Name, 1, "the folder of hosts.toml is the name of its registry: use a path such as "+
			"certs.d/docker.io/hosts.toml")
	}
	if i := strings.LastIndex(strings.TrimSuffix(registry, "_"), "_"); strings.HasSuffix(registry, "_") && i > 0 {
		registry = registry[:i] + ":" + registry[i+1:len(registry)-1]
	}
	if registry == "_default" {
		registry = "*"
	}
	var h hosts
	if err := part.decodeTOML(&h); err != nil {
		return Row{}, err
	}
	row := Row{At: Origin{f.Name, before + 1}, Prefix: registry, perHost: true, Fallback: h.Server == ""}
	lines := part.linesOf(`^[ \t]*\[[ \t]*host[ \t]*\.[ \t]*["']([^"']+)["'][ \t]*\]`)
	if len(lines) != len(h.Hosts) {
		return Row{}, errorAt(f.Name, before+1, "the order of the hosts is not known: write each host as [host.\"URL\"]")
	}
	for _, l := range lines {
		row.At.Line = lines[0].number
		if err := part.addHost(&row, l.parts[1], h.Hosts[l.parts[1]], l.number); err != nil {
			return Row{}, err
		}
	}
	if h.Server != "" {
		err := part.addHost(&row, h.Server, h.hostConfig, before+1)
		last := len(row.Mirrors) - 1
		if err == nil && last >= 0 && isOriginal(row.Mirrors[last], registry) {
			row.Mirrors, row.Fallback = row.Mirrors[:last], true
		}
		return row, err
	}
	return row, nil
}

// isOriginal reports whether a server is the registry itself. registry-1.docker.io serves the images of docker.io.
func isOriginal(server Mirror, registry string) bool {
	hub := registry == dockerHub && server.Place == "registry-1.docker.io"
	return server.Note == "" && (hub || server.Place == registry)
}

// addHost adds the mirror at a host.
func (f File) addHost(row *Row, url string, c hostConfig, at int) error {
	if !strings.HasPrefix(url, "http") {
		url = "https://" + url
	}
	m, err := endpointOf(url, func(string) bool { return c.OverridePath })
	if err != nil {
		return errorAt(f.Name, at, "%v", err)
	}
	can := func(what string) bool {
		return len(c.Capabilities) == 0 || slices.ContainsFunc(c.Capabilities, func(s string) bool {
			return strings.EqualFold(s, what)
		})
	}
	if len(c.Rewrite) > 0 {
		return errorAt(f.Name, at, "rewrite %s is written by k3s: use registries.yaml",
			text.Name(slices.Sorted(maps.Keys(c.Rewrite))[0]))
	}
	if !can("pull") {
		return nil
	}
	if !can("resolve") {
		m.Only = Digests
	}
	if c.SkipVerify {
		m.Note += " (insecure)"
	}
	if c.CA != nil || c.Client != nil || c.Header != nil {
		row.note("the policy has no certificates or headers for " + registryOf(m.Place) + ": configure them on the nodes")
	}
	row.Mirrors = append(row.Mirrors, m)
	return nil
}
