package offline

import (
	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// collector builds a report from answers.
type collector struct {
	*Report
	explain bool
	reviews bool
	skips   Skips
	counts  Counts
	owners  owners
}

func newCollector(o *Options) *collector {
	return &collector{
		Report: &Report{
			Policy:     Policy{o.Policy.Hash(), o.Policy.Counts()},
			AsExisting: o.AsExisting,
			Decision:   Allowed,
			Results:    []Result{},
			explain:    o.Explain,
		},
		explain: o.Explain,
		reviews: o.Reviews,
		counts:  newCounts(),
		owners:  owners{},
	}
}

// fail adds an error about input that could not be read or understood.
func (c *collector) fail(err error) {
	c.Summary.Errors++
	c.Decision = Invalid
	c.Errors, c.failed = append(c.Errors, err.Error()), append(c.failed, err)
}

// skip records an object that is not validated.
func (c *collector) skip(o Object, why string) {
	c.Summary.Skipped++
	c.skips.Add(o, why)
}

// add adds the decision about an object.
func (c *collector) add(o Object, a *admission.Answer) {
	r := newResult(o, a, c.AsExisting, c.explain)
	c.count(&r)
	if !c.AsExisting {
		r.Source, r.Operation, r.at = o.Origin.String(), a.Operation, o.Origin
		if c.reviews {
			r.root = "request.object."
		}
		c.Results = append(c.Results, r)
		return
	}
	c.counts.add(&r, a)
	if pod, ok := a.Object.(*object.Pod); ok {
		r.Kind, r.Name = Owner(pod)
		r.Pods = 1
	}
	c.owners.add(r)
}

// newResult returns the decision about an object, without its place in the input.
func newResult(o Object, a *admission.Answer, exists, explain bool) Result {
	r := Result{Decision: Allowed, Kind: o.Kind, Namespace: a.Namespace, Name: o.Name}
	for _, f := range a.Findings {
		r.add(newFinding(f))
	}
	for i := range a.Rewriting.Images {
		o := &a.Rewriting.Images[i]
		r.addImage(newImage(o, o.Image.Path(), exists), explain)
	}
	for i := range a.TemplateImages {
		image := newImage(&a.TemplateImages[i].ImageOutcome, a.TemplateImages[i].Path, false)
		image.Effect = "" // users do not see a warning about images of future Pods
		r.addImage(image, explain)
	}
	for _, t := range a.Rules {
		r.Rules = append(r.Rules, Rule{t.Rule, t.Mode.String(), t.Applies, t.Why, t.Findings, t.Exempt})
	}
	return r
}

// addImage adds an image if the policy changes it or warns about it. With explain, it adds every image.
func (r *Result) addImage(image Image, explain bool) {
	if explain || image.Effect != "" || image.To != "" || image.Outcome == outside {
		r.Images = append(r.Images, image)
	}
}

// count adds a result to the summary.
func (c *collector) count(r *Result) {
	c.Summary.Validated++
	switch {
	case r.Decision == Denied:
		c.Summary.Denied++
		if c.Decision == Allowed || c.Decision == PodsDenied {
			c.Decision = Denied
		}
	case r.Decision == PodsDenied:
		c.Summary.PodsDenied++
		if c.Decision == Allowed {
			c.Decision = PodsDenied
		}
	case r.Warns():
		c.Summary.Warned++
	}
	for _, image := range r.Images {
		switch image.Outcome {
		case policy.Rewritten.String():
			c.Summary.Rewritten++
		case outside:
			c.Summary.Outside++
		}
	}
}

// report completes the report and returns it.
func (c *collector) report() *Report {
	c.Skipped, c.SkippedFiles = c.skips.Objects, c.skips.Files
	if c.AsExisting {
		c.Results = c.owners.results()
		c.Counts = c.counts.bounded()
	}
	return c.Report
}

// Warns reports whether the user gets a warning.
func (r *Result) Warns() bool {
	for _, f := range r.Findings {
		if f.Effect == Warning {
			return true
		}
	}
	for _, i := range r.Images {
		if i.Effect == Warning {
			return true
		}
	}
	return false
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
