package mirrors

import (
	"bytes"
	"fmt"
	"strings"

	"github.com/evergate/evergate/offline/export"
)

// The targets for container runtimes.
const (
	HostsTOML      export.Target = "hosts-toml"
	RegistriesConf export.Target = "registries-conf"
	IDMS           export.Target = "idms"
)

// Targets returns the targets in the order in which they are documented.
func Targets() []export.TargetInfo {
	return []export.TargetInfo{
		{Name: HostsTOML, Does: "mirrors for containerd: a file for each registry"},
		{Name: RegistriesConf, Does: "mirrors for CRI-O: registries.conf"},
		{Name: IDMS, Does: "mirrors for OpenShift: ImageDigestMirrorSet and ImageTagMirrorSet"},
	}
}

// Write writes the table for a container runtime. The prefixes and mirrors of a loaded policy are bounded.
func (t Table) Write(b *bytes.Buffer, target export.Target) {
	switch target {
	case HostsTOML:
		for _, row := range t {
			row.writeHostsTOML(b)
		}
	case RegistriesConf:
		for _, row := range t {
			row.writeRegistriesConf(b)
		}
	case IDMS:
		t.writeIDMS(b)
	}
}

// writeHostsTOML writes the file for a registry. With override_path, containerd does not append /v2 to the path. After
// the hosts, containerd tries the server. Without a fallback, the server is the mirror (parseHostsFile in
// core/remotes/docker/config/hosts.go of containerd v2.4.2).
func (r *Row) writeHostsTOML(b *bytes.Buffer) {
	registry, path, _ := strings.Cut(r.Mirror, "/")
	mirror := strings.TrimSuffix("https://"+registry+"/v2/"+path, "/")
	fmt.Fprintf(b, "# /etc/containerd/certs.d/%s/hosts.toml\n", r.Prefix)
	const settings = "capabilities = [\"pull\", \"resolve\"]\n%soverride_path = true\n\n"
	if !r.Fallback {
		fmt.Fprintf(b, "server = %q\n"+settings, mirror, "")
		return
	}
	server := r.Prefix
	if server == dockerHub {
		server = "registry-1.docker.io" // serves the images of docker.io
	}
	fmt.Fprintf(b, "server = %q\n[host.%q]\n  "+settings, "https://"+server, mirror, "  ")
}

// writeRegistriesConf writes the table for a prefix. blocked applies to the location only, not to mirrors
// (newDockerClient in docker/docker_client.go of go.podman.io/image v5.42.1).
func (r *Row) writeRegistriesConf(b *bytes.Buffer) {
	fmt.Fprintf(b, "[[registry]]\nprefix = %q\nlocation = %q\n", r.Prefix, r.Prefix)
	if !r.Fallback {
		b.WriteString("blocked = true\n")
	}
	fmt.Fprintf(b, "[[registry.mirror]]\nlocation = %q\n\n", r.Mirror)
}

// writeIDMS writes an object for images with a digest and an object for other images, because OpenShift uses the
// mirrors of an object for one kind of images only (ImageDigestMirrors in config/v1/types_image_digest_mirror_set.go of
// github.com/openshift/api).
func (t Table) writeIDMS(b *bytes.Buffer) {
	if len(t) == 0 {
		return
	}
	for _, kind := range []string{"Digest", "Tag"} {
		fmt.Fprintf(b, "---\napiVersion: config.openshift.io/v1\nkind: Image%sMirrorSet\nmetadata:\n  name: evergate\n"+
			"spec:\n  image%[1]sMirrors:\n", kind)
		for _, r := range t {
			fmt.Fprintf(b, "  - source: %q\n    mirrors: [%q]\n", r.Prefix, r.Mirror)
			if !r.Fallback {
				b.WriteString("    mirrorSourcePolicy: NeverContactSource\n")
			}
		}
	}
}
