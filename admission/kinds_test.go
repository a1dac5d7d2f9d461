package admission

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy"
)

// Each path asks for the mode of the entries that concern it, and of no others.
func TestModesOfPaths(t *testing.T) {
	modes := policy.Modes{Mirrors: policy.Off, Pods: policy.Audit, Ingresses: policy.Warn, Services: policy.Enforce}
	got := map[string]policy.Mode{}
	for _, w := range Webhooks() {
		got[w.Path] = w.Strictest(modes)
	}
	want := map[string]policy.Mode{
		"/mutate/pods": policy.Off, "/mutate/pods/again": policy.Off, "/validate/pods": policy.Audit,
		"/validate/ingresses": policy.Warn, "/validate/services": policy.Enforce, "/validate/services/status": policy.Enforce,
		"/validate/policy": policy.Enforce, // a policy that cannot be read is none
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes (-want +got):\n%s", diff)
	}
}

// The kit calls every path, and no other.
func TestKitCallsEveryPath(t *testing.T) {
	files, err := filepath.Glob("../kustomize/base/*webhook*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no webhook configurations: %v", err)
	}
	var called, served []string
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			if _, path, ok := strings.Cut(line, " path: "); ok {
				path, _, _ = strings.Cut(path, ",")
				called = append(called, path)
			}
		}
	}
	for _, w := range Webhooks() {
		served = append(served, w.Path)
	}
	slices.Sort(called)
	slices.Sort(served)
	if diff := cmp.Diff(served, called); diff != "" {
		t.Errorf("served (-), called by the kit (+):\n%s", diff)
	}
}
