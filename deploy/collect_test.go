package deploy

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/offline"
)

// TestCollect runs collect.sh with a kubectl of the test, and reads what it prints.
func TestCollect(t *testing.T) {
	bin, err := filepath.Abs("testdata")
	if err != nil {
		t.Fatal(err)
	}
	asked := filepath.Join(t.TempDir(), "asked")
	cmd := exec.CommandContext(t.Context(), "./collect.sh")
	cmd.Env = []string{"PATH=" + bin + ":" + os.Getenv("PATH"), "ASKED=" + asked}
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	if err := cmd.Run(); err != nil {
		t.Fatal(err, stderr.String())
	}
	if diff := cmp.Diff("Error from server (Forbidden): nodes is forbidden\n"+
		"collect.sh: left out: kubectl get nodes\n", stderr.String()); diff != "" {
		t.Error(diff)
	}

	inv, err := Read(offline.Read([]string{offline.Stdin}, &stdout))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for o := range inv.sources {
		got = append(got, inv.ref(o).String())
		if !live(o) {
			t.Errorf("%s is not known to be from a cluster", inv.ref(o))
		}
	}
	slices.Sort(got)
	want := []string{
		"Deployment other/other", "MutatingWebhookConfiguration evergate",
		"Secret evergate-system/evergate-ca", "Secret evergate-system/evergate-tls",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	secret := find(inv.secrets, "evergate-system", "evergate-tls")
	if diff := cmp.Diff(map[string][]byte{"tls.crt": []byte("LEAF"), "ca.crt": []byte("CA")}, secret.Data); diff != "" {
		t.Error(diff)
	}
	checkAsked(t, asked)
}

// checkAsked checks that the script reads, and reads of Secrets nothing but certificates.
func checkAsked(t *testing.T, file string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(text)) {
		secrets := strings.Contains(line, "secret ") || strings.Contains(line, "secrets")
		if strings.HasPrefix(line, "api-resources ") {
			continue
		}
		if !strings.Contains(line, "get ") || strings.Contains(line, ".key") || secrets && strings.Contains(line, "json ") {
			t.Errorf("kubectl %s", line)
		}
	}
	for name := range kinds() {
		plural := strings.ToLower(name) + "s"
		if before, ok := strings.CutSuffix(plural, "ys"); ok {
			plural = before + "ies"
		}
		plural = strings.NewReplacer("ingresss", "ingresses", "prometheuss", "prometheuses",
			"configmaps", "configmap", "secrets", "secret").Replace(plural)
		if !strings.Contains(string(text), " "+plural) {
			t.Errorf("no kubectl get %s", plural)
		}
	}
}
