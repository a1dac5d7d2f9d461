package kit

import (
	"bytes"
	"encoding/base64"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestOwnCertificates runs the commands of the page on certificates: a server accepts the certificate that they create,
// and an API server gets its CA.
func TestOwnCertificates(t *testing.T) {
	t.Parallel()
	const page = "certificates.md"
	dir := t.TempDir()
	openssl := exec.CommandContext(t.Context(), "bash", "-euc", block(t, page, "sh", "openssl req"))
	openssl.Dir = dir
	if out, err := openssl.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	startProduct(t, build(t), dir, policyFile(t, "{apiVersion: evergate.dev/v1alpha1, kind: EvergatePolicy}"))
	local := strings.NewReplacer("https://github.com/evergate/evergate//", "../../", "?ref=v0.1.0", "")
	k := read(t)
	manifests := k.render(t, k.add(t, local.Replace(block(t, page, "yaml", "kustomize/base"))))
	if bytes.Contains(manifests, []byte("cert-manager.io")) {
		t.Error("the overlay refers to cert-manager")
	}
	c := start(t)
	c.kubectl(t, string(manifests), "apply", "-f", "-")
	c.bash(t, "cd "+dir+"\n"+block(t, page, "sh", "create secret generic"))
	ca := base64.StdEncoding.EncodeToString(readFile(t, filepath.Join(dir, "ca.crt")))
	for name, bundle := range c.bundles(t) {
		if bundle != ca {
			t.Errorf("caBundle of %s is %q", name, bundle)
		}
	}
}

// TestServiceCA checks that the component leaves nothing of cert-manager, and that preflight accepts it.
func TestServiceCA(t *testing.T) {
	t.Parallel()
	binary := build(t)
	for _, components := range []string{"service-ca", "client-certificate, service-ca"} {
		k := read(t)
		list := "../../kustomize/components/" + strings.ReplaceAll(components, ", ", ", ../../kustomize/components/")
		out := k.render(t, k.add(t, `
resources: [../../kustomize/overlays/fail-closed]
components: [`+list+`]
transformers: [../../kustomize/wiring]`))
		if bytes.Contains(out, []byte("cert-manager.io")) {
			t.Errorf("%s: the overlay refers to cert-manager:\n%s", components, out)
		}
		preflight := exec.CommandContext(t.Context(), binary, "preflight", "-f", "-")
		preflight.Stdin = bytes.NewReader(out)
		if report, err := preflight.CombinedOutput(); err != nil || bytes.Contains(report, []byte("warning ")) {
			t.Errorf("%s: %v\n%s", components, err, report)
		}
	}
}
