package plan

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// Workloads that no longer create Pods are left out and counted.
func TestEndedWorkloads(t *testing.T) {
	next := mustLoad(t, "pods: [{name: no-evil, mode: enforce, images: {denied: [quay.io/evil]}}]")
	const template = `"template": {"spec": {"containers": [{"name": "app", "image": "quay.io/evil/x"}]}}`
	object := func(version, kind, meta, spec, status string) string {
		return `{"apiVersion": "` + version + `", "kind": "` + kind + `", "metadata": {"name": "web", "namespace": "shop"` + meta +
			`}, "spec": {` + spec + template + `}, "status": {` + status + `}}`
	}
	const owned = `, "ownerReferences": [{"apiVersion": "apps/v1", "kind": "Deployment", "name": "web", "controller": true}]`
	finished := func(kind string) string { return `"conditions": [{"type": "` + kind + `", "status": "True"}]` }
	for name, test := range map[string]struct {
		input string
		ended bool
	}{
		"a Deployment":                                   {object("apps/v1", "Deployment", "", "", ""), false},
		"one without replicas":                           {object("apps/v1", "Deployment", "", `"replicas": 0, `, ""), false},
		"one with the time of a Job":                     {object("apps/v1", "Deployment", "", "", `"completionTime": "2026-11-01T00:00:00Z"`), false},
		"one that is being deleted":                      {object("apps/v1", "Deployment", `, "deletionTimestamp": "2026-11-01T00:00:00Z"`, "", ""), true},
		"a Job":                                          {object("batch/v1", "Job", "", "", `"active": 1`), false},
		"one that is suspended":                          {object("batch/v1", "Job", "", `"suspend": true, `, finished("Suspended")), false},
		"one that is complete":                           {object("batch/v1", "Job", "", "", finished("Complete")), true},
		"one that failed":                                {object("batch/v1", "Job", "", "", finished("Failed")), true},
		"one that has not failed":                        {object("batch/v1", "Job", "", "", strings.Replace(finished("Failed"), "True", "False", 1)), false},
		"one with its time":                              {object("batch/v1", "Job", "", "", `"completionTime": "2026-11-01T00:00:00Z"`), true},
		"a ReplicaSet of an earlier revision":            {object("apps/v1", "ReplicaSet", owned, `"replicas": 0, `, ""), true},
		"one without an owner":                           {object("apps/v1", "ReplicaSet", "", `"replicas": 0, `, ""), false},
		"a ReplicationController of an earlier revision": {object("v1", "ReplicationController", owned, `"replicas": 0, `, ""), true},
	} {
		t.Run(name, func(t *testing.T) {
			r := planOf(Options{New: next}, test.input)
			ended, validated := 0, 1
			if test.ended {
				ended, validated = 1, 0
			}
			if r.Summary.EndedWorkloads != ended || r.Summary.Validated != validated || len(r.Errors) > 0 {
				t.Errorf("%d ended, %d validated, errors %v", r.Summary.EndedWorkloads, r.Summary.Validated, r.Errors)
			}
			text := textOf(r)
			if said := strings.Contains(text, "left out: 1 workload without further Pods"); said != test.ended {
				t.Errorf("the text contains the note: %t\n%s", said, text)
			}
		})
	}
}

// With --from-record, an entry that does not belong to the current image of the Pod is ignored.
func TestStaleRecord(t *testing.T) {
	const mirrors = "mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}]\n"
	const denied = "pods: [{name: no-one, mode: enforce, images: {denied: ['docker.io/library/nginx:1']}}]\n"
	old, next := mustLoad(t, mirrors), mustLoad(t, mirrors+denied)
	moved := mustLoad(t, strings.ReplaceAll(mirrors, "m.example", "n.example")+denied)
	record := func(image string) string {
		return strings.Replace(pod("shop", "web", image), `"namespace"`,
			`"annotations": {"evergate.dev/original-images": "{\"containers/app\":\"nginx:1\"}"}, "namespace"`, 1)
	}
	for name, test := range map[string]struct {
		o      Options
		image  string
		denied int
		stale  int
	}{
		"of the image":          {Options{Old: old, New: next}, "m.example/hub/library/nginx:1", 1, 0},
		"of an earlier image":   {Options{Old: old, New: next}, "m.example/hub/library/nginx:2", 0, 1},
		"by the old mirror":     {Options{Old: old, New: moved}, "m.example/hub/library/nginx:1", 1, 0},
		"without an old policy": {Options{New: next}, "m.example/hub/library/nginx:1", 1, 0},
		"of another registry":   {Options{Old: old, New: next}, "quay.io/library/nginx:1", 0, 1},
	} {
		t.Run(name, func(t *testing.T) {
			test.o.Recorded = true
			r := planOf(test.o, record(test.image))
			if got := r.Summary.Changes.Of(NewlyDenied); got != test.denied || r.Summary.StaleRecords != test.stale {
				t.Errorf("%d newly denied, %d stale", got, r.Summary.StaleRecords)
			}
			text := textOf(r)
			const note = "Pods whose annotation has original images that do not belong to their images: 1; these are ignored"
			if diff := cmp.Diff(test.stale > 0, strings.Contains(text, note)); diff != "" {
				t.Errorf("the note (-want +got):\n%s%s", diff, text)
			}
		})
	}
}
