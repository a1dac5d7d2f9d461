package offline

import (
	"fmt"
	"testing"
)

// The worst namespaces keep their names, and no count is lost.
func TestCountsAreBounded(t *testing.T) {
	c := newCounts()
	rule := func(namespace string) FindingCount { return FindingCount{namespace, "r", "c", "enforce"} }
	for i := range maxNamespaces {
		c.Images[ImageCount{fmt.Sprintf("good-%03d", i), "hub", atMirror}] = 1000
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
		{"worse", "hub", outside}: 3, {otherNamespaces, "hub", atMirror}: 1000 * maxNamespaces,
		{"good-000", "hub", atMirror}: 0,
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
