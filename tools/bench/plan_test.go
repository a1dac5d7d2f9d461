package main

import (
	"bufio"
	_ "embed"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// The limits of evergate plan for a dump, on one core.
const (
	// maxPlanRatio is the processor time for an object divided by the time that json.Valid takes for a Pod of the dump in
	// the same run. A plan reads each object once and decides it with two policies. For a million Pods, this took 1.24
	// times as long, while bench wrote the dump on the other core.
	maxPlanRatio  = 2.0
	maxPlanMemory = 150 << 20 // bytes, peak resident memory
)

// The cluster of the dump: Deployments of ten Pods, in two thousand namespaces.
const (
	planNamespaces = 2000
	planReplicas   = 10
)

// planPolicy is the old policy. The new one changes a mirror, and denies images for which the old one only warned.
const planPolicy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
- {name: quay, mode: enforce, sources: [quay.io], mirror: mirror.corp.example/quay.io}
pods:
- {name: only-mirrors, mode: enforce, images: {from: mirrors}}
- {name: tags, mode: warn, images: {deniedTags: [latest]}}
`

// dumpedPod is a Pod in the format of kubectl get -o json. A Deployment created it, and a kubelet runs it.
//
//go:embed pod.json
var dumpedPod string

// BenchmarkPlan sends a dump of a million Pods to evergate plan through a pipe, or of a tenth with -short. It fails if
// the command is too slow or takes too much memory.
func BenchmarkPlan(b *testing.B) {
	r, pods := &rig{dir: b.TempDir()}, 1_000_000
	if testing.Short() {
		pods /= 10
	}
	changes := strings.NewReplacer("example/quay.io", "example/quay", "mode: warn", "mode: enforce")
	if err := errors.Join(r.build(b.Context(), "evergate"), os.WriteFile(r.path("old.yaml"), []byte(planPolicy), 0o600),
		os.WriteFile(r.path("new.yaml"), []byte(changes.Replace(planPolicy)), 0o600)); err != nil {
		b.Fatal(err)
	}
	var used time.Duration
	var peak int64
	for b.Loop() {
		c := exec.CommandContext(b.Context(), r.path("evergate"), "plan", "--old", r.path("old.yaml"), "--new",
			r.path("new.yaml"), "-f", "-", "--from-record", "--limit", "3")
		c.Env = []string{"GOMAXPROCS=1"}
		stdin, err := c.StdinPipe()
		if err != nil {
			b.Fatal(err)
		}
		if err := c.Start(); err != nil {
			b.Fatal(err)
		}
		writeErr := writeDump(stdin, pods)
		if err := errors.Join(c.Wait(), writeErr); err != nil {
			b.Fatal(err)
		}
		used += c.ProcessState.UserTime() + c.ProcessState.SystemTime()
		peak = max(peak, c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss<<10) // Linux uses KiB
	}
	perPod := float64(used) / float64(b.N*pods)
	ratio := perPod / float64(validation())
	b.ReportMetric(perPod, "cpu-ns/object")
	b.ReportMetric(ratio, "times-json.Valid")
	b.ReportMetric(mebibytes(peak), "peak-MiB")
	if ratio > maxPlanRatio || peak > maxPlanMemory {
		b.Errorf("exceeds the limits: %.1f times the time of json.Valid, %d MiB", maxPlanRatio, maxPlanMemory>>20)
	}
}

// validation returns how long json.Valid takes for a Pod of the dump.
func validation() time.Duration {
	const times = 10_000
	pod, begin := []byte(podsOf(0)), time.Now()
	for range times {
		json.Valid(pod)
	}
	return time.Since(begin) / times
}

// writeDump writes Pods in the format of kubectl get pods -A -o json.
func writeDump(to io.WriteCloser, pods int) error {
	w := bufio.NewWriterSize(to, 1<<20)                     // fewer system calls
	put := func(text string) { _, _ = w.WriteString(text) } // Flush returns its error
	put("{\n    \"apiVersion\": \"v1\",\n    \"items\": [\n")
	for first := 0; first < pods; first += planReplicas {
		parts := strings.Split(podsOf(first/planReplicas), "POD")
		for i := first; i < min(first+planReplicas, pods); i++ {
			if i > 0 {
				put(",\n")
			}
			put(strings.Join(parts, strconv.Itoa(i)))
		}
	}
	put("\n    ],\n    \"kind\": \"List\",\n    \"metadata\": {\n        \"resourceVersion\": \"\"\n    }\n}\n")
	return errors.Join(w.Flush(), to.Close())
}

// podsOf returns the Pods that a Deployment creates, with POD as a placeholder for their number. In every twenty
// Deployments, one does not have a tag, and two use another registry.
func podsOf(deployment int) string {
	original, mirrored := "nginx:1.25.3", "mirror.corp.example/docker.io/library/nginx:1.25.3"
	switch deployment % 20 {
	case 0:
		original, mirrored = "nginx", "mirror.corp.example/docker.io/library/nginx"
	case 1, 2:
		original, mirrored = "quay.io/acme/api:v4", "mirror.corp.example/quay.io/acme/api:v4"
	}
	return strings.NewReplacer(
		"NAMESPACE", "team-"+strconv.Itoa(deployment%planNamespaces), "DEPLOYMENT", "web-"+strconv.Itoa(deployment),
		"ORIGINAL", original, "MIRRORED", mirrored,
	).Replace(dumpedPod)
}
