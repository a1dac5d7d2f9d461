package review

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestImageFields compares the fields of k8s.io/api that refer to an image or an artifact with the fields that Evergate
// reads. It fails if a new version of the module adds such a field, or has a field that was only announced.
func TestImageFields(t *testing.T) {
	const pods = " core/v1 Container.image core/v1 EphemeralContainerCommon.image core/v1 VolumeSource.image" +
		" core/v1 ImageVolumeSource.reference"
	// The fields that Evergate reads although the module in go.mod does not have them.
	announced := map[string]string{
		"core/v1 SeccompProfile.oci":     "k8s.io/api v0.38.0-beta.0, core/v1/types.go; KEP-6061, alpha in 1.38",
		"core/v1 SecurityProfileOCI.ref": "k8s.io/api v0.38.0-beta.0, core/v1/types.go; KEP-6061, alpha in 1.38",
	}
	unread := map[string]string{
		"core/v1 Container.imagePullPolicy":                   "a policy",
		"core/v1 EphemeralContainerCommon.imagePullPolicy":    "a policy",
		"core/v1 PodSpec.imagePullSecrets":                    "names of Secrets",
		"core/v1 ServiceAccount.imagePullSecrets":             "names of Secrets",
		"core/v1 RBDVolumeSource.image":                       "a block device of Ceph",
		"core/v1 RBDPersistentVolumeSource.image":             "a block device of Ceph",
		"core/v1 ContainerStatus.image":                       "status",
		"core/v1 ContainerStatus.imageID":                     "status",
		"core/v1 VolumeStatus.image":                          "status",
		"core/v1 ImageVolumeStatus.imageRef":                  "status",
		"core/v1 SerializedReference.reference":               "a reference to an object",
		"core/v1 NodeStatus.images":                           "status",
		"core/v1 NodeSystemInfo.osImage":                      "the operating system of a node",
		"imagepolicy/v1alpha1 ImageReviewContainerSpec.image": "a request of another webhook",
	}
	dir, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Dir}}", "k8s.io/api").Output()
	if err != nil {
		t.Fatal(err)
	}
	found := imageFields(t, strings.TrimSpace(string(dir)))
	if len(found) < len(unread) {
		t.Errorf("found only %q", found)
	}
	for _, field := range found {
		if source, ok := announced[field]; ok {
			t.Errorf("%s is no longer only announced (%s): move it to the fields that are read, and use its type", field, source)
		} else if unread[field] == "" && !strings.Contains(pods+" ", " "+field+" ") {
			t.Errorf("%s may refer to an image: have readPodSpec read it, or add it here with the reason", field)
		}
	}
	for field := range unread {
		if !slices.Contains(found, field) {
			t.Errorf("%s is not in the module: remove it here", field)
		}
	}
}

// imageFields returns the fields of all types of k8s.io/api whose names or comments are about images or artifacts.
func imageFields(t *testing.T, dir string) (found []string) {
	t.Helper()
	about := regexp.MustCompile(`^(\w*[a-z])?(image|Image|oci|OCI|artifact|Artifact)([A-Z]\w*|s)? |^reference |\bOCI ref`)
	files, err := filepath.Glob(dir + "/*/*/types.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("no types in %s: %v", dir, err)
	}
	for _, file := range files {
		tree, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		version := strings.TrimPrefix(filepath.Dir(file), dir+"/")
		ast.Inspect(tree, func(n ast.Node) bool {
			spec, _ := n.(*ast.TypeSpec)
			if spec == nil {
				return true
			}
			if of, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range of.Fields.List {
					if f.Tag == nil {
						continue
					}
					name, _, _ := strings.Cut(reflect.StructTag(strings.Trim(f.Tag.Value, "`")).Get("json"), ",")
					if about.MatchString(name + " " + f.Doc.Text()) {
						found = append(found, version+" "+spec.Name.Name+"."+name)
					}
				}
			}
			return true
		})
	}
	return found
}
