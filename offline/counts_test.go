package offline

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

// The worst namespaces keep their names, and no count is lost.
func TestCountsAreBounded(t *testing.T) {
	c := newCounts()
	rule := func(namespace string) FindingCount { return FindingCount{namespace, "r", "c", "enforce"} }
	for i := range maxNamespaces {
		c.Images[ImageCount{fmt.Sprintf("good-%03d", i), "hub", "at_mirror"}] = 1000
		c.Findings[rule(fmt.Sprintf("bad-%03d", i))] = 1
	}
	c.Findings[rule("worse")] = 2
	c.Images[ImageCount{"worse", "hub", outside}] = 3
	b := c.bounded()

	names := map[string]bool{}
	for k := range b.Findings {
		names[k.Namespace] = true
	}
	for k := range b.Images {
		names[k.Namespace] = true
	}
	if len(names) != maxNamespaces+1 {
		t.Errorf("%d namespaces", len(names))
	}
	for k, want := range map[FindingCount]int{
		rule("worse"): 2, rule("bad-000"): 1, rule("bad-498"): 1, // first by name among equals
		rule("bad-499"): 0, rule(otherNamespaces): 1,
	} {
		if got := b.Findings[k]; got != want {
			t.Errorf("%v: %d, want %d", k, got, want)
		}
	}
	for k, want := range map[ImageCount]int{
		{"worse", "hub", outside}: 3, {otherNamespaces, "hub", "at_mirror"}: 1000 * maxNamespaces,
		{"good-000", "hub", "at_mirror"}: 0,
	} {
		if got := b.Images[k]; got != want {
			t.Errorf("%v: %d, want %d", k, got, want)
		}
	}
	small := newCounts()
	small.Findings[rule("a")] = 1
	if got := small.bounded(); got.Findings[rule("a")] != 1 {
		t.Error("of one namespace the name is missing")
	}
}

// An image that a rule denies as it is written is outside the mirrors too: the summary, the tables and the list agree.
func TestImagesOutsideAreCountedOnce(t *testing.T) {
	p := must(policy.Load(policy.File{Name: "policy.yaml", Data: []byte("apiVersion: evergate.dev/v1alpha1\n" +
		"kind: EvergatePolicy\n" +
		"mirrors:\n- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}\n" +
		"pods:\n- {name: evil, mode: enforce, images: {denied: [docker.io/evil]}}\n")}))
	const pods = "{apiVersion: v1, kind: Pod, metadata: {name: a, namespace: b}, spec: {containers: [" +
		"{name: a, image: evil/x}, {name: b, image: nginx}, {name: c, image: m.example/hub/x}]}}\n"
	r := Review(Options{Policy: p, AsExisting: true}, Read([]string{Stdin}, strings.NewReader(pods)))
	counted, listed := 0, 0
	for k, n := range r.Counts.Images {
		if k.Outcome == outside {
			counted += n
		}
	}
	for _, image := range r.Results[0].Images {
		if image.Outcome == outside {
			listed++
		}
	}
	if r.Summary.Outside != 2 || counted != 2 || listed != 2 {
		t.Errorf("summary %d, table %d, listed %d: want 2 each", r.Summary.Outside, counted, listed)
	}
	const line = "  outside    spec.containers[0].image: evil/x: mirrors entry hub covers it and does not rewrite it: " +
		"evil/images.denied: is denied by docker.io/evil\n"
	var text output.Printer
	if r.WriteText(&text); !strings.Contains(text.String(), line) {
		t.Errorf("no %q in\n%s", line, &text)
	}
}
