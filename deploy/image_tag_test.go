package deploy

import (
	"os"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"
)

// TestImageTagFix checks that the fix has the image name of kustomize/base. kustomize ignores an image name that no
// container has, without an error.
func TestImageTagFix(t *testing.T) {
	data, err := os.ReadFile("../kustomize/base/kustomization.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var base struct {
		Images []struct{ NewName, NewTag string }
	}
	if err := yaml.Unmarshal(data, &base); err != nil || len(base.Images) != 1 {
		t.Fatalf("want one image in kustomize/base: %v, %v", base.Images, err)
	}
	want := "{name: " + base.Images[0].NewName + ", newTag: " + base.Images[0].NewTag + "}"
	if fix := imageTag().fix; !strings.Contains(fix, want) {
		t.Errorf("%s\ndoes not have %s", fix, want)
	}
}
