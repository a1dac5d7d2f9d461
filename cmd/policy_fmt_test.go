package cmd

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// With -w files are written in place, with their mode; a second time nothing changes, and a directory stands for its files.
func TestPolicyFmtWrites(t *testing.T) {
	unformatted, err := os.ReadFile("testdata/policy-unformatted.yaml")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	file := filepath.Join(dir, "a.yaml")
	if err := os.WriteFile(file, unformatted, 0o640); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "b.yaml")
	if err := os.WriteFile(bad, []byte("kind: ConfigMap\n"), 0o640); err != nil {
		t.Fatal(err)
	}
	run := func(want int, args ...string) string {
		t.Helper()
		var stdout, stderr bytes.Buffer
		if code := Run(t.Context(), append([]string{"policy", "fmt"}, args...), nil, nil, &stdout, &stderr); code != want {
			t.Errorf("%v: exit code %d, want %d: %s", args, code, want, stderr.String())
		}
		return stdout.String()
	}
	formatted := run(0, file)
	run(1, "-d", file)
	if got := run(2, "-w", dir); got != "" {
		t.Errorf("prints %q", got)
	}
	run(0, "-d", file)
	run(0, "-w", file)
	got, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(formatted, string(got)); diff != "" {
		t.Error(diff)
	}
	if got, err := os.ReadFile(bad); err != nil || string(got) != "kind: ConfigMap\n" {
		t.Errorf("what is not a policy was changed: %q, %v", got, err)
	}
	info, err := os.Stat(file)
	if err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
}
