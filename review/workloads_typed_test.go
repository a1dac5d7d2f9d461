package review

import (
	stdjson "encoding/json"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review/reviewtest"
)

// Workloads are read like Kubernetes' types.
func FuzzDecodeWorkload(f *testing.F) {
	for _, object := range []string{
		workloadObject(f),
		`null`, `{"spec":null,"template":null}`, `{"metadata":{"name":"a","name":"b"}}`,
		`{"spec":{"template":{"metadata":null,"spec":{"containers":[null,{"image":null}],"imagePullSecrets":null}}}}`,
		`{"spec":{"template":{"containers":[{"image":"a"}],"spec":{"containers":[{"Image":"b"}]}}}}`,
		`{"spec":{"jobTemplate":{"metadata":{"labels":{"a":"b"}},"spec":null}}}`,
		`{"template":{"spec":{"volumes":[{"image":{"reference":"a"}}],"ephemeralContainers":[{"image":"b"}]}}}`,
	} {
		f.Add([]byte(object))
	}
	f.Fuzz(func(t *testing.T, object []byte) { compareWorkloads(t, object) })
}

// These are mutants of an object that each kind reads differently.
func TestDecodeMutantsOfWorkloads(t *testing.T) {
	mutate(t, []byte(workloadObject(t)), func(t *testing.T, b []byte) bool { return compareWorkloads(t, b) > 4 })
}

func TestWorkloadsAreTyped(t *testing.T) {
	if n, want := compareWorkloads(t, []byte(workloadObject(t))), len(Workloads().Kinds); n != want {
		t.Errorf("%d kinds were read, want %d", n, want)
	}
	body := reviewtest.Update(reviewtest.Deployment(20, 3), reviewtest.Deployment(1, 0)) // as kube-apiserver sends it
	if only := typedWorkloads()[0]; !compareKind(t, body, ofKind(Workloads(), 0), only) {
		t.Error("the typed decoder does not take a Deployment")
	}
}

// compareWorkloads compares both decoders for an object as each kind, and returns how many kinds both accept.
func compareWorkloads(t *testing.T, object []byte) (taken int) {
	objects := Workloads()
	for i, kind := range typedWorkloads() {
		only := ofKind(objects, i)
		if compareKind(t, reviewOf(only.Kinds[0].Resource, string(object)), only, kind) {
			taken++
		}
	}
	return taken
}

// ofKind returns the objects of one kind.
func ofKind[T any](objects Objects[T], i int) Objects[T] {
	objects.Kinds = objects.Kinds[i : i+1]
	return objects
}

// workloadObject returns an object that has templates in the places of all kinds.
func workloadObject(t testing.TB) string {
	t.Helper()
	pod := reviewtest.Pod(1, 0)
	pod.Spec.InitContainers = []corev1.Container{{Name: "init", Image: "docker.io/acme/init:1"}}
	pod.Spec.Volumes = append(pod.Spec.Volumes, corev1.Volume{Name: "model", VolumeSource: corev1.VolumeSource{
		Image: &corev1.ImageVolumeSource{Reference: "docker.io/acme/model:1"}}})
	pod.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "pull"}}
	type fields = map[string]any
	template := fields{
		"metadata": fields{"labels": fields{"app": "shop"}, "annotations": fields{"a": "b"}}, "spec": pod.Spec,
	}
	text := must(stdjson.Marshal(fields{
		"metadata": fields{"name": "shop", "labels": fields{"a": "b"}, "ownerReferences": []any{fields{
			"apiVersion": "batch/v1", "kind": "CronJob", "name": "shop", "uid": "u", "controller": true}}},
		"spec":     fields{"template": template, "jobTemplate": fields{"spec": fields{"template": template}}},
		"template": template,
	}))
	return string(text)
}

// typedWorkloads returns the Kubernetes types, in the order of Workloads.
func typedWorkloads() []typedKind[object.Workload] {
	const inSpec, inJob, alone = "spec.template", "spec.jobTemplate.spec.template", "template"
	return []typedKind[object.Workload]{
		typedWorkload(inSpec, func(o *appsv1.Deployment) *corev1.PodTemplateSpec { return &o.Spec.Template }),
		typedWorkload(inSpec, func(o *appsv1.StatefulSet) *corev1.PodTemplateSpec { return &o.Spec.Template }),
		typedWorkload(inSpec, func(o *appsv1.DaemonSet) *corev1.PodTemplateSpec { return &o.Spec.Template }),
		typedWorkload(inSpec, func(o *appsv1.ReplicaSet) *corev1.PodTemplateSpec { return &o.Spec.Template }),
		typedWorkload(inSpec, func(o *corev1.ReplicationController) *corev1.PodTemplateSpec { return o.Spec.Template }),
		typedWorkload(inSpec, func(o *batchv1.Job) *corev1.PodTemplateSpec { return &o.Spec.Template }),
		typedWorkload(inJob, func(o *batchv1.CronJob) *corev1.PodTemplateSpec { return &o.Spec.JobTemplate.Spec.Template }),
		typedWorkload(alone, func(o *corev1.PodTemplate) *corev1.PodTemplateSpec { return &o.Template }),
	}
}

// typedWorkload reads a workload with a Kubernetes type, whose template is at a path. Our reader also reads the fields
// of a PodSpec next to spec, which custom resources may have. API servers never send them for built-in kinds.
func typedWorkload[T any, P interface {
	*T
	metav1.ObjectMetaAccessor
}](path string, template func(*T) *corev1.PodTemplateSpec) typedKind[object.Workload] {
	typed := func(raw []byte) (*object.Workload, error) {
		obj := new(T)
		if err := unmarshal(raw, obj); err != nil {
			return nil, err
		}
		w := &object.Workload{}
		if meta, ok := P(obj).GetObjectMeta().(*metav1.ObjectMeta); ok {
			w.Meta = typedMeta(*meta)
		}
		if of := template(obj); of != nil {
			if pod := podOf(of.ObjectMeta, of.Spec); len(pod.Images) > 0 {
				w.Templates = []object.PodTemplate{{Pod: *pod, Path: path + ".spec"}}
			}
		}
		return w, nil
	}
	lacks := regexp.MustCompile(`^` + regexp.QuoteMeta(path) +
		`\.(containers|initContainers|ephemeralContainers|volumes|imagePullSecrets)\b`)
	drop := func(w *object.Workload) {
		beside := func(t object.PodTemplate) bool { return !strings.HasSuffix(t.Path, ".spec") }
		w.Templates = slices.DeleteFunc(w.Templates, beside)
	}
	return typedKind[object.Workload]{typed, lacks, drop}
}
