package kit

import (
	"archive/zip"
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// crds are CRDs in a Go module: two megabytes of them, which are in no repository of ours. Modules that want a newer Go
// than this one can be downloaded all the same, and nothing of them is compiled.
type crds struct {
	module string // with its version
	files  string // a pattern of path.Match, within the module
	sum    string // SHA-256 of the files, one after the other in the order of their names
}

// hostKinds are the CRDs of the kinds that name hosts, beside those of cert-manager, which installTypes applies.
//
// The standard channel of Gateway API has also an admission policy, vap_safeupgrades, against CRDs of older bundles: left
// out. XListenerSet is of the last bundle that has it. The Route of OpenShift is in no module that can be downloaded, and
// lies in testdata in our own words.
func hostKinds() []crds {
	return []crds{
		{"sigs.k8s.io/gateway-api@v1.7.0", "config/crd/standard/gateway.networking.k8s.io_[^v]*.yaml",
			"6c5f5f800de2fc251da75e6a630cfd6d0d7f69b11626fb51bb68fc3d19f02bd2"},
		{"sigs.k8s.io/gateway-api@v1.4.1", "config/crd/experimental/*_xlistenersets.yaml",
			"7401cb071ed1719124676ee68916606f66b7439622ef7c56b2be5a1869ad5c78"},
		{"sigs.k8s.io/external-dns@v0.23.0", "config/crd/standard/dnsendpoints.*.yaml",
			"7d1c06b1e991c8db3a70be658fb628e61e71ba72f2686469c276f4f6ab0d1e30"},
	}
}

const routeCRD = "testdata/route.openshift.io.yaml"

// read returns the files as one stream of YAML, and fails the test if they are others than were pinned.
func (c crds) read(t *testing.T) []byte {
	t.Helper()
	archive, err := zip.OpenReader(c.download(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = archive.Close() }() // it was only read
	slices.SortFunc(archive.File, func(a, b *zip.File) int { return strings.Compare(a.Name, b.Name) })
	var stream bytes.Buffer
	sum := sha256.New()
	for _, f := range archive.File {
		matched, err := path.Match(c.files, strings.TrimPrefix(f.Name, c.module+"/"))
		if err != nil {
			t.Fatal(err)
		}
		if !matched {
			continue
		}
		r, err := f.Open()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.MultiWriter(&stream, sum), r); err != nil {
			t.Fatal(err)
		}
		stream.WriteString("\n---\n")
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != c.sum {
		t.Fatalf("the CRDs %s of %s have the sum %s, want %s", c.files, c.module, got, c.sum)
	}
	return stream.Bytes()
}

// download returns the zip of the module in the module cache.
func (c crds) download(t *testing.T) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "mod", "download", "-json", c.module)
	cmd.Dir = t.TempDir() // of no module
	out, err := cmd.Output()
	var module struct{ Zip, Error string }
	if json.Unmarshal(out, &module) != nil || module.Zip == "" {
		t.Fatalf("download %s: %v %s", c.module, err, module.Error)
	}
	return module.Zip // whatever is in Error: that it wants a newer Go
}

// installHostKinds applies the CRDs of all kinds that name hosts.
func (c *cluster) installHostKinds(t *testing.T) {
	t.Helper()
	for _, source := range hostKinds() {
		c.kubectl(t, string(source.read(t)), "apply", "--server-side", "-f", "-")
	}
	c.kubectl(t, "", "apply", "--server-side", "-f", routeCRD)
	c.kubectl(t, "", "wait", "--for=condition=Established", "--timeout=60s", "crd", "--all")
}

// TestCRDs: the CRDs are those that were pinned, and each kind is there once.
func TestCRDs(t *testing.T) {
	var got []string
	streams := [][]byte{readFile(t, routeCRD)}
	for _, source := range hostKinds() {
		streams = append(streams, source.read(t))
	}
	for _, stream := range streams {
		for _, doc := range documents(t, stream) {
			var crd struct {
				Spec struct {
					Group string
					Names struct{ Kind string }
				}
			}
			if err := yaml.Unmarshal(doc, &crd); err != nil {
				t.Fatal(err)
			}
			if crd.Spec.Names.Kind != "" {
				got = append(got, crd.Spec.Names.Kind+"."+crd.Spec.Group)
			}
		}
	}
	slices.Sort(got)
	want := []string{
		"BackendTLSPolicy.gateway.networking.k8s.io", "DNSEndpoint.externaldns.k8s.io",
		"GRPCRoute.gateway.networking.k8s.io", "Gateway.gateway.networking.k8s.io",
		"GatewayClass.gateway.networking.k8s.io", "HTTPRoute.gateway.networking.k8s.io",
		"ListenerSet.gateway.networking.k8s.io", "ReferenceGrant.gateway.networking.k8s.io",
		"Route.route.openshift.io", "TCPRoute.gateway.networking.k8s.io", "TLSRoute.gateway.networking.k8s.io",
		"UDPRoute.gateway.networking.k8s.io", "XListenerSet.gateway.networking.x-k8s.io",
	}
	if !slices.Equal(got, want) {
		t.Errorf("the kinds are\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
