package examples_test

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/examples"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/suite"
	"github.com/evergate/evergate/review"
)

var update = flag.Bool("update", false, "update the .want files")

// TestManifests checks the output for each manifest, and that the good manifests pass.
func TestManifests(t *testing.T) {
	t.Chdir("..") // the commands in the files use paths from the root
	hardened := "examples/policies/hardened.yaml"
	for _, file := range glob(t, "examples/manifests/*.yaml") {
		t.Run(filepath.Base(file), func(t *testing.T) {
			policyFile := hardened
			if strings.Contains(file, "workloads-") {
				policyFile = "examples/policies/workloads.yaml"
			}
			options := offline.Options{Policy: load(t, policyFile), Namespace: "default"}
			report := offline.Review(options, offline.Read([]string{file},
				nil))
			if want := strings.Contains(file, "-good"); (report.Decision == offline.Allowed) != want {
				t.Errorf("decision %s", report.Decision)
			}
			var text bytes.Buffer
			text.WriteString("$ evergate review --policy " + policyFile + " -f " + filepath.ToSlash(file) + "\n")
			if err := report.WriteText(&text, offline.TextOptions{}); err != nil {
				t.Fatal(err)
			}
			golden(t, strings.TrimSuffix(file, ".yaml")+".want", text.Bytes())
		})
	}
}

func TestReviews(t *testing.T) {
	dev := must(policy.Load(policy.File{Name: "dev.yaml", Data: examples.DevPolicy()}))
	pod := must(review.Pods().Decode(must(os.ReadFile("reviews/pod.json"))))
	if rw := must(dev.RewritePod(pod.Attributes, pod.Object, nil, nil)); !rw.Changes() {
		t.Error("the Pod's images are not rewritten")
	}
	if findings := must(dev.EvaluatePod(pod.Attributes, pod.Object, nil, nil)); len(findings) > 0 {
		t.Errorf("the Pod is denied: %v", findings)
	}
	ing := must(review.Ingresses().Decode(must(os.ReadFile("reviews/ingress.json"))))
	if findings := must(dev.EvaluateIngress(ing.Attributes, ing.Object, nil, nil)); len(findings) == 0 {
		t.Error("the Ingress is not denied")
	}
	svc := must(review.Services().Decode(must(os.ReadFile("reviews/service.json"))))
	if findings := must(dev.EvaluateService(svc.Attributes, svc.Object, nil, nil)); len(findings) > 0 {
		t.Errorf("the Service is denied: %v", findings)
	}
}

// TestPolicies checks that the examples contain every field of policy files.
func TestPolicies(t *testing.T) {
	var all []byte
	for _, file := range policies(t) {
		load(t, file)
		data := must(os.ReadFile(file))
		all = append(all, data...)
	}
	tag := regexp.MustCompile("`yaml:\"([a-zA-Z]+)[,\"]")
	fields := map[string]bool{}
	for _, file := range glob(t, "../policy/*.go") {
		source := must(os.ReadFile(file))
		for _, m := range tag.FindAllSubmatch(source, -1) {
			fields[string(m[1])] = true
		}
	}
	if len(fields) < 30 {
		t.Fatalf("found only %d fields in the sources of package policy: %v", len(fields), fields)
	}
	for field := range fields {
		if !regexp.MustCompile(`(?m)(^|[ {])`+field+`: `).Match(all) && !bytes.Contains(all, []byte(field+":\n")) {
			t.Errorf("no example has the field %s", field)
		}
	}
}

// policies returns the policy files.
func policies(t *testing.T) []string {
	t.Helper()
	return slices.DeleteFunc(glob(t, "policies/*.yaml"), suite.IsFile)
}

func load(t *testing.T, file string) *policy.Policy {
	t.Helper()
	data := must(os.ReadFile(file))
	p := must(policy.Load(policy.File{Name: filepath.Base(file), Data: data}))
	return p
}

func glob(t *testing.T, pattern string) []string {
	t.Helper()
	files, err := filepath.Glob(pattern)
	if err != nil || len(files) == 0 {
		t.Fatalf("no file %s (%v)", pattern, err)
	}
	return files
}

func golden(t *testing.T, file string, got []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(file, got, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want := must(os.ReadFile(file))
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs (-want +got); run go test ./examples -update:\n%s", file, diff)
	}
}

// must returns v, and panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}
