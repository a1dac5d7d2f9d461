package offline

import (
	"cmp"
	"maps"
	"slices"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// maxNamespaces limits the namespaces that Counts distinguishes. Each namespace has a series for every check with
// findings and for every outcome of its images, which is about 10 series. 5,000 series are few for Prometheus, and
// more than anyone will look through.
const maxNamespaces = 500

// otherNamespaces represents the namespaces over maxNamespaces. A namespace cannot have this name.
const otherNamespaces = "(others)"

// Counts are the numbers of an audit, for metrics. Counts include every object, but a Result shows a finding that all
// Pods of an owner share only once.
type Counts struct {
	Objects  map[ObjectCount]int
	Findings map[FindingCount]int
	Images   map[ImageCount]int
}

// ObjectCount is the key by which objects are counted.
type ObjectCount struct {
	Kind     string // a kind that Evergate validates
	Decision string // denied, warned or allowed
}

// FindingCount is the key by which findings are counted.
type FindingCount struct{ Namespace, Rule, Check, Mode string }

// ImageCount is the key by which images are counted. Entry is empty if no mirrors entry covers the image.
type ImageCount struct{ Namespace, Entry, Outcome string }

const warned = "warned" // the decision of an object that is allowed with a warning

// newCounts starts with zeros for each kind. Without them, an audit without findings would look like no audit at all.
func newCounts() Counts {
	c := Counts{Objects: map[ObjectCount]int{}, Findings: map[FindingCount]int{}, Images: map[ImageCount]int{}}
	for _, kind := range admission.Kinds() {
		if kind.MakesPods {
			continue // an audit validates the running Pods instead
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

// imageWord returns the outcome of a running image as the value of a metric label.
func imageWord(o policy.Outcome) string {
	switch o {
	case policy.AtMirror:
		return "at_mirror"
	case policy.Excluded:
		return "excluded"
	case policy.Malformed:
		return "malformed"
	case policy.Rewritten, policy.WouldRewrite, policy.Denied:
		return outside
	default: // images that are ignored or that an update does not touch do not count
		return "no_mirror"
	}
}

// bounded returns c with at most maxNamespaces namespaces. It keeps the namespaces with the most findings and images
// outside their mirrors. Equal namespaces are sorted by name, so the same cluster always gives the same series.
func (c *Counts) bounded() Counts {
	wrong := map[string]int{}
	for k, n := range c.Findings {
		wrong[k.Namespace] += n
	}
	for k, n := range c.Images {
		if k.Outcome == "at_mirror" || k.Outcome == "excluded" {
			n = 0
		}
		wrong[k.Namespace] += n
	}
	worst := slices.SortedFunc(maps.Keys(wrong), func(a, b string) int {
		return cmp.Or(cmp.Compare(wrong[b], wrong[a]), cmp.Compare(a, b))
	})
	kept := map[string]bool{}
	for _, name := range worst[:min(len(worst), maxNamespaces)] {
		kept[name] = true
	}
	name := func(namespace string) string {
		if kept[namespace] {
			return namespace
		}
		return otherNamespaces
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
