// Package plan compares two policies on given objects. It reports which objects are newly denied, newly allowed,
// newly warned about or rewritten differently under the new policy. Package offline makes the decisions, so each
// decision is the decision of evergate review.
//
//	plan.go     objects, one at a time
//	events.go   events of the API server's audit log as objects
//	compare.go  two decisions about one object → changes
//	changes.go  the kinds of changes, and their counts
//	listed.go   the first objects of each kind of change
//	report.go   the report; text.go: its text
//
// Memory use grows with Options.Limit and with the values that must be unique, but not with the number of objects.
package plan

import (
	"iter"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// Options contains the two policies, and the attributes of the create requests that are decided.
type Options struct {
	Old *policy.Policy // nil means no policy, which allows every object
	New *policy.Policy

	// Options applies to both policies. With Events, the user is the user in the event. The rule sets in Sets may be in
	// only one of the policies. The fields Policy, Old and RecordedBy are not used.
	offline.Options

	Events bool // the objects are events of the API server's audit log
	Limit  int  // the maximum number of objects in the report
}

// Plan compares two policies, object by object.
type Plan struct {
	o         Options
	old, new  *offline.Decider
	validated map[resource]bool // by either policy; only with Events

	report  *Report
	rules   output.Tally
	spaces  output.Tally // namespaces
	objects listed
}

// New returns a Plan without objects.
func New(o Options) *Plan {
	report := newReport(&o)
	if o.Old == nil {
		o.Old, _ = policy.Load() // without files, Load does not fail
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	p := &Plan{o: o, old: newDecider(&o, o.Old), new: newDecider(&o, o.New), report: report}
	p.rules, p.spaces, p.objects = output.NewTally(numKinds), output.NewTally(numKinds), newListed(o.Limit)
	if o.Events {
		p.validated = resourcesOf(o.Old, o.New)
	}
	return p
}

func newDecider(o *Options, p *policy.Policy) *offline.Decider {
	of := o.Options
	of.Policy, of.Sets, of.RecordedBy = p, p.SetsOf(o.Sets), []*policy.Policy{o.Old, o.New}
	return offline.NewDecider(of)
}

// AddAll adds objects from any source, for example offline.Read or an API server. The report contains errors and
// skipped files.
func (p *Plan) AddAll(objects iter.Seq2[offline.Object, error]) {
	for object, err := range objects {
		p.Add(object, err)
	}
}

// Add adds an object, or an error if err is not nil.
func (p *Plan) Add(object offline.Object, err error) {
	if err == nil && p.o.Events {
		err = p.event(object)
	} else if err == nil {
		err = p.manifest(object)
	}
	if err != nil && !p.report.AddError(err) {
		p.report.addError(err)
	}
}

// skip counts an object that is not validated.
func (p *Plan) skip(object offline.Object, why string) {
	p.report.Summary.Skipped++
	p.report.Add(object, why)
}

// manifest compares the decisions about an object that was read from a manifest.
func (p *Plan) manifest(object offline.Object) error {
	switch {
	case object.Kind == "AdmissionReview":
		return object.Errorf("this is a review, not a manifest: use evergate review --admission-review")
	case isEvent(object):
		return object.Errorf("this is an event of an audit log, not a manifest: add --audit")
	case object.HasEnded():
		p.report.Summary.EndedPods++
		return nil
	case object.CreatesNoPods():
		p.report.Summary.EndedWorkloads++
		return nil
	}
	return p.compare(object, nil)
}

// compare compares the decisions about an object. from is the request that sent the object, or nil for a manifest.
func (p *Plan) compare(object offline.Object, from *Request) error {
	was, is, err := offline.DecideBoth(p.old, p.new, object)
	if err != nil {
		return err
	}
	if was == nil && is == nil {
		p.skip(object, "not validated")
		return nil
	}
	if p.old.OmitsMirrorPod(was) || p.new.OmitsMirrorPod(is) {
		p.report.Summary.MirrorPods++
		return nil
	}
	if from == nil {
		if err := object.Unrendered(); err != nil {
			return err
		}
		if object.Namespace == "" && p.o.NamespaceAssumed {
			p.report.Summary.NoNamespace++
		}
		p.old.Compare(object, was, 0)
		p.new.Compare(object, is, 0)
	}
	p.count(was, is, from)
	if sameAnswer(was, is) {
		p.report.Summary.Unchanged++
		return nil
	}
	change := compare(p.result(p.old, object, was), p.result(p.new, object, is))
	pod := podOf(was, is)
	p.addChange(&found{change, object, from, pod, p.o.Recorded && pod != nil && pod.HasRecord()})
	return nil
}

// result returns a decision. An object that the policy does not validate is allowed.
func (p *Plan) result(j *offline.Decider, object offline.Object, a *admission.Answer) decision {
	if a == nil {
		return decision{Result: offline.Result{Decision: offline.Allowed}}
	}
	return decision{Result: j.Result(object, a), pulls: pullsOf(a)}
}

// count counts an object that is validated.
func (p *Plan) count(was, is *admission.Answer, from *Request) {
	s := &p.report.Summary
	s.Validated++
	if pod := podOf(was, is); pod != nil && pod.HasRecord() {
		s.RecordedPods++
	}
	if stale := max(staleOf(was), staleOf(is)); stale > 0 {
		s.StaleRecords++
	}
	if from == nil {
		return
	}
	if from.Verb != verbCreate {
		s.Updates++
	}
	if from.Failed {
		s.Failed++
	}
	if from.DryRun {
		s.DryRun++
	}
}

// staleOf returns the number of entries in a Pod's record that were ignored.
func staleOf(a *admission.Answer) int {
	if a == nil {
		return 0
	}
	return a.StaleRecords
}

// podOf returns the Pod in one of the answers, or nil for other objects.
func podOf(answers ...*admission.Answer) *object.Pod {
	for _, a := range answers {
		if a == nil {
			continue
		}
		if pod, ok := a.Object.(*object.Pod); ok {
			return pod
		}
	}
	return nil
}

// addChange adds an object and its changes to the report.
func (p *Plan) addChange(f *found) {
	if f.kinds == nil {
		p.report.Summary.Unchanged++
		return
	}
	for _, k := range f.kinds {
		p.report.Summary.Changes[k.index()]++
		p.spaces.Add(text.Truncate(f.namespace, admission.MaxName), k.index(), 1)
	}
	for _, r := range f.rules {
		p.rules.Add(r.rule, r.kind.index(), 1)
	}
	p.objects.add(f)
}

// Report returns the report on the objects that have been added so far.
func (p *Plan) Report() *Report {
	r := p.report
	r.Rules, r.MoreRules = rowsOf(p.rules)
	r.Namespaces, r.MoreNamespaces = rowsOf(p.spaces)
	p.addDuplicates()
	r.Objects, r.MoreObjects = p.objects.report(r.Summary.Validated - r.Summary.Unchanged)
	return r
}

// addDuplicates adds the duplicates that the old policy does not find with the same effect, except exempt ones.
func (p *Plan) addDuplicates() {
	type found struct {
		object.Reference
		effect
	}
	known, r := map[found]bool{}, p.report
	for of, result := range p.old.Duplicated() {
		known[found{of.Reference, effectOf(&result.Findings[0])}] = true
	}
	r.Duplicates, r.MoreDuplicates = nil, 0
	for of, result := range p.new.Duplicated() {
		switch f := &result.Findings[0]; {
		case f.Effect == offline.Exempt || known[found{of.Reference, effectOf(f)}]:
		case len(r.Duplicates) == p.o.Limit:
			r.MoreDuplicates++
		default:
			r.Duplicates = append(r.Duplicates, result)
		}
	}
}
