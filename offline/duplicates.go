package offline

import (
	"iter"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// Duplicates compares objects with each other by the unique block of a policy. Without active entries, it does nothing.
type Duplicates struct{ index *policy.UniqueIndex }

// Compare adds an object to the comparison, unless it is a Pod. ref is returned with its duplicates. a is nil if the
// object is not validated.
func (d *Duplicates) Compare(o Object, a *admission.Answer, ref int) {
	if d.index == nil || a == nil || o.Kind == "Pod" {
		return
	}
	if of, ok := a.Object.(interface{ Metadata() *object.Meta }); ok {
		at := object.Reference{Kind: o.Kind, Namespace: a.Namespace, Name: o.Name}
		u := policy.UniqueObject{Reference: at, Ref: ref, Object: of}
		readDetails(o, &u)
		d.index.Add(&u)
	}
}

// Duplicated yields the duplicates, each as the result of an object with one finding.
func (d *Duplicates) Duplicated() iter.Seq2[policy.Duplicate, Result] {
	return func(yield func(policy.Duplicate, Result) bool) {
		for found := range d.index.Duplicates() {
			f := newFinding(found.Finding)
			if f.Redacted = found.Redacted; f.Effect == Denial {
				f.Effect = Duplicate
			}
			if !yield(found, Result{
				Kind: found.Kind, Namespace: found.Namespace, Name: found.Name, Decision: Allowed, Findings: []Finding{f},
			}) {
				return
			}
		}
	}
}

// readDetails reads the fields on which only the comparison with other objects depends. The object is valid as far as
// decisions depend on it. A field of another type is ignored, as if it were absent.
func readDetails(o Object, to *policy.UniqueObject) {
	var read struct {
		Metadata struct{ CreationTimestamp string }
		Spec     struct {
			Selector  jsontext.Value
			ParentRef object.Reference
			Rules     []struct{ Matches []jsontext.Value }
		}
	}
	_ = json.Unmarshal(o.JSON, &read, json.MatchCaseInsensitiveNames(true))
	to.Created, _ = time.Parse(time.RFC3339, read.Metadata.CreationTimestamp)
	to.Parent = read.Spec.ParentRef
	if o.Kind == "Service" {
		_ = json.Unmarshal(read.Spec.Selector, &to.Selector)
	}
	for _, r := range read.Spec.Rules {
		for _, m := range r.Matches { // with the defaults, if they come from an API server
			_ = m.Canonicalize()
			to.Matches = append(to.Matches, string(m))
		}
		if len(r.Matches) == 0 {
			to.Matches = append(to.Matches, `{"path":{"type":"PathPrefix","value":"/"}}`)
		}
	}
}

// addDuplicates adds the duplicates to the results of their objects.
func (r *reviewer) addDuplicates() {
	for of, result := range r.Duplicated() {
		f := result.Findings[0]
		if r.Options.AsExisting {
			r.counts.Findings[FindingCount{of.Namespace, of.Rule, of.Check, of.ModeWord()}]++
			r.owners.add(result)
		} else {
			r.Results[of.Ref].add(f)
		}
		if f.Effect != Exempt {
			r.Summary.Duplicates++
		}
		if f.Effect == Duplicate {
			r.Decision = Duplicated
		}
	}
}
