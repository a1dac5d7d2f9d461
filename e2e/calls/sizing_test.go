package calls

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/process"
)

// The highest rate in docs/runbooks/sizing.md, and the replicas and CPU request of the default size.
const (
	highestRate  = 400 // reviews per second
	replicas     = 3
	cpuRequest   = 100 // thousandths of a core, which are a limit here
	largePod     = 20  // containers
	sizingPeriod = time.Minute
)

// BenchmarkSizing measures the largest row of docs/runbooks/sizing.md: the replicas of the default size, each limited to
// its CPU request, and reviews of large Pods at the highest rate. If one call fails, the benchmark fails.
func BenchmarkSizing(b *testing.B) {
	c := newCluster(b, product(b))
	processes := make([]*process.Process, replicas)
	addresses := make([]string, replicas)
	for i := range processes {
		p := c.start()
		cgroup, err := p.LimitCPU(cpuRequest)
		must(b, err)
		b.Cleanup(func() {
			_ = p.Terminate()
			p.Wait()
			must(b, cgroup.Remove())
		})
		processes[i], addresses[i] = p, p.Addr
	}
	c.service.Set(addresses...)
	review := largePodReview(b)
	b.ResetTimer()
	for b.Loop() {
		before := cpuOf(b, processes)
		took := c.paced(b, review)
		used := cpuOf(b, processes) - before
		slices.Sort(took)
		b.ReportMetric(float64(len(took))/sizingPeriod.Seconds(), "reviews/s")
		b.ReportMetric(1000*used.Seconds()/sizingPeriod.Seconds(), "millicores")
		b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50-µs")
		b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99-µs")
		b.ReportMetric(0, "ns/op") // has no meaning here
	}
}

// paced sends reviews at the highest rate and returns how long each took.
func (c *cluster) paced(b *testing.B, review *admissionv1.AdmissionReview) (took []time.Duration) {
	b.Helper()
	apiServer := c.client(client.ClusterIP)
	pace := time.NewTicker(time.Second / highestRate)
	defer pace.Stop()
	var mu sync.Mutex
	load := client.Start(b.Context(), apiServer, clients, func(ctx context.Context, _ int64) error {
		<-pace.C
		begun := time.Now()
		answer, err := apiServer.Call(ctx, "/mutate/pods", true, review)
		if err == nil && answer.Patch == nil {
			err = errors.New("a Pod was not rewritten")
		}
		mu.Lock()
		defer mu.Unlock()
		took = append(took, time.Since(begun))
		return err
	})
	await(b, "calls", load.After(int64(highestRate*sizingPeriod.Seconds())))
	if report := load.Stop(); report.Failures > 0 {
		b.Fatal(report)
	}
	return took
}

// cpuOf returns the processor time that all processes have used.
func cpuOf(b *testing.B, processes []*process.Process) (sum time.Duration) {
	b.Helper()
	for _, p := range processes {
		used, err := p.CPU()
		must(b, err)
		sum += used
	}
	return sum
}

// largePodReview returns the review of a Pod with as many containers as the large Pod in docs/performance.md. A mirror
// rewrites each image.
func largePodReview(b *testing.B) *admissionv1.AdmissionReview {
	b.Helper()
	const variables, length = 18, 200 // 87 KB in total
	review := podReview("nginx")
	var pod corev1.Pod
	must(b, json.Unmarshal(review.Request.Object.Raw, &pod))
	pod.Spec.Containers = nil
	for i := range largePod {
		container := corev1.Container{
			Name: fmt.Sprintf("app-%02d", i), Image: fmt.Sprintf("docker.io/acme/shop-%02d:v1.0", i),
		}
		for n := range variables {
			container.Env = append(container.Env,
				corev1.EnvVar{Name: fmt.Sprintf("SHOP_SETTING_%02d", n), Value: strings.Repeat("v", length)})
		}
		pod.Spec.Containers = append(pod.Spec.Containers, container)
	}
	var err error
	review.Request.Object.Raw, err = json.Marshal(pod)
	must(b, err)
	b.Logf("the review has %d bytes", len(review.Request.Object.Raw))
	return review
}
