package cluster

import (
	"context"
	"net/url"
	"os"
	"path/filepath"
	"testing"
)

// Repository is the name, without the tag, of the product images that the rig builds.
const Repository = "evergate.e2e/evergate"

// Pause is the reference of an image that is on every node of the rig and does nothing, for Pods that only have to run.
const Pause = "evergate.e2e/pause:1"

// LoadBinary creates an image of one static binary, which is its entry point, and loads it onto every node. It is for
// servers and clients of a test. ref is the full name, such as evergate.e2e/server:1.
func (c *Cluster) LoadBinary(t testing.TB, ref, binary string) {
	t.Helper()
	c.script(t.Context(), t, "image.sh", "binary", ref, binary)
}

// AddRegistry makes every node of the rig pull images with names HOST/… from server until the test ends. server is an
// address and a port, and ca has signed its certificate (PEM). Pulled images stay on the nodes.
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

// Address returns the IP address at which the rig's nodes reach this machine.
func (c *Cluster) Address(t testing.TB) string {
	t.Helper()
	c.NeedRig(t, "has nodes call this machine")
	api, err := url.Parse(c.admin.Host)
	if err != nil {
		t.Fatal(err)
	}
	return api.Hostname() // the API server runs here
}
