package offline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// maxNamespaces is how many namespaces Counts distinguishes. Each has a series for every check that found something in
// it and for every way in which its images are pulled, some ten. 5,000 series are little for a Prometheus, and more
// than an operator will look through.
const maxNamespaces = 500

// otherNamespaces stands for the namespaces beyond maxNamespaces. No namespace can be called that.
const otherNamespaces = "(others)"

// Counts are the numbers of an audit, for metrics. A Result reports once, for an owner, what is the same for all of its
// Pods; Counts count every object.
type Counts struct {
	Objects  map[ObjectCount]int
	Findings map[FindingCount]int
	Images   map[ImageCount]int
}

// ObjectCount is what objects are counted by.
type ObjectCount struct {
	Kind     string // of those that are judged
	Decision string // denied, warned or allowed
}

// FindingCount is what findings are counted by.
type FindingCount struct{ Namespace, Rule, Check, Mode string }

// ImageCount is what images of Pods are counted by. Entry is empty where no entry of mirrors covers the image.
type ImageCount struct{ Namespace, Entry, Outcome string }

const warned = "warned" // the decision of an object that is allowed with a warning

// newCounts begins with a zero for each kind, which distinguishes no findings from no audit.
func newCounts() Counts {
	c := Counts{Objects: map[ObjectCount]int{}, Findings: map[FindingCount]int{}, Images: map[ImageCount]int{}}
	for _, kind := range admission.Kinds() {
		if kind.MakesPods {
			continue // what exists are the Pods
		}
		for _, decision := range []string{string(Allowed), warned, string(Denied)} {
			c.Objects[ObjectCount{kind.Name, decision}] = 0
		}
	}
	return c
}

// add counts one object.
func (c *Counts) add(r *Result, a *admission.Answer) {
	word := string(r.Decision)
	if r.Decision == Allowed && r.Warns() {
		word = warned
	}
	c.Objects[ObjectCount{r.Kind, word}]++
	for _, f := range a.Findings {
		c.Findings[FindingCount{r.Namespace, f.Rule, f.Check, f.ModeWord()}]++
	}
	for _, o := range a.Rewriting.Images {
		c.Images[ImageCount{r.Namespace, o.Entry, imageWord(o.Outcome)}]++
	}
}

// The words that images are counted by; besides them there is outside.
const (
	atMirror  = "at_mirror"
	noMirror  = "no_mirror"
	excluded  = "excluded"
	malformed = "malformed"
)

// imageWord is the outcome of an image that runs, as the value of a label.
func imageWord(o policy.Outcome) string {
	switch o {
	case policy.AtMirror:
		return atMirror
	case policy.Excluded:
		return excluded
	case policy.Malformed:
		return malformed
	case policy.Rewritten, policy.WouldRewrite, policy.Denied:
		return outside
	default: // what is ignored and what an update does not touch are not counted
		return noMirror
	}
}

// bounded returns c with no more than maxNamespaces namespaces: those with most findings and images outside, in
// alphabetical order among equals, so that the same cluster gives the same series.
func (c *Counts) bounded() Counts {
	wrong := map[string]int{}
	for k, n := range c.Findings {
		wrong[k.Namespace] += n
	}
	for k, n := range c.Images {
		if k.Outcome == atMirror || k.Outcome == excluded {
			n = 0
		}
		wrong[k.Namespace] += n
	}
	if len(wrong) <= maxNamespaces {
		return *c
	}
	worst := slices.SortedFunc(maps.Keys(wrong), func(a, b string) int {
		return cmp.Or(cmp.Compare(wrong[b], wrong[a]), cmp.Compare(a, b))
	})
	other := map[string]bool{}
	for _, name := range worst[maxNamespaces:] {
		other[name] = true
	}
	name := func(namespace string) string {
		if other[namespace] {
			return otherNamespaces
		}
		return namespace
	}
	b := newCounts()
	b.Objects = c.Objects
	for k, n := range c.Findings {
		k.Namespace = name(k.Namespace)
		b.Findings[k] += n
	}
	for k, n := range c.Images {
		k.Namespace = name(k.Namespace)
		b.Images[k] += n
	}
	return b
}
