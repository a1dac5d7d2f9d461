package mirrors

import (
	"net/url"
	"regexp"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// k3s reads registries.yaml of k3s and RKE2. They write a hosts.toml for each registry (getHostConfigs and
// normalizeEndpointAddress in pkg/agent/containerd/config.go of k3s-io/k3s):
//
//   - A path of an endpoint other than /v2 is used with override_path, so it must begin with /v2/.
//   - The rewrites apply to the paths of images at the endpoints, and not to the fallback. If several rewrites change a
//     path, any of them may apply (pkg/registries/registries.go of github.com/rancher/wharfie v0.7.1).
//   - "*" is for registries that are not listed.
//   - The registry is the last endpoint, unless nodes have the option --disable-default-registry-endpoint
//     (https://docs.k3s.io/installation/private-registry).
func (f File) k3s(n *yaml.Node) (rows []Row, err error) {
	var config struct {
		Mirrors yaml.Node `yaml:"mirrors"`
		Configs yaml.Node `yaml:"configs"`
		Auths   yaml.Node `yaml:"auths"`
	}
	if err := f.decode(n, &config); err != nil {
		return nil, err
	}
	for i, host := range keysOf(&config.Mirrors) {
		key, value := config.Mirrors.Content[2*i], config.Mirrors.Content[2*i+1]
		var mirror struct {
			Endpoints []string  `yaml:"endpoint"`
			Rewrites  yaml.Node `yaml:"rewrite"`
		}
		if err := f.decode(value, &mirror); err != nil {
			return nil, err
		}
		row := Row{At: Origin{f.Name, key.Line}, Prefix: host, Fallback: true, perHost: true}
		for _, endpoint := range mirror.Endpoints {
			if !strings.Contains(endpoint, "://") {
				endpoint = "https://" + endpoint
			}
			m, err := endpointOf(endpoint, func(path string) bool { return strings.Trim(path, "/") != "" && path != "/v2" })
			if err != nil {
				return nil, errorAt(f.Name, key.Line, "%v", err)
			}
			if m.Note == "" && field(&config.Configs, registryOf(m.Place)) != nil {
				row.note("the policy has no credentials or certificates for " + registryOf(m.Place) + ": keep them in configs")
			}
			row.Mirrors = append(row.Mirrors, m)
		}
		for j, pattern := range keysOf(&mirror.Rewrites) {
			re, err := regexp.Compile(pattern)
			if err != nil {
				return nil, errorAt(f.Name, mirror.Rewrites.Content[2*j].Line, "%v", err)
			}
			row.Rewrites = append(row.Rewrites, Rewrite{re, mirror.Rewrites.Content[2*j+1].Value})
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// note adds a note.
func (r *Row) note(s string) { r.notes = append(r.notes, s) }

// endpointOf returns the mirror at a URL of containerd. containerd adds /v2 to the path unless it ends with it, or
// unless override returns true. An image has the path of a mirror only if the API of the mirror is at /v2
// (parseHostConfig in core/remotes/docker/config/hosts.go of containerd v2.4.2).
func endpointOf(endpoint string, override func(path string) bool) (Mirror, error) {
	u, err := url.Parse(endpoint)
	if err != nil || u.Host == "" {
		return Mirror{}, errNotURL(endpoint)
	}
	root := strings.TrimSuffix(u.Path, "/")
	if !override(u.Path) && !strings.HasSuffix(root, "/v2") {
		root += "/v2"
	}
	m := Mirror{Place: u.Host}
	path, atV2 := strings.CutPrefix(root+"/", "/v2/")
	if atV2 {
		m.Place = strings.TrimSuffix(u.Host+"/"+path, "/")
	} else {
		m.Place += strings.TrimSuffix(strings.TrimSuffix(root, "/v2"), "/")
	}
	if !atV2 || strings.HasSuffix(m.Place, "/v2") {
		m.Note = " (its API is at " + root + ")"
	}
	if u.Scheme == "http" {
		m.Note += " (without TLS)"
	}
	return m, nil
}

type errNotURL string

func (e errNotURL) Error() string {
	return text.Quote(string(e)) + " is not the URL of a mirror: use a URL such as https://mirror.example"
}
