package rule

import "github.com/evergate/evergate/policy/object"

// Check is one check of a rule. The doc comment of its type is its specification: the fields that it reads and what
// passes.
type Check[T any] interface {
	// Find reports the fields and values of obj that do not pass.
	Find(obj *T, r *Recorder)
}

// Rule is a compiled entry of a block that contains rules for objects.
type Rule[T any] struct {
	RuleHeader
	checks []Check[T]
}

// New returns a rule with the header of an entry.
func New[T any](h RuleHeader, checks []Check[T]) Rule[T] { return Rule[T]{h, checks} }

// Recorder collects the findings of checks in one object.
type Recorder struct {
	effort  *Effort
	Subject *Subject // the object and the user of the request, as selectors see them
	// done ends the loops of checks, because the evaluation has ended.
	done bool
	// collect is called for each finding. It returns the finding for the check to fill in its path and reason, or nil if
	// the sentence is not needed.
	collect func(id Identity) *Finding
	// exempts reports whether an exception silences a finding. In the object before an update, an exception that applies
	// to either object silences it. exempts is nil if the policy has no exceptions.
	exempts func(id Identity) bool
}

// Spend counts n steps and reports whether the check may continue. Each loop over elements of an object calls it.
func (r *Recorder) Spend(n int) bool { return !r.done && r.effort.spend(n) }

// TryAdd adds a finding. It returns the finding for the check to fill in its path and reason, or nil if the sentence is
// not needed.
func (r *Recorder) TryAdd(id Identity) *Finding { return r.collect(id) }

// Add is like TryAdd, for a finding whose sentence costs little to format.
func (r *Recorder) Add(id Identity, path, reason string) {
	if f := r.collect(id); f != nil {
		f.Path, f.Reason = path, reason
	}
}

// IsExempt reports whether an exception silences a finding. In the object before an update, an exception that applies
// to either object silences it.
func (r *Recorder) IsExempt(id Identity) bool { return r.exempts != nil && r.exempts(id) }

// ViewOf is a pointer to the view of an object: the object and the values that checks parse from it.
type ViewOf[T any] interface {
	*T
	Metadata() *object.Meta
	// Classes returns the classes of the object, which select its implementation. A text is empty if the object does not
	// have that class.
	Classes() [2]string
}

// evaluation is the evaluation of one object by the rules of its kind.
type evaluation[T any] struct {
	Recorder
	obj      T
	old      *before[T] // nil if there is no old object
	findings findings
	exempt   exemptions

	// The rule and the check that are running.
	at    int // index of the rule in its ruleset
	rule  *Rule[T]
	check Check[T]

	ledgerReady bool // the ledger of old contains the findings of check
}

// before is the object that an update replaces.
type before[T any] struct {
	Recorder
	obj     T
	subject Subject
	ledger  ledger // the findings of a check in obj
	exempt  exemptions
	rule    *Header // the rule that is running
}

// Evaluate evaluates obj, in the view that see returns, against every rule that applies to it. If old is not nil, obj
// replaces it in an update. A finding that old has too is then marked as pre-existing, unless an exemption silences it
// in old and does not silence it in obj. An error means that the evaluation did not finish. See Effort for the errors.
func Evaluate[O, T any, P ViewOf[T]](
	s *Ruleset[T], a object.Attributes, see func(*O) T, obj, old *O, e *Effort,
) ([]Finding, error) {
	all, err := evaluateAll[O, T, P](s, a, see, obj, old, e)
	return all.list(), err
}

// EvaluateUncut is like evaluate, without the note in the last finding that reports omitted findings.
func EvaluateUncut[O, T any, P ViewOf[T]](
	s *Ruleset[T], a object.Attributes, see func(*O) T, obj, old *O, e *Effort,
) ([]Finding, error) {
	all, err := evaluateAll[O, T, P](s, a, see, obj, old, e)
	return all.sorted(), err
}

// evaluateAll is like evaluate, but returns the findings in the order in which they were collected.
func evaluateAll[O, T any, P ViewOf[T]](
	s *Ruleset[T], a object.Attributes, see func(*O) T, obj, old *O, e *Effort,
) (findings, error) {
	if e == nil {
		e = new(Effort)
	}
	candidates := s.index.candidates(a.Namespace)
	if len(candidates) == 0 {
		return findings{}, nil
	}
	j := evaluation[T]{Recorder: Recorder{effort: e}, obj: see(obj)}
	sub := subjectOf[T, P](a, &j.obj, e)
	j.collect, j.Subject = j.keep, &sub
	j.exempt = exemptions{exceptions: s.exceptions, subject: &sub}
	if old != nil {
		j.old = &before[T]{obj: see(old)}
		j.old.subject = subjectOf[T, P](a, &j.old.obj, e)
		j.old.exempt = exemptions{exceptions: s.exceptions, subject: &j.old.subject}
		j.old.Recorder = Recorder{effort: e, collect: j.old.record, Subject: &j.old.subject}
	}
	if s.exceptions != nil {
		j.nameExempt()
	}
	s.prepareViews(a, &j.obj, &j.Recorder, j.old)
	for mode := s.strictest; mode > Off && !j.done; mode-- {
		for _, i := range candidates {
			if rule := &s.rules[i]; rule.Mode == mode && j.Spend(1) && rule.appliesTo(&sub) {
				j.run(i, rule)
			}
		}
	}
	return j.findings, e.err
}

