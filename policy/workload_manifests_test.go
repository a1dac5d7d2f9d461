package policy

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/yaml"
)

// Every directory in testdata/workloads has a policy.yaml and manifests. The expected findings, with their modes, are
// at the top of a manifest, one per line after "# want: ". A new file is a new case.
func TestWorkloadManifests(t *testing.T) {
	for _, path := range testdata(t, "workloads/*/*.yaml") {
		if filepath.Base(path) == "policy.yaml" {
			continue
		}
		t.Run(strings.TrimPrefix(path, "testdata/workloads/"), func(t *testing.T) {
			p, text := mustLoadBeside(t, path), readFile(t, path)
			w := readWorkload(t, text)
			a := createWorkload
			a.Namespace = w.Namespace
			got := said(must(Workloads.Evaluate(p, a, w, nil, nil)))
			if diff := cmp.Diff(marked(text, wantMark), got); diff != "" {
				t.Error(diff)
			}
			checkName(t, path, got)
		})
	}
}

// templateManifest contains the fields of a PodTemplateSpec that the tests need, which are fields of a Pod.
type templateManifest = podManifest

// readWorkload reads the manifest of a Kubernetes kind with a template.
func readWorkload(t testing.TB, manifest []byte) *object.Workload {
	t.Helper()
	var in struct {
		Metadata struct {
			Name, Namespace string
			OwnerReferences []struct {
				Kind, Name string
				Controller bool
			}
		}
		Spec struct {
			Template    *templateManifest
			JobTemplate struct {
				Spec struct{ Template *templateManifest }
			}
		}
		Template *templateManifest
	}
	if err := yaml.Unmarshal(manifest, &in); err != nil {
		t.Fatal(err)
	}
	w := &object.Workload{Meta: object.Meta{Name: in.Metadata.Name, Namespace: in.Metadata.Namespace}}
	for _, o := range in.Metadata.OwnerReferences {
		if o.Controller {
			w.Owner = o.Kind + "/" + o.Name
		}
	}
	for path, template := range map[string]*templateManifest{
		"spec.template.spec": in.Spec.Template, "spec.jobTemplate.spec.template.spec": in.Spec.JobTemplate.Spec.Template,
		"template.spec": in.Template,
	} {
		if template != nil {
			w.Templates = append(w.Templates, object.PodTemplate{Pod: *template.pod(), Path: path})
		}
	}
	if len(w.Templates) != 1 {
		t.Fatalf("%d templates", len(w.Templates))
	}
	return w
}
