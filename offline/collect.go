package offline

import (
	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// skippedNames is how many names of skipped objects of one kind are kept: enough to recognise them.
const skippedNames = 5

// collector makes a report out of answers.
type collector struct {
	*Report
	explain bool
	reviews bool
	skips   map[skipKey]int // where in Report.Skipped
	counts  Counts
	owners  owners

	skippedFiles map[SkippedError]bool
}

type skipKey struct{ kind, why string }

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
		skips:   map[skipKey]int{},
		counts:  newCounts(),
		owners:  owners{},
	}
}

// fail reports what could not be read or understood.
func (c *collector) fail(err error) {
	c.Summary.Errors++
	c.Decision = Invalid
	c.Errors, c.failed = append(c.Errors, err.Error()), append(c.failed, err)
}

// skip reports an object that is not judged.
func (c *collector) skip(o Object, why string) {
	c.Summary.Skipped++
	key := skipKey{o.qualified(), why}
	i, ok := c.skips[key]
	if !ok {
		i = len(c.Skipped)
		c.skips[key] = i
		c.Skipped = append(c.Skipped, Skipped{Kind: key.kind, Why: why})
	}
	s := &c.Skipped[i]
	s.Count++
	if len(s.Names) < skippedNames {
		s.Names = append(s.Names, qualifiedName(o.Namespace, o.Name))
	}
}

// add reports what the policy decides about an object.
func (c *collector) add(o Object, a *admission.Answer) {
	r := Result{Decision: Allowed, Kind: o.Kind, Namespace: a.Namespace, Name: o.Name}
	for _, f := range a.Findings {
		r.tell(newFinding(f))
	}
	for i := range a.Rewriting.Images {
		o := &a.Rewriting.Images[i]
		c.addImage(&r, newImage(o, o.Image.Path(), c.AsExisting))
	}
	for i := range a.TemplateImages {
		image := newImage(&a.TemplateImages[i].ImageOutcome, a.TemplateImages[i].Path, false)
		image.Effect = "" // nobody is warned of what will happen to the Pods
		c.addImage(&r, image)
	}
	for _, t := range a.Rules {
		r.Rules = append(r.Rules, Rule{t.Rule, t.Mode.String(), t.Applies, t.Why, t.Findings, t.Exempt})
	}
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
	if pod, ok := a.Object.(*policy.Pod); ok {
		r.Kind, r.Name = owner(pod)
		r.Pods = 1
	}
	c.owners.add(r)
}

// addImage adds an image that something happens to, and with explain any.
func (c *collector) addImage(r *Result, image Image) {
	if c.explain || image.Effect != "" || image.To != "" {
		r.Images = append(r.Images, image)
	}
}

// count adds a result to the summary.
func (c *collector) count(r *Result) {
	c.Summary.Judged++
	switch {
	case r.Decision == Denied:
		c.Summary.Denied++
		if c.Decision == Allowed || c.Decision == PodsRefused {
			c.Decision = Denied
		}
	case r.Decision == PodsRefused:
		c.Summary.PodsRefused++
		if c.Decision == Allowed {
			c.Decision = PodsRefused
		}
	case r.warns():
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

// report ends the collection.
func (c *collector) report() *Report {
	if c.AsExisting {
		c.Results = c.owners.results()
		c.Counts = c.counts.bounded()
	}
	return c.Report
}

// warns reports whether a user is warned of anything.
func (r *Result) warns() bool {
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
		PodsRefused: f.PodsRefused,
	}
	if e := f.Exempt; e != nil {
		found.ExemptBy, found.ExemptUntil, found.ExemptReason = e.By(), e.Until, e.Reason
	}
	return found
}

// newImage returns an image for the report. One that runs is not rewritten any more: it is outside its mirror.
func newImage(o *policy.ImageOutcome, path string, exists bool) Image {
	image := Image{
		Path: path, Image: o.Image.Ref, Outcome: o.Outcome.String(),
		Entry: o.Entry, To: o.To, Why: o.Why(), Container: o.Image.Place.String() + "/" + o.Image.Name,
	}
	if o.Entry != "" {
		image.Mode = o.Mode.String()
	}
	switch {
	case exists && o.To != "":
		image.Outcome = outside
		image.Why = "mirrors entry " + o.Entry + " has it at " + o.To
	case o.Outcome == policy.Malformed, o.Outcome == policy.WouldRewrite && o.Mode == policy.Warn:
		image.Effect = Warning
	}
	return image
}
