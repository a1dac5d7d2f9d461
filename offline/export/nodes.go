package export

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/evergate/evergate/policy"
)

// omitNodes adds omissions for the mirrors entries that the configuration of a container runtime cannot express. It
// also omits an entry without match if an entry with match has the same source, because a source has only one mirror on
// a node.
func (x *exporter) omitNodes(t Target) {
	for _, m := range x.mirrors.active {
		x.omitNode(m, t)
	}
	for _, source := range x.mirrors.sources {
		routes := x.mirrors.routes[source]
		last := routes[len(routes)-1].entry
		if last.matches != "" {
			continue
		}
		for _, r := range routes[:len(routes)-1] {
			for _, cause := range r.entry.omitted {
				if cause.Field == "match" {
					omitEntry(last.entry, cause)
				}
			}
		}
	}
}

// omitNode adds omissions for a mirrors entry. The configuration is the same for all Pods on a node.
func (x *exporter) omitNode(m *mirrorEntry, t Target) {
	omit := func(field, why, instead string) { omitEntry(m.entry, x.because(m.entry, field, why, instead)) }
	if m.Mode != policy.Enforce {
		omit("mode", "a container runtime cannot warn", "export it when it is in mode enforce")
	}
	for _, field := range []string{"match", "exclude"} {
		if m.Fields[field] != nil {
			omit(field, "a container runtime cannot distinguish Pods", useWebhook)
		}
	}
	if m.pullSecret != "" {
		omit("imagePullSecret", "kubelet chooses credentials by the original image",
			"give the nodes the credentials of the mirror, and remove the field")
	}
	for _, source := range m.sources {
		switch {
		case strings.HasPrefix(source, "*"):
			omit("sources", "the wildcard "+source+" cannot keep registries apart at the mirror", "list the registries")
		case t == HostsTOML && strings.Contains(source, "/"):
			omit("sources", "containerd mirrors only whole registries, but "+source+" has a path", useWebhook)
		}
	}
}

// nodes returns the configuration of a container runtime.
func (x *exporter) nodes(t Target) []byte {
	var b bytes.Buffer
	for _, source := range x.mirrors.sources {
		r := x.mirrors.routes[source][0]
		if !r.entry.rewrites() {
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
