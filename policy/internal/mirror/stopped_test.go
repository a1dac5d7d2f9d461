package mirror

import (
	"context"
	"fmt"
	"reflect"
	"testing"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// decoded returns the mirrors entries of a document.
func decoded(t *testing.T, text string) []Entry {
	t.Helper()
	var doc struct {
		Mirrors []Entry `yaml:"mirrors"`
	}
	dec := strict.NewDecoder(t.Context(), strict.Limits{Values: 1e6, Entries: 1e6, Texts: 1e6, Cost: 1e6})
	for d := range dec.Documents(strict.Source{File: "p", Data: []byte(text)}) {
		dec.Decode(d, &doc)
	}
	if err := dec.Errors().Errors(); err != nil {
		t.Fatal(err)
	}
	return doc.Mirrors
}

// The limit on comparisons has one error.
func TestStopComparing(t *testing.T) {
	var errs strict.Collector
	m := newMirrorTable(nil)
	e := rule.NewComparisons(t.Context(), -1)
	e.Compare()
	for range 2 {
		if !m.stopComparing(&mirror{}, e, &errs) || errs.Len() != 1 {
			t.Errorf("above the limit it continues, or files %d errors", errs.Len())
		}
	}
}

// No loop that compares entries reports an error after the context is done.
func TestComparingIsStopped(t *testing.T) {
	doc := decoded(t, `
mirrors:
- {name: a, mode: enforce, sources: [x.example, y.example], mirror: "m.example/{registry}", match: {namespaces: [a, b]}}
- {name: at, mode: enforce, sources: [m.example/x.example/z], mirror: n.example}
- {name: at2, mode: enforce, sources: [m.example/y.example/z], mirror: n.example}
- {name: loop, mode: enforce, sources: [n.example], mirror: o.example}
`)
	done, cancel := context.WithCancel(t.Context())
	cancel()
	table := func() *Table {
		m := newMirrorTable(doc)
		for i := range doc {
			m.add(&doc[i], new(strict.Collector))
		}
		return m
	}
	overlapping := func(e *rule.Comparisons, errs *strict.Collector) int {
		findOverlaps(source{}, []namespacePattern{{"a*", &mirror{order: 0}}, {"ab", &mirror{order: 1}}, {"ac", &mirror{order: 2}}}, e, errs)
		return errs.Len()
	}
	for name, test := range map[string]struct {
		want int // of the findings if there is time
		find func(e *rule.Comparisons, errs *strict.Collector) int
	}{
		"mirrors": {4, func(e *rule.Comparisons, errs *strict.Collector) int {
			return len(Compile(doc, "", e, errs).mirrors)
		}},
		"loops": {3, func(e *rule.Comparisons, errs *strict.Collector) int { table().rejectLoops(e, errs); return errs.Len() }},
		"covered": {1, func(e *rule.Comparisons, _ *strict.Collector) int {
			if table().nextRoute("n.example/x", e) == nil {
				return 0
			}
			return 1
		}},
		"collisions": {1, func(e *rule.Comparisons, errs *strict.Collector) int {
			table().rejectCollisions(e, errs)
			return errs.Len()
		}},
		"namespaces": {4, func(e *rule.Comparisons, errs *strict.Collector) int {
			m := table()
			m.indexNamespaces(e, errs)
			if e.PollDone() && m.origins[1].index != nil {
				t.Error("the next source was looked at")
			}
			return len(m.origins[0].index) + len(m.origins[1].index)
		}},
		"overlaps": {2, overlapping},
	} {
		t.Run(name, func(t *testing.T) {
			if got := test.find(rule.NewComparisons(t.Context(), 1000), new(strict.Collector)); got != test.want {
				t.Errorf("with time: %d, want %d", got, test.want)
			}
			if got := test.find(rule.NewComparisons(done, 1000), new(strict.Collector)); got != 0 {
				t.Errorf("without: %d", got)
			}
		})
	}
	// The third poll of the context is in the comparison of the second of three patterns with the first.
	if got := overlapping(rule.NewComparisons(&polledContext{Context: t.Context(), cause: context.Canceled, last: 3}, 1000), new(strict.Collector)); got != 0 {
		t.Errorf("a name: %d", got)
	}
	// The fourth route is a copy of the first route with another end.
	errs := new(strict.Collector)
	table().rejectCollisions(rule.NewComparisons(&polledContext{Context: t.Context(), cause: context.Canceled, last: 4}, 1000), errs)
	if errs.Len() > 0 {
		t.Error(errs.Errors())
	}
}

// Sources of the same entries share one index.
func TestNamespaceIndexIsShared(t *testing.T) {
	var errs strict.Collector
	doc := decoded(t, `
mirrors:
- name: a
  mode: enforce
  sources: [x.example, y.example, z.example]
  mirror: "m.example/{registry}"
  match: {namespaces: [a, b]}
`)
	e := rule.NewComparisons(t.Context(), 1000)
	m := newMirrorTable(doc)
	m.add(&doc[0], &errs)
	m.indexNamespaces(e, &errs)
	if want := 2 * comparisonsPerPattern; errs.Len() > 0 || !e.Spend(1000-want) || e.Compare() {
		t.Errorf("not %d comparisons (%v)", want, errs.Errors())
	}
	for i := range m.origins {
		if reflect.ValueOf(m.origins[i].index).Pointer() != reflect.ValueOf(m.origins[0].index).Pointer() {
			t.Errorf("%s has an index of its own", m.origins[i].source)
		}
	}
}

// polledContext is done after it has been polled last times.
type polledContext struct {
	context.Context
	cause       error
	polls, last int
}

func (c *polledContext) Err() error {
	if c.polls++; c.last > 0 && c.polls >= c.last {
		return c.cause
	}
	return nil
}

// The cost of compiling is the cost of a change of the ConfigMap.
func BenchmarkCompileMirrors(b *testing.B) {
	for _, n := range []int{10, 1_000, 10_000} {
		b.Run(fmt.Sprint("mirrors=", n), func(b *testing.B) {
			entries := make([]Entry, n)
			for i := range entries {
				entries[i].Mode = rule.Enforce
				if err := entries[i].Name.UnmarshalText([]byte(fmt.Sprint(i))); err != nil {
					b.Fatal(err)
				}
				entries[i].Sources = []source{{place: fmt.Sprintf("registry-%d.example", i)}}
				entries[i].Mirror.place = fmt.Sprintf("m.example/%d", i)
			}
			b.ReportAllocs()
			for b.Loop() {
				var errs strict.Collector
				Compile(entries, "", rule.NewComparisons(b.Context(), 1_000_000), &errs)
				if errs.Len() > 0 {
					b.Fatal(errs.Errors())
				}
			}
		})
	}
}
