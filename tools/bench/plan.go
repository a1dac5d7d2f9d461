package main

import (
	"bufio"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
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

// measurePlan sends a dump of Pods to evergate plan through a pipe. It returns an error if the command is too slow or
// takes too much memory.
func (r *rig) measurePlan(ctx context.Context, o options) error {
	changes := strings.NewReplacer("example/quay.io", "example/quay", "mode: warn", "mode: enforce")
	if err := errors.Join(os.WriteFile(r.path("old.yaml"), []byte(planPolicy), 0o600),
		os.WriteFile(r.path("new.yaml"), []byte(changes.Replace(planPolicy)), 0o600)); err != nil {
		return err
	}
	c := exec.CommandContext(ctx, r.path("evergate"), "plan", "--old", r.path("old.yaml"), "--new", r.path("new.yaml"),
		"-f", "-", "--from-record", "--limit", "3")
	c.Env = []string{"GOMAXPROCS=1"}
	c.Stdout, c.Stderr = os.Stdout, os.Stderr
	stdin, err := c.StdinPipe()
	if err != nil {
		return err
	}
	begin := time.Now()
	if err := c.Start(); err != nil {
		return err
	}
	written, writeErr := writeDump(stdin, o.pods)
	if err := errors.Join(c.Wait(), writeErr); err != nil {
		return err
	}
	took, cpu := time.Since(begin), c.ProcessState.UserTime()+c.ProcessState.SystemTime()
	peak := c.ProcessState.SysUsage().(*syscall.Rusage).Maxrss << 10 // Linux uses KiB
	pod := []byte(podsOf(0))
	validation := testing.Benchmark(func(b *testing.B) {
		for b.Loop() {
			json.Valid(pod)
		}
	})
	ratio := float64(cpu) / float64(o.pods) / float64(validation.NsPerOp())
	fmt.Printf("\n%d Pods, %.1f GB of JSON: %.0f s, %.0f objects a second; %.0f s of processor time, %.2f times the "+
		"time of json.Valid; at most %.0f MiB\n", o.pods, float64(written)/1e9, took.Seconds(),
		float64(o.pods)/took.Seconds(), cpu.Seconds(), ratio, mebibytes(peak))
	if ratio > maxPlanRatio || peak > maxPlanMemory {
		return fmt.Errorf("exceeds the limits: %.1f times the time of json.Valid, %d MiB", maxPlanRatio, maxPlanMemory>>20)
	}
	return nil
}

// writeDump writes Pods in the format of kubectl get pods -A -o json, and returns the number of bytes.
func writeDump(to io.WriteCloser, pods int) (written int64, err error) {
	w := bufio.NewWriterSize(to, 1<<20) // fewer system calls
	put := func(text string) {
		n, _ := w.WriteString(text) // Flush returns its error
		written += int64(n)
	}
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
	return written, errors.Join(w.Flush(), to.Close())
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
