package review

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy"
)

// reviewOf returns the review of a creation, with the resource in the position of kube-apiserver.
func reviewOf(of Resource, object string) []byte {
	return fmt.Appendf(nil, `{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1",`+
		`"resource":{"group":%q,"version":%q,"resource":%q},"operation":"CREATE","object":%s}}`,
		of.Group, of.Version, of.Name, object)
}

// someTemplates returns the entries of a policy for two custom resources. One has the name of a built-in resource.
func someTemplates() []policy.Template {
	return []policy.Template{
		{
			Group: "ray.io", Versions: []string{"v1", "v1alpha1"}, Kind: "RayJob", Resource: "rayjobs",
			Paths: []policy.TemplatePath{{"spec", "head", "template"}, {"spec", "workers", "*", "template"}},
		},
		{
			Group: "batch.example.io", Versions: []string{"v1"}, Kind: "CronJob", Resource: "cronjobs",
			Paths: []policy.TemplatePath{{"spec", "pod"}},
		},
	}
}

// Only the templates at the paths of the resource are read.
func TestDecodeWorkloads(t *testing.T) {
	const pod = `{"metadata":{"labels":{"a":"b"}},"spec":{"containers":[{"name":"c","image":"i"}]}}`
	const object = `{"kind":"Pod","metadata":{"name":"w","ownerReferences":[{"kind":"A","name":"b","controller":true}]},` +
		`"template":` + pod + `,"spec":{"template":` + pod + `,"jobTemplate":{"spec":{"template":` + pod + `}},` +
		`"pod":` + pod + `,"head":{"template":` + pod + `},"workers":[{"template":` + pod + `}]}}`
	wanted := map[string]string{
		"podtemplates.v1": "template.spec", "cronjobs.v1.batch": "spec.jobTemplate.spec.template.spec",
		"rayjobs.v1.ray.io":            "spec.head.template.spec spec.workers[0].template.spec",
		"rayjobs.v1alpha1.ray.io":      "spec.head.template.spec spec.workers[0].template.spec",
		"cronjobs.v1.batch.example.io": "spec.pod.spec",
	}
	kinds := Workloads(someTemplates()...)
	if len(kinds.Kinds) != 11 {
		t.Errorf("%d kinds", len(kinds.Kinds))
	}
	for _, k := range kinds.Kinds {
		req, err := kinds.Decode(reviewOf(k.Resource, object))
		if err != nil {
			t.Errorf("%s: %v", k.Resource, err)
			continue
		}
		want := wanted[k.Resource.String()]
		if want == "" {
			want = "spec.template.spec"
		}
		alone, err := kinds.ParseAs(k.Resource, []byte(object))
		if diff := cmp.Diff(req.Object, alone); err != nil || diff != "" {
			t.Errorf("%s alone: %v\n%s", k.Resource, err, diff)
		}
		var paths []string
		for _, template := range req.Object.Templates {
			paths = append(paths, template.Path)
			if template.Labels["a"] != "b" || len(template.Images) != 1 || template.Images[0].Ref != "i" {
				t.Errorf("%s: %+v", k.Resource, template)
			}
		}
		if got := strings.Join(paths, " "); got != want || req.Group != k.Resource.Group || req.Object.Owner != "A/b" {
			t.Errorf("%s: %s, want %s; %+v", k.Resource, got, want, req)
		}
	}
}

// A review of an unexpected resource is an error, and so is an object that comes before its resource.
func TestDecodeWorkloadErrors(t *testing.T) {
	objects := Workloads(someTemplates()...)
	for want, body := range map[string][]byte{
		"request.resource is rayjobs.v1beta1.ray.io, want deployments.v1.apps or statefulsets.v1.apps or " +
			"daemonsets.v1.apps " +
			"or replicasets.v1.apps or replicationcontrollers.v1 or jobs.v1.batch or cronjobs.v1.batch or podtemplates.v1 or " +
			"rayjobs.v1.ray.io or rayjobs.v1alpha1.ray.io or cronjobs.v1.batch.example.io": reviewOf(
			Resource{"ray.io", "v1beta1", "rayjobs"}, `{}`),
		"an object comes before request.resource: kube-apiserver writes request.resource first": []byte(
			`{"kind":"AdmissionReview","apiVersion":"admission.k8s.io/v1","request":{"uid":"u-1","operation":"CREATE",` +
				`"object":{},"resource":{"group":"apps","version":"v1","resource":"deployments"}}}`),
	} {
		_, err := objects.Decode(body)
		if protocol, ok := errors.AsType[*Error](err); !ok || protocol.Msg != want || protocol.Status != 400 {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	_, err := objects.Decode(reviewOf(Resource{"ray.io", "v1", "rayjobs"}, `{"spec":{"workers":"x"}}`))
	wantContentError(t, err, "u-1", "spec.workers: want an object or a list, got a string")
}

// If a template is null or absent, the object has no Pods.
func TestDecodeWorkloadWithoutTemplate(t *testing.T) {
	for _, object := range []string{`{}`, `{"spec":null}`, `{"spec":{}}`, `{"spec":{"template":null}}`,
		`{"spec":{"template":{}}}`, `{"spec":{"template":{"spec":null}}}`,
		`{"spec":{"template":{"spec":{"containers":[]}}}}`} {
		req, err := Workloads().Decode(reviewOf(Resource{"apps", "v1", "deployments"}, object))
		if err != nil || len(req.Object.Templates) != 0 {
			t.Errorf("%s: %v, %v", object, req, err)
		}
	}
}