// subjectOf returns the subject of an object.
func subjectOf[T any, P ViewOf[T]](a object.Attributes, obj P, e *Effort) Subject {
	return NewSubject(a, obj.Metadata(), obj.Classes(), e)
}

// prepareViews calls prepare for an object and the object before an update, if there is one.
func (s *Ruleset[T]) prepareViews(a object.Attributes, obj *T, r *Recorder, old *before[T]) {
	switch {
	case s.prepare == nil:
	case old == nil:
		s.prepare(a, obj, r, nil, nil)
	default:
		s.prepare(a, obj, r, &old.obj, &old.Recorder)
	}
}

// nameExempt sets exempts. Only policies with exceptions need it.
func (j *evaluation[T]) nameExempt() {
	j.exempts = func(id Identity) bool { return j.exempt.find(&j.rule.Header, &id) != nil }
	if old := j.old; old != nil {
		old.exempts = func(id Identity) bool { return old.exempt.find(old.rule, &id) != nil || j.exempts(id) }
	}
}

// run runs all checks of a rule on the object.
func (j *evaluation[T]) run(at int, rule *Rule[T]) {
	j.at, j.rule = at, rule
	for _, c := range rule.checks {
		if !j.Spend(1) {
			return
		}
		j.check, j.ledgerReady = c, false
		c.Find(&j.obj, &j.Recorder)
	}
}

// keep adds a finding of the object.
func (j *evaluation[T]) keep(id Identity) *Finding {
	h := &j.rule.RuleHeader
	exempt := j.exempt.find(&h.Header, &id)
	f := j.findings.tryAdd(j.at, id, exempt == nil && j.old != nil && j.findInOld(id), exempt)
	if f != nil {
		f.Rule, f.Check, f.Mode, f.Note = string(h.Name), id.Check, h.Mode, string(h.Message)
	}
	j.done = j.findings.full()
	return f
}

// findInOld looks up a finding in the object before the update. The check runs on that object on first use, because
// most updates have no findings.
func (j *evaluation[T]) findInOld(id Identity) bool {
	if !j.ledgerReady {
		j.ledgerReady = true
		j.old.ledger.clear()
		j.old.rule = &j.rule.Header
		if j.rule.appliesTo(&j.old.subject) {
			j.check.Find(&j.old.obj, &j.old.Recorder)
		}
	}
	return j.effort.spend(1) && j.old.ledger.find(id, j.effort)
}

// record adds a finding to the ledger unless an exception silences it. If an update makes the exception stop matching,
// for example by changing a label, the update introduces the finding. A finding whose exception has expired is
// pre-existing.
func (b *before[T]) record(id Identity) *Finding {
	if b.effort.spend(LedgerSteps) && b.exempt.find(b.rule, &id) == nil {
		b.ledger.add(id)
	}
	return nil
}

// LedgerSteps is the number of steps for adding a finding to the ledger.
const LedgerSteps = 3

// Trace shows whether a rule applies to an object, for review --explain.
type Trace struct {
	Rule     string
	Mode     Mode
	Applies  bool
	Why      string // "applies", or the reason why the rule does not apply
	Findings int    // the number of findings; 0 if the rule does not apply
	Exempt   int    // the number of silenced findings among them
}

// Explain returns a trace of every rule for an object.
func Explain[O, T any, P ViewOf[T]](s *Ruleset[T], a object.Attributes, see func(*O) T, obj *O) []Trace {
	seen := see(obj)
	sub := subjectOf[T, P](a, &seen, nil)
	traces := make([]Trace, len(s.rules))
	for i := range s.rules {
		rule := &s.rules[i]
		why, applies := rule.applies(&sub)
		t := rule.trace(why.String())
		if t.Applies = applies; applies {
			var last Finding // its sentence is not shown
			exempt := exemptions{exceptions: s.exceptions, subject: &sub}
			count := func(id Identity) *Finding {
				if t.Findings++; exempt.find(&rule.Header, &id) != nil {
					t.Exempt++
				}
				return &last
			}
			r := Recorder{effort: new(Effort), Subject: &sub, collect: count}
			r.exempts = func(id Identity) bool { return exempt.find(&rule.Header, &id) != nil }
			s.prepareViews(a, &seen, &r, nil)
			for _, c := range rule.checks {
				c.Find(&seen, &r)
			}
		}
		traces[i] = t
	}
	return traces
}

// NotEvaluated returns the traces of an object against which no rule is evaluated.
func (s *Ruleset[T]) NotEvaluated(why string) []Trace {
	traces := make([]Trace, len(s.rules))
	for i := range s.rules {
		traces[i] = s.rules[i].trace(why)
	}
	return traces
}

// trace returns a trace of the entry with the reason why.
func (h *Header) trace(why string) Trace {
	return Trace{Rule: string(h.Name), Mode: h.Mode, Why: why}
}
