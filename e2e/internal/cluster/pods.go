package cluster

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Signal sends a signal to the processes of a Pod's containers, directly from the host and without the kubelet. SIGSTOP
// freezes a replica (SIGCONT continues it), and SIGKILL crashes it.
func (c *Cluster) Signal(t testing.TB, pod *corev1.Pod, signal syscall.Signal) {
	t.Helper()
	c.NeedRig(t, "signals the processes of a Pod")
	processes, err := processesOf(pod)
	if err != nil || len(processes) == 0 {
		t.Fatalf("the processes of Pod %s: %v, found %d", pod.Name, err, len(processes))
	}
	for _, process := range processes {
		if err := syscall.Kill(process, signal); err != nil {
			t.Fatalf("signal process %d of Pod %s: %v", process, pod.Name, err)
		}
	}
}

// processesOf returns the host process IDs of a Pod's containers. Each process is in a cgroup whose path contains the
// Pod's UID. The process that only holds the namespaces is left out.
func processesOf(pod *corev1.Pod) ([]int, error) {
	files, err := filepath.Glob("/proc/[0-9]*/cgroup")
	if err != nil {
		return nil, err
	}
	var processes []int
	for _, file := range files {
		groups, err := os.ReadFile(file)
		if err != nil || !bytes.Contains(groups, []byte("pod"+string(pod.UID))) {
			continue // ended in the meantime, or not in this Pod
		}
		program, err := os.Readlink(filepath.Join(filepath.Dir(file), "exe"))
		if err != nil || program == "/pause" || strings.Contains(program, "runc") {
			continue
		}
		id, err := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		if err != nil {
			return nil, err
		}
		processes = append(processes, id)
	}
	return processes, nil
}

// await waits until condition returns true. It fails the test if that takes longer than limit.
func (c *Cluster) await(t testing.TB, what string, limit time.Duration, condition func() bool) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 200*time.Millisecond, limit, true,
		func(context.Context) (bool, error) { return condition(), nil })
	if err != nil {
		t.Fatalf("%s: %v", what, err)
	}
}
