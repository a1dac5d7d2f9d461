package offline

import (
	"strings"
	"testing"

	"github.com/evergate/evergate/policy"
)

const workloadsPolicy = `
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
templates:
- {group: ray.io, versions: [v1, v1alpha1], kind: RayJob, resource: rayjobs, paths: [spec.head.template]}
- {group: serving.knative.dev, versions: [v1], kind: Service, resource: services, paths: [spec.template]}
pods:
- {name: no-evil, mode: enforce, images: {denied: [quay.io]}}
- {name: at-once, mode: enforce, workloads: enforce, images: {denied: [gcr.io]}}
- {name: later, mode: enforce, workloads: "off", images: {denied: [docker.io/old]}}
- {name: tags, mode: warn, images: {deniedTags: [latest]}}
`

// reviewWorkloads returns the decisions about manifests, and the skipped objects.
func reviewWorkloads(t *testing.T, o Options, manifests, old string) (report *Report, said string) {
	t.Helper()
	p, err := policy.Load(policy.File{Name: "p.yaml", Data: []byte(workloadsPolicy)})
	if err != nil {
		t.Fatal(err)
	}
	o.Policy, o.Namespace = p, "default"
	if old != "" {
		if o.Old, err = NewIndex(Read([]string{Stdin}, strings.NewReader(old)), "default"); err != nil {
			t.Fatal(err)
		}
	}
	report = Review(o, Read([]string{Stdin}, strings.NewReader(manifests)))
	var lines []string
	for _, r := range report.Results {
		lines = append(lines, r.Kind+" "+string(r.Decision))
	}
	for _, line := range report.Lines() {
		lines = append(lines, strings.TrimPrefix(line, "skipped: "))
	}
	return report, strings.Join(append(lines, report.Errors...), "; ")
}

// The decisions about workloads, including custom resources in the templates block, and the exit codes.
func TestWorkloads(t *testing.T) {
	deployment := func(image string) string {
		return "{apiVersion: apps/v1, kind: Deployment, metadata: {name: d}, spec: {template: {spec: {containers: " +
			"[{image: '" + image + "'}]}}}}\n"
	}
	ray := func(version, image string) string {
		return "{apiVersion: ray.io/" + version +
			", kind: RayJob, metadata: {name: r}, spec: {head: {template: {spec: {containers: [{image: '" + image + "'}]}}}}}\n"
	}
	for name, test := range map[string]struct {
		manifests, old, want string
		exit                 int
	}{
		"allowed":         {deployment("ghcr.io/a:1"), "", "Deployment allowed", 0},
		"its Pods denied": {deployment("quay.io/a:1"), "", "Deployment podsDenied", 1},
		"denied itself":   {deployment("gcr.io/a:1"), "", "Deployment denied", 1},
		"off":             {deployment("docker.io/old:1"), "", "Deployment allowed", 0},
		"warned of":       {deployment("ghcr.io/a"), "", "Deployment allowed", 0},
		"both": {deployment("quay.io/a:1") + "---\n" + deployment("gcr.io/a:1"), "",
			"Deployment podsDenied; Deployment denied", 1},
		"as it was before":   {deployment("quay.io/a:1"), deployment("quay.io/a:1"), "Deployment allowed", 0},
		"a custom resource":  {ray("v1", "quay.io/a:1"), "", "RayJob podsDenied", 1},
		"its other version":  {ray("v1alpha1", "quay.io/a:1"), "", "RayJob podsDenied", 1},
		"a version unknown":  {ray("v2", "quay.io/a:1"), "", "RayJob.ray.io r (not validated)", 0},
		"without a template": {"{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r}}", "", "RayJob allowed", 0},
		"of an unknown group": {"{apiVersion: a.example/v1, kind: RayJob, metadata: {name: r}}", "",
			"RayJob.a.example r (not validated)", 0},
		"a name of two kinds": {"{apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: s}, " +
			"spec: {template: {spec: {containers: [{image: 'quay.io/a:1'}]}}}}\n---\n{apiVersion: v1, kind: Service, " +
			"metadata: {name: s}}", "",
			"Service podsDenied; Service allowed", 1},
		"of a wrong type": {"{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r}, spec: {head: []}}", "",
			"stdin:1: RayJob r: spec.head: want an object, got a list", 2},
	} {
		t.Run(name, func(t *testing.T) {
			report, said := reviewWorkloads(t, Options{}, test.manifests, test.old)
			equal(t, test.want, said)
			if got := report.ExitCode(); got != test.exit {
				t.Errorf("exit code %d, want %d", got, test.exit)
			}
		})
	}
}

// Reviews of custom resources are decided like reviews of workloads. Existing workloads are skipped, because their
// Pods are validated.
func TestWorkloadsOtherwise(t *testing.T) {
	const review = `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",` +
		`"resource":{"group":"ray.io","version":"v1alpha1","resource":"rayjobs"},"operation":"CREATE","name":"r",` +
		`"object":{"spec":{"head":{"template":{"containers":[{"image":"quay.io/a:1"}]}}}}}}`
	if _, got := reviewWorkloads(t, Options{Reviews: true}, review, ""); got != "RayJob podsDenied" {
		t.Error(got)
	}
	const job = "{apiVersion: ray.io/v1, kind: RayJob, metadata: {name: r}}"
	if _, got := reviewWorkloads(t, Options{AsExisting: true}, job,
		""); got != "RayJob.ray.io r (its Pods are validated instead)" {
		t.Error(got)
	}
}
