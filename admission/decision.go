package admission

import (
	"slices"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// Decision is the result of a review.
type Decision struct {
	review.Head
	Policy string // hash of the policy that decided

	Findings      []policy.Finding
	Rewriting     policy.Rewriting
	Templates     []Template    // of a workload
	Patch         []byte        // a JSON Patch
	InvalidPolicy InvalidPolicy // of a policy; zero for other objects
	Notes         []string      // further warnings
	Unevaluated   Unevaluated   // zero if the object was evaluated
}

// Template contains the future images of Pods from a template.
type Template struct {
	Path string // the field of the Pod spec, such as spec.template.spec
	policy.Rewriting
}

// Unevaluated is the reason that an object cannot be evaluated: its content (its size, its depth, or a value of the
// wrong type), or the path that the API server called.
type Unevaluated struct {
	Why  string
	Mode policy.Mode // as for a finding, only mode enforce denies
}

// InvalidPolicy contains the mistakes in a policy that fails to load.
type InvalidPolicy struct {
	Mistakes []string // the first of them
	More     int      // the number of the others
}

// Denies reports whether the request is denied.
func (d *Decision) Denies() bool {
	return d.Unevaluated.Mode == policy.Enforce || len(d.InvalidPolicy.Mistakes) > 0 ||
		slices.ContainsFunc(d.Findings, policy.Finding.Denies)
}

// Warns reports whether the response contains a warning.
func (d *Decision) Warns() bool {
	return d.Unevaluated.Mode == policy.Warn || len(d.Notes) > 0 || len(d.Rewriting.PullSecrets.Missing) > 0 ||
		slices.ContainsFunc(d.Findings, policy.Finding.Warns) || slices.ContainsFunc(d.Rewriting.Images, d.warnsOf)
}

// warnsOf reports whether the response warns about an image: if the image would be rewritten in mode enforce, if it is
// not a valid reference, or if it is rewritten in a request that cannot record the original reference in the object.
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

// Rules returns the first mirrors entries and checks that denied or warned, without duplicates.
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
