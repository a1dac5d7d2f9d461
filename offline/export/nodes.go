package export

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/evergate/evergate/policy"
)

// omitAllNodes adds omissions for the mirrors entries that the configuration of a container runtime cannot express. It
// also omits an entry without match if an entry with match has the same source, because a source has only one mirror on
// a node.
func (x *exporter) omitAllNodes(t Target) {
	for _, e := range x.mirrors.entries {
		x.omitNodes(e, t)
	}
	for _, source := range x.mirrors.sources {
		routes := x.mirrors.routes[source]
		last := x.entry(routes[len(routes)-1].entry)
		if last.Fields["match"] != nil {
			continue
		}
		for _, r := range routes[:len(routes)-1] {
			for _, cause := range x.omitted[r.entry] {
				if cause.Field == "match" {
					x.omitBecause(last, cause)
				}
			}
		}
	}
}

// omitNodes adds omissions for mirrors entries that the configuration of a container runtime cannot express. The
// configuration is the same for all Pods on a node.
func (x *exporter) omitNodes(e *policy.Entry, t Target) {
	if e.Mode != policy.Enforce {
		x.omit(e, "mode", "a container runtime cannot warn", "export it when it is in mode enforce")
	}
	for _, field := range []string{"match", "exclude"} {
		if e.Fields[field] != nil {
			x.omit(e, field, "a container runtime cannot distinguish Pods", useWebhook)
		}
	}
	if e.Fields["imagePullSecret"] != nil {
		x.omit(e, "imagePullSecret", "kubelet chooses credentials by the original image",
			"give the nodes the credentials of the mirror, and remove the field")
	}
	for _, source := range texts(e.Fields["sources"]) {
		switch {
		case strings.HasPrefix(source, "*"):
			x.omit(e, "sources", "the wildcard "+source+" cannot keep registries apart at the mirror",
				"list the registries")
		case t == HostsTOML && strings.Contains(source, "/"):
			x.omit(e, "sources", "containerd mirrors only whole registries, but "+source+" has a path", useWebhook)
		}
	}
}

// nodes returns the configuration of a container runtime.
func (x *exporter) nodes(t Target) []byte {
	var b bytes.Buffer
	for _, source := range x.mirrors.sources {
		r := x.mirrors.routes[source][0]
		e := x.entry(r.entry)
		if !x.rewrites(e) {
			continue
		}
		if t == HostsTOML {
			writeHostsTOML(&b, source, r.to)
		} else {
			fmt.Fprintf(&b, "[[registry]]\nprefix = %q\nlocation = %q\n[[registry.mirror]]\nlocation = %q\n\n", source, source,
				r.to)
		}
	}
	return b.Bytes()
}

// writeHostsTOML writes the file for a registry. With override_path, containerd does not append /v2 to the path.
func writeHostsTOML(b *bytes.Buffer, source, to string) {
	server := source
	if source == dockerHub {
		server = "registry-1.docker.io" // serves the images of docker.io
	}
	registry, path, _ := strings.Cut(to, "/")
	fmt.Fprintf(b, "# /etc/containerd/certs.d/%s/hosts.toml\nserver = \"https://%s\"\n", source, server)
	host := "https://" + registry + "/v2/" + path
	fmt.Fprintf(b, "[host.%q]\n  capabilities = [\"pull\", \"resolve\"]\n  override_path = true\n\n",
		strings.TrimSuffix(host, "/"))
}

// entry returns the mirrors entry with a name, or nil if it does not exist.
func (x *exporter) entry(name string) *policy.Entry {
	for _, e := range x.mirrors.entries {
		if e.Name == name {
			return e
		}
	}
	return nil
}
