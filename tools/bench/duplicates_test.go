package main

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// The limits for finding duplicates among many hosts.
const (
	uniqueHosts = 200_000
	// maxUniqueBytes is the memory for a host. The hosts, each in its own Ingress, took 331 bytes.
	maxUniqueBytes = 400
	// maxUniqueGrowth is the time for all hosts divided by the time for half of them. It is 2 if the time is linear, and 4
	// if each host is compared with all others.
	maxUniqueGrowth = 3.0
)

const uniquePolicy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
unique: [{name: hosts, mode: enforce, what: hosts, shareWithin: namespace}]
`

// BenchmarkPlanDuplicates finds the duplicates among Ingresses with one host each. Once, all hosts are different, and
// once, all Ingresses have the same host.
func BenchmarkPlanDuplicates(b *testing.B) {
	for name, different := range map[string]int{"Different": uniqueHosts, "Same": 1} {
		b.Run(name, func(b *testing.B) {
			for b.Loop() {
				half, _ := findDuplicates(b, uniqueHosts/2, different)
				all, bytes := findDuplicates(b, uniqueHosts, different)
				growth := float64(all) / float64(half)
				b.ReportMetric(float64(all)/uniqueHosts, "ns/host")
				b.ReportMetric(growth, "times-half")
				b.ReportMetric(float64(bytes)/uniqueHosts, "B/host")
				if bytes > maxUniqueBytes*uniqueHosts || growth > maxUniqueGrowth {
					b.Errorf("exceeds the limits: %d bytes for a host, %.1f times the time for half", maxUniqueBytes, maxUniqueGrowth)
				}
			}
		})
	}
}

// findDuplicates returns the time and the memory for the given number of Ingresses, which claim different hosts.
func findDuplicates(b *testing.B, ingresses, different int) (time.Duration, int64) {
	p, err := policy.Load(policy.File{Name: "policy.yaml", Data: []byte(uniquePolicy)})
	if err != nil {
		b.Fatal(err)
	}
	before, began, class := heap(), time.Now(), "nginx"
	x := p.NewUniqueIndex(began)
	for i := range ingresses {
		x.Add(&policy.UniqueObject{
			Reference: object.Reference{
				Kind: "Ingress", Namespace: fmt.Sprintf("team-%d", i%planNamespaces), Name: fmt.Sprintf("web-%d", i),
			},
			Created: began,
			Object: &object.Ingress{
				ClassName: &class, Rules: []object.IngressRule{{Host: fmt.Sprintf("web-%d.shop.example.com", i%different)}},
			},
		})
	}
	found := 0
	for range x.Duplicates() {
		found++
	}
	took := time.Since(began)
	if (found > 0) != (different == 1) {
		b.Fatalf("%d duplicates", found)
	}
	used := heap() - before
	runtime.KeepAlive(x)
	return took, used
}

// heap returns the size of the live heap.
func heap() int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return int64(m.HeapAlloc)
}
