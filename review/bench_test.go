package review

import (
	"fmt"
	"testing"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review/reviewtest"
)

// BenchmarkDecode measures decoding. docs/decisions/0005-own-scanner.md has the costs of other decoders.
func BenchmarkDecode(b *testing.B) {
	decoders := map[string]func([]byte) error{
		"pods":        func(body []byte) error { _, err := Pods().Decode(body); return err },
		"ingresses":   func(body []byte) error { _, err := Ingresses().Decode(body); return err },
		"services":    func(body []byte) error { _, err := Services().Decode(body); return err },
		"httproutes":  func(body []byte) error { _, err := Routes().Decode(body); return err },
		"deployments": func(body []byte) error { _, err := Workloads().Decode(body); return err },
	}
	for _, body := range reviewtest.Bodies() {
		decode := decoders[body.Resource]
		if decode == nil {
			b.Fatalf("nothing decodes %s", body.Resource)
		}
		b.Run(body.Name, func(b *testing.B) { benchmark(b, body.Data, decode) })
	}
}

func benchmark(b *testing.B, body []byte, decode func([]byte) error) {
	b.ReportAllocs()
	b.SetBytes(int64(len(body)))
	for b.Loop() {
		if err := decode(body); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkEncode measures responses with patches for one, five and twenty images.
func BenchmarkEncode(b *testing.B) {
	answers := map[string]Answer{
		"allowed": {UID: reviewtest.UID, Allowed: true},
		"denied": {UID: reviewtest.UID,
			Message: "team-hosts/hosts.allowed: spec.rules[0].host: \"a.example\" is not allowed"},
	}
	for _, containers := range []int{1, 5, 20} {
		var pod policy.Pod
		for i := range containers {
			pod.Images = append(pod.Images, policy.Image{Index: i, Ref: fmt.Sprintf("docker.io/acme/shop-%02d:v1.%d.0", i, i)})
		}
		answers[fmt.Sprintf("patch-%d", containers)] = Answer{
			UID: reviewtest.UID, Allowed: true, Patch: must(PatchPod(&pod, rewriting(&pod, "{}"), true)),
			AuditAnnotations: map[string]string{"policy": "0123456789ab"},
		}
	}
	for _, name := range []string{"allowed", "denied", "patch-1", "patch-5", "patch-20"} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			answer := answers[name]
			for b.Loop() {
				_ = answer.JSON()
			}
		})
	}
}
