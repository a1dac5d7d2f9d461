package offline

import (
	"slices"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// reviewer decides about objects one at a time, and builds a report from the decisions.
type reviewer struct {
	*Decider
	*Report
	counts Counts
	owners owners
}

// fail adds an error about input that could not be read or understood.
func (r *reviewer) fail(err error) {
	r.Summary.Errors++
	r.Errors, r.failed = append(r.Errors, err.Error()), append(r.failed, err)
}

// skip records an object that is not validated.
func (r *reviewer) skip(o Object, why string) {
	r.Summary.Skipped++
	r.Skips.Add(o, why)
}

// add adds the decision about an object.
func (r *reviewer) add(o Object, a *admission.Answer) {
	result := r.Result(o, a)
	r.Summary.add(&result)
	if !r.Options.AsExisting {
		result.Source, result.Operation, result.at = o.Origin.String(), a.Operation, o.Origin
		if r.Options.Reviews {
			result.root = "request.object."
		}
		r.Compare(o, a, len(r.Results))
		r.Results = append(r.Results, result)
		return
	}
	r.counts.add(&result, a)
	r.Compare(o, a, 0)
	if pod, ok := a.Object.(*object.Pod); ok {
		result.Kind, result.Name = Owner(pod)
		result.Pods = 1
	}
	r.owners.add(result)
}

// Result returns a decision about an object in the form that reports use, without its place in the input.
func (d *Decider) Result(o Object, a *admission.Answer) Result {
	r := Result{Decision: Allowed, Kind: o.Kind, Namespace: a.Namespace, Name: o.Name}
	for _, f := range a.Findings {
		r.add(newFinding(f))
	}
	for i := range a.Rewriting.Images {
		o := &a.Rewriting.Images[i]
		r.addImage(newImage(o, o.Image.Path(), d.AsExisting), d.Explain || d.Pulled)
	}
	for i := range a.TemplateImages {
		image := newImage(&a.TemplateImages[i].ImageOutcome, a.TemplateImages[i].Path, false)
		image.Effect = "" // users do not see a warning about images of future Pods
		r.addImage(image, d.Explain || d.Pulled)
	}
	for _, t := range a.Rules {
		r.Rules = append(r.Rules, Rule{t.Rule, t.Mode.String(), t.Applies, t.Why, t.Findings, t.Exempt})
	}
	return r
}

// addImage adds an image if the policy changes it or warns about it. With always, it adds every image.
func (r *Result) addImage(image Image, always bool) {
	if always || image.Effect != "" || image.To != "" || image.Outcome == outside {
		r.Images = append(r.Images, image)
	}
}

// add adds the decision about an object.
func (s *Summary) add(r *Result) {
	s.Validated++
	switch {
	case r.Decision == Denied:
		s.Denied++
	case r.Decision == PodsDenied:
		s.PodsDenied++
	case r.Warns():
		s.Warned++
	}
	for i := range r.Images {
		switch r.Images[i].Outcome {
		case policy.Rewritten.String():
			s.Rewritten++
		case outside:
			s.Outside++
		}
	}
}

// report completes the report and returns it.
func (r *reviewer) report() *Report {
	r.addDuplicates()
	switch s := &r.Summary; {
	case s.Errors > 0:
		r.Decision = Invalid
	case s.Denied > 0:
		r.Decision = Denied
	case s.PodsDenied > 0:
		r.Decision = PodsDenied
	}
	if r.Options.AsExisting {
		r.Results = r.owners.results()
		r.Counts = r.counts.bounded()
	}
	return r.Report
}

// Warns reports whether the user gets a warning.
func (r *Result) Warns() bool {
	return r.has(Warning) || r.has(Duplicate) ||
		slices.ContainsFunc(r.Images, func(i Image) bool { return i.Effect == Warning })
}

func (r *Result) has(e Effect) bool {
	return slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Effect == e })
}

func newFinding(f policy.Finding) Finding {
	effect := Audited
	switch {
	case f.Exempt != nil:
		effect = Exempt
	case f.Denies():
		effect = Denial
	case f.Mode >= policy.Warn:
		effect = Warning
	}
	found := Finding{
		Effect: effect, ID: f.ID(), Mode: f.Mode.String(), Path: f.Path, Message: f.Reason, Note: f.Note, Existed: f.Existed,
		PodsDenied: f.PodsDenied,
	}
	if e := f.Exempt; e != nil {
		found.ExemptBy, found.ExemptUntil, found.ExemptReason = e.By(), e.Until, e.Reason
	}
	return found
}

// newImage returns an image for the report. An image that already runs is not rewritten, so it counts as outside its
// mirror.
func newImage(o *policy.ImageOutcome, path string, exists bool) Image {
	image := Image{
		Path: path, Image: o.Image.Ref, Outcome: o.Outcome.String(),
		Entry: o.Entry, To: o.To, PullSecret: o.PullSecret, Why: o.Why(),
		Container: o.Image.Place.String() + "/" + o.Image.Name,
	}
	if o.Entry != "" {
		image.Mode = o.Mode.String()
	}
	switch {
	case exists && imageWord(o.Outcome) == outside:
		image.Outcome = outside
		image.Why = "mirrors entry " + o.Entry + " has it at " + o.To
		if o.To == "" {
			image.Why = "mirrors entry " + o.Entry + " covers it and does not rewrite it: " + o.Detail
		}
	case o.Outcome == policy.Malformed, o.Outcome == policy.WouldRewrite && o.Mode == policy.Warn:
		image.Effect = Warning
	}
	return image
}
