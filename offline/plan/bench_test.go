package plan

import (
	"os"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline"
)

// BenchmarkPlan measures a dump of a thousand Pods from kubectl. Either nothing changes, or all Pods are rewritten
// differently.
func BenchmarkPlan(b *testing.B) {
	data, err := os.ReadFile("../../tools/bench/pod.json")
	if err != nil {
		b.Fatal(err)
	}
	const pods = 1000
	pod := strings.NewReplacer("ORIGINAL", "quay.io/x:1", "MIRRORED", "n.example/quay.io/x:1", "POD", "0").
		Replace(string(data))
	input := `{"apiVersion": "v1", "items": [` + strings.Repeat(pod+",\n", pods-1) + pod + `], "kind": "List"}`
	const rules = "pods: [{name: r, mode: enforce, images: {from: mirrors}}]\n"
	old := "mirrors: [{name: m, mode: enforce, sources: [quay.io, docker.io], mirror: \"n.example/{registry}\"}]\n" + rules
	for name, moved := range map[string]string{"Unchanged": old, "Rewritten": strings.ReplaceAll(old, "n.example", "m.example")} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(input) / pods))
			for range (b.N + pods - 1) / pods {
				p := New(Options{
					Old: mustLoad(b, old), New: mustLoad(b, moved), Options: offline.Options{Recorded: true}, Limit: 100,
				})
				p.AddAll(offline.Read([]string{offline.Stdin}, strings.NewReader(input)))
				if r := p.Report(); r.Summary.Validated != pods || r.Changes() != (name == "Rewritten") {
					b.Fatalf("%+v", r.Summary)
				}
			}
		})
	}
}
