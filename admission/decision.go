package admission

import (
	"slices"

	"github.com/evergate/evergate/policy"
)

// Decision is what was decided about a review.
type Decision struct {
	UID string
	policy.Attributes
	DryRun bool
	Policy string // hash of the policy that decided

	Findings  []policy.Finding
	Rewriting policy.Rewriting
	Templates []Template // of a workload
	Patch     []byte     // a JSON Patch
	Refused   Refused    // of a policy; zero for all other objects
	Notes     []string   // further warnings
	Unjudged  Unjudged   // zero when the object was judged
}

// Template is what will happen to the images of the Pods of a template.
type Template struct {
	Path string // the field of their specification: spec.template.spec
	policy.Rewriting
}

// Unjudged is what is wrong with an object that cannot be judged because of its own content: its size, its depth, a
// value of the wrong type; or because of the path that it came to.
type Unjudged struct {
	Why  string
	Mode policy.Mode // what is done about it: denied only in mode enforce, like a finding
}

// Refused is what is wrong with a policy.
type Refused struct {
	Mistakes []string // the first of them
	More     int      // how many are not among them
}

// Denies reports whether the request is denied.
func (d *Decision) Denies() bool {
	return d.Unjudged.Mode == policy.Enforce || len(d.Refused.Mistakes) > 0 ||
		slices.ContainsFunc(d.Findings, policy.Finding.Denies)
}

// Warns reports whether the answer carries a warning.
func (d *Decision) Warns() bool {
	return d.Unjudged.Mode == policy.Warn || len(d.Notes) > 0 || len(d.Rewriting.PullSecrets.Missing) > 0 ||
		slices.ContainsFunc(d.Findings, policy.Finding.Warns) || slices.ContainsFunc(d.Rewriting.Images, d.warnsOf)
}

// warnsOf reports whether the user is warned of an image: when it would be pulled from elsewhere, when it cannot be
// told from where it is pulled, and when it is rewritten where the original cannot be recorded in the object.
func (d *Decision) warnsOf(img policy.ImageOutcome) bool {
	switch img.Outcome {
	case policy.WouldRewrite:
		return img.Mode == policy.Warn
	case policy.Rewritten:
		return d.Subresource != ""
	case policy.Malformed:
		return true
	default:
		return false
	}
}

// Rules names the first checks that denied or warned, and the first mirrors entries that did, each once.
func (d *Decision) Rules() []string {
	var ids []string
	add := func(id string) {
		if id != "" && len(ids) < Shown && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	for _, img := range d.Rewriting.Images {
		if d.warnsOf(img) {
			add(img.Entry)
		}
	}
	for _, f := range d.Findings {
		if f.Denies() || f.Warns() {
			add(f.ID())
		}
	}
	return ids
}
