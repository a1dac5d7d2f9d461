package cluster

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// Repository is the name, without the tag, of the images of the product that the rig builds.
const Repository = "evergate.e2e/evergate"

// Pause is the reference of an image that is on every node of the rig and does nothing, for Pods that only have to run.
const Pause = "evergate.e2e/pause:1"

// LoadImage loads an image from a Docker or OCI archive onto every node, also onto those that are off, when they start.
// The archive names the image.
func (c *Cluster) LoadImage(t testing.TB, archive string) {
	t.Helper()
	c.script(t.Context(), t, "image.sh", "load", archive)
}

// LoadBinary makes an image of one static binary, its entry point, and loads it onto every node: a server or a client
// of a test's own. ref is its whole name, such as evergate.e2e/server:1.
func (c *Cluster) LoadBinary(t testing.TB, ref, binary string) {
	t.Helper()
	c.script(t.Context(), t, "image.sh", "binary", ref, binary)
}

// TagImage gives an image that is on every node of the rig one more name, such as that of a mirror that no node can
// reach from here: a Pod whose image was rewritten to it then runs.
func (c *Cluster) TagImage(t testing.TB, ref, name string) {
	t.Helper()
	c.script(t.Context(), t, "image.sh", "tag", ref, name)
}

// BuildImage builds the image of the product from the Dockerfile of a source: a directory, or a commit of this
// repository. It is then on every node as Repository:TAG.
func (c *Cluster) BuildImage(t testing.TB, source, tag string) {
	t.Helper()
	c.script(t.Context(), t, "image.sh", "build", source, tag)
}

// AddRegistry has every node of the rig pull images named HOST/… from server, an address and a port, whose certificate
// ca has signed (PEM), until the test ends. Images that were pulled stay on the nodes.
func (c *Cluster) AddRegistry(t testing.TB, host, server string, ca []byte) {
	t.Helper()
	c.NeedRig(t, "adds a registry to containerd's configuration")
	file := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(file, ca, 0o600); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.script(context.WithoutCancel(t.Context()), t, "registry.sh", "remove", host) })
	c.script(t.Context(), t, "registry.sh", "add", host, "https://"+server, file)
}

// Address returns the IP address by which nodes of the rig reach this machine.
func (c *Cluster) Address(t testing.TB) string {
	t.Helper()
	c.NeedRig(t, "has nodes call this machine")
	api, err := url.Parse(c.admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	return api.Hostname() // the API server is here
}
