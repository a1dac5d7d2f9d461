// Package plan says what changes for given objects when one policy takes the place of another: what is newly denied,
// newly allowed, newly warned of, and rewritten otherwise. Both policies judge as package offline does, so that each
// decision is that of evergate review.
//
//	plan.go       objects, one by one
//	events.go     events of the API server's audit log as objects
//	compare.go    two decisions about one object → what changes
//	changes.go    the kinds of changes, and counting them
//	tables.go     counts by rule and by namespace
//	listed.go     the first objects of each kind of change
//	report.go     what is returned; text.go, its text; stream.go, its objects as they are found
//	sentences.go  what the text says of an object, a finding, an image
//
// What it keeps does not grow with the input.
package plan

import (
	"errors"
	"iter"
	"time"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// Options are the two policies, and the request that objects are judged in: that of their creation.
type Options struct {
	Old *policy.Policy // nil for none: every object is allowed
	New *policy.Policy

	Namespace string // of objects that name none
	User      string // that sends the request; that of an event with Events
	Groups    []string
	Now       time.Time // by which exceptions end; at the zero time none has ended
	Sets      []string  // whose rules judge too, in the policy that has them
	// SetsOf returns the sets whose rules judge an object, too; it may be nil.
	SetsOf func(offline.Object) []string

	// FromRecord judges Pods that were rewritten by the original images in their records. Tenants may write those.
	FromRecord bool
	// Events says that the objects are events of the API server's audit log.
	Events bool

	// Limit is how many objects the report lists.
	Limit int
	// Changed is called with each object that something changes for; the report then lists none. It may be nil.
	Changed func(*Object)
}

// Plan compares two policies, object by object.
type Plan struct {
	o        Options
	old, new *offline.Judge
	judged   map[resource]bool // by either policy; only with Events

	report  *Report
	skips   offline.Skips
	rules   table
	spaces  table // of namespaces
	objects listed
}

// New returns a Plan without objects.
func New(o Options) *Plan {
	report := newReport(&o)
	if o.Old == nil {
		o.Old, _ = policy.Load() // of no files there is no error
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	p := &Plan{o: o, old: newJudge(&o, o.Old), new: newJudge(&o, o.New), report: report}
	p.rules, p.spaces, p.objects = newTable(), newTable(), newListed(o.Limit)
	if o.Events {
		p.judged = resourcesOf(o.Old, o.New)
	}
	return p
}

func newJudge(o *Options, p *policy.Policy) *offline.Judge {
	return offline.NewJudge(offline.Options{
		Policy: p, Namespace: o.Namespace, User: o.User, Groups: o.Groups, Now: o.Now, Sets: p.SetsOf(o.Sets),
		SetsOf: o.SetsOf, Recorded: o.FromRecord, RecordedBy: []*policy.Policy{o.Old, o.New},
	})
}

// AddAll adds objects from any source: those of offline.Read, or those that an API server lists. Their errors, and what
// is skipped, are in the report.
func (p *Plan) AddAll(objects iter.Seq2[offline.Object, error]) {
	for object, err := range objects {
		p.Add(object, err)
	}
}

// Add adds an object, or an error in place of one.
func (p *Plan) Add(object offline.Object, err error) {
	if err == nil && p.o.Events {
		err = p.event(object)
	} else if err == nil {
		err = p.manifest(object)
	}
	if err != nil {
		p.fail(err)
	}
}

// fail reports an error, or what else there is in place of an object.
func (p *Plan) fail(err error) {
	if absent, ok := errors.AsType[*offline.NotServedError](err); ok {
		p.report.NotServed = append(p.report.NotServed, absent.Resource)
		return
	}
	if skipped, ok := errors.AsType[*offline.SkippedError](err); ok {
		p.skips.AddFile(skipped)
		return
	}
	p.report.addError(err)
}

// skip counts an object that is not judged.
func (p *Plan) skip(object offline.Object, why string) {
	p.report.Summary.Skipped++
	p.skips.Add(object, why)
}

// manifest compares the decisions about an object that is written as manifests are.
func (p *Plan) manifest(object offline.Object) error {
	switch {
	case object.Kind == "AdmissionReview":
		return object.Errorf("this is a review, not a manifest: evergate review --admission-review judges it")
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

// compare compares the decisions about an object, which a request has sent, or, where that is nil, which may be sent.
func (p *Plan) compare(object offline.Object, from *Request) error {
	was, is, err := offline.DecideBoth(p.old, p.new, object)
	if err != nil {
		return err
	}
	if was == nil && is == nil {
		p.skip(object, "not judged")
		return nil
	}
	p.count(was, is, from)
	if sameAnswer(was, is) {
		p.report.Summary.Unchanged++
		return nil
	}
	change := compare(p.result(p.old, object, was), p.result(p.new, object, is))
	pod := podOf(was, is)
	p.addChange(&found{change, object, from, pod, p.o.FromRecord && pod != nil && pod.HasRecord()})
	return nil
}

// result returns a decision, which is to allow what is not judged.
func (p *Plan) result(j *offline.Judge, object offline.Object, a *admission.Answer) decision {
	if a == nil {
		return decision{Result: offline.Result{Decision: offline.Allowed}}
	}
	return decision{Result: j.Result(object, a), pulls: pullsOf(a)}
}

// count counts an object that is judged.
func (p *Plan) count(was, is *admission.Answer, from *Request) {
	s := &p.report.Summary
	s.Judged++
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
	if from.Refused {
		s.Refused++
	}
	if from.DryRun {
		s.DryRun++
	}
}

// staleOf returns how many entries of a record were ignored.
func staleOf(a *admission.Answer) int {
	if a == nil {
		return 0
	}
	return a.StaleRecords
}

// podOf returns the Pod that one of two answers is about; nil for other objects.
func podOf(answers ...*admission.Answer) *policy.Pod {
	for _, a := range answers {
		if a == nil {
			continue
		}
		if pod, ok := a.Object.(*policy.Pod); ok {
			return pod
		}
	}
	return nil
}

// addChange adds what changes for an object.
func (p *Plan) addChange(f *found) {
	if f.kinds == nil {
		p.report.Summary.Unchanged++
		return
	}
	p.report.Summary.Changes.add(f.kinds)
	p.spaces.add(text.Truncate(f.namespace, admission.MaxName), f.kinds)
	for _, r := range f.rules {
		p.rules.add(r.rule, []Kind{r.kind})
	}
	if p.o.Changed != nil {
		p.o.Changed(newObject(f))
		return
	}
	p.objects.add(f)
}

// Report returns what has been found so far.
func (p *Plan) Report() *Report {
	r := p.report
	r.Skipped, r.SkippedFiles = p.skips.Objects, p.skips.Files
	r.Rules, r.MoreRules = p.rules.rows(maxRows)
	r.Namespaces, r.MoreNamespaces = p.spaces.rows(maxRows)
	if p.o.Changed == nil {
		r.Objects, r.MoreObjects = p.objects.report(r.Summary.Judged - r.Summary.Unchanged)
	}
	return r
}
