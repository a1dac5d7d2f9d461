package rule

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/object"
)

// Check is one check of a rule. The doc comment of its type is its specification: the fields that it reads and what
// passes.
type Check[T any] interface {
	// Find reports the fields and values of obj that do not pass.
	Find(obj *T, r *Recorder)
}

// When returns c if the field of its check is set in the entry, and nil otherwise.
func When[B ~bool, T any](isSet B, c Check[T]) Check[T] {
	if isSet {
		return c
	}
	return nil
}

// Checks returns the checks without nil.
func Checks[T any](all ...Check[T]) []Check[T] {
	return slices.DeleteFunc(all, func(c Check[T]) bool { return c == nil })
}

// ChecksOf returns the checks of a block. It returns no checks if the block is absent.
func ChecksOf[B, T any](block *B, checks func(*B) []Check[T]) []Check[T] {
	if block == nil {
		return nil
	}
	return checks(block)
}

// RejectNone returns an error for an entry or a block that does not check anything, because it would look like
// protection. fields are the fields that check something.
func RejectNone[T any](checks []Check[T], fields string) error {
	if len(checks) > 0 {
		return nil
	}
	return ErrNoCheck(fields)
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
	// TryAdd adds a finding. It returns the finding for the check to fill in its path and reason, or nil if the sentence
	// is not needed.
	TryAdd func(id Identity) *Finding

	rule       *RuleHeader // the rule that is running
	exceptions *Exceptions // of the policy; nil without exceptions
	updated    *Recorder   // in the object before an update: the recorder of the new object
}

// Spend counts n steps and reports whether the check may continue. Each loop over elements of an object calls it.
func (r *Recorder) Spend(n int) bool { return !r.done && r.effort.Spend(n) == nil }

// Add is like TryAdd, for a finding whose sentence costs little to format.
func (r *Recorder) Add(id Identity, path, reason string) {
	if f := r.TryAdd(id); f != nil {
		f.Path, f.Reason = path, reason
	}
}

// IsExempt reports whether an exception silences a finding. In the object before an update, an exception that applies
// to either object silences it.
func (r *Recorder) IsExempt(id Identity) bool {
	return r.exceptions != nil && (r.exemption(&id) != nil || r.updated != nil && r.updated.IsExempt(id))
}

// exemption returns the exemption that silences a finding in this object, or nil if the finding is not silenced.
func (r *Recorder) exemption(id *Identity) *Exemption {
	return r.Subject.Exemption(r.exceptions, &r.rule.Header, id)
}

// ViewOf is a pointer to the view of an object: the object and the values that checks parse from it.
type ViewOf[T any] interface {
	*T
	Metadata() *object.Meta
	// Classes returns the classes of the object, which select its implementation. A text is empty if the object does not
	// have that class.
	Classes() [2]string
}

// Part is an object, or a part of an object that rules evaluate like an object of their kind. An example is a Pod
// template in a workload.
type Part[T any] struct {
	View    T
	Subject Subject
	Spec    string // the path of a part that corresponds to spec in an object of the kind; empty for an object

	applies bool // the rule that is running applies to the part
}

// see makes p the only part of an object.
func see[O, T any, P ViewOf[T]](p *Part[T], view func(*O) T, obj *O, a object.Attributes, e *Effort) {
	p.View = view(obj)
	p.Subject = NewSubject(a, P(&p.View).Metadata(), P(&p.View).Classes(), e)
}

// evaluation is the evaluation of the parts of one object by the rules of their kind.
type evaluation[T any] struct {
	Recorder
	rules    *Ruleset[T]
	parts    []Part[T]
	object   [1]Part[T] // the parts of an object that is evaluated as a whole
	old      *before[T] // nil if there is no old object
	findings findings

	at          int      // index of the rule that is running
	check       Check[T] // that is running
	ledgerReady bool     // the ledger of old contains the findings of check
}

// before is the object that an update replaces.
type before[T any] struct {
	Recorder
	parts  []Part[T]
	read   func() []Part[T] // returns parts on first use, because most updates do not have findings; nil if they are set
	ledger ledger           // the findings of a check in all parts
}

// Evaluate evaluates obj, in the view that view returns, against every rule that applies to it. If old is not nil, obj
// replaces it in an update. A finding that old has too is then marked as pre-existing, unless an exemption silences it
// in old and does not silence it in obj. An error means that the evaluation did not finish. See Effort for the errors.
func Evaluate[O, T any, P ViewOf[T]](
	s *Ruleset[T], a object.Attributes, view func(*O) T, obj, old *O, e *Effort,
) ([]Finding, error) {
	candidates := s.index.candidates(a.Namespace)
	if len(candidates) == 0 {
		return nil, nil
	}
	if e == nil {
		e = new(Effort)
	}
	j := evaluation[T]{Recorder: Recorder{effort: e, exceptions: s.exceptions}, rules: s}
	j.parts = j.object[:]
	see[O, T, P](&j.object[0], view, obj, a, e)
	j.Subject = &j.object[0].Subject
	var was *T
	if old != nil {
		j.old = &before[T]{Recorder: Recorder{effort: e}, parts: make([]Part[T], 1)}
		see[O, T, P](&j.old.parts[0], view, old, a, e)
		was = &j.old.parts[0].View
	}
	if s.prepare != nil {
		s.prepare(&j.Recorder, &j.object[0].View, was)
	}
	return j.run(candidates, Audit)
}

// EvaluateParts evaluates the parts of an object together, by the rules whose mode is weakest or stricter. old is nil
// if no object existed before. Otherwise, it returns the parts of that object. A finding in a part of the old object is
// pre-existing in every part, and in mode audit, because the update does not introduce it.
func EvaluateParts[T any](
	s *Ruleset[T], namespace string, weakest Mode, parts []Part[T], old func() []Part[T], e *Effort,
) ([]Finding, error) {
	candidates := s.index.candidates(namespace)
	if len(candidates) == 0 {
		return nil, nil
	}
	j := evaluation[T]{Recorder: Recorder{effort: e, exceptions: s.exceptions}, rules: s, parts: parts}
	if old != nil {
		j.old = &before[T]{Recorder: Recorder{effort: e}, read: old}
	}
	return j.run(candidates, weakest)
}

// run evaluates the parts by the candidates whose mode is weakest or stricter.
func (j *evaluation[T]) run(candidates []int, weakest Mode) ([]Finding, error) {
	s := j.rules
	j.TryAdd = j.keep
	if j.old != nil {
		j.old.TryAdd, j.old.exceptions, j.old.updated = j.old.record, s.exceptions, &j.Recorder
	}
	for mode := s.strictest; mode >= weakest && !j.done; mode-- {
		for _, i := range candidates {
			if rule := &s.rules[i]; rule.Mode == mode {
				j.runRule(i, rule)
			}
		}
	}
	if len(j.findings.kept) == 0 {
		return nil, j.effort.err
	}
	return j.findings.list(s.uncut), j.effort.err
}

// runRule runs all checks of a rule on the parts that it applies to.
func (j *evaluation[T]) runRule(at int, rule *Rule[T]) {
	j.at, j.rule = at, &rule.RuleHeader
	for i := range j.parts {
		p := &j.parts[i]
		if p.applies = j.Spend(1); p.applies {
			_, p.applies = rule.applies(&p.Subject)
		}
	}
	for _, c := range rule.checks {
		j.check, j.ledgerReady = c, false
		for i := range j.parts {
			p := &j.parts[i]
			if !p.applies || !j.Spend(1) {
				continue
			}
			first := len(j.findings.kept)
			j.Subject = &p.Subject
			c.Find(&p.View, &j.Recorder)
			for k := first; k < len(j.findings.kept) && p.Spec != ""; k++ {
				j.findings.kept[k].complete(p.Spec, &rule.Header)
			}
		}
	}
}

// podsDenied is the end of the message of a finding in a template, if the rule will deny the Pods.
const podsDenied = "; its Pods will be denied"

// complete converts a finding about an object of the kind to a finding about a part at spec.
func (f *keptFinding) complete(spec string, h *Header) {
	f.Path = spec + strings.TrimPrefix(f.Path, "spec")
	if f.Existed {
		f.Mode = Audit
	}
	if h.deniesPods && f.Exempt == nil {
		f.Reason += podsDenied
		f.PodsDenied = !f.Existed && !f.Denies()
	}
}

// keep adds a finding.
func (j *evaluation[T]) keep(id Identity) *Finding {
	exempt := j.exemption(&id)
	f := j.findings.tryAdd(j.at, id, exempt == nil && j.old != nil && j.findInOld(id), exempt)
	if f != nil {
		f.Rule, f.Check, f.Mode, f.Note = string(j.rule.Name), id.Check, j.rule.Mode, string(j.rule.Message)
	}
	j.done = j.findings.full()
	return f
}

// findInOld looks up a finding in the object before the update. The check runs on that object on first use, because
// most updates have no findings.
func (j *evaluation[T]) findInOld(id Identity) bool {
	old := j.old
	if !j.ledgerReady {
		j.ledgerReady = true
		old.ledger.clear()
		old.rule = j.rule
		if old.parts == nil {
			old.parts = old.read()
		}
		for i := range old.parts {
			p := &old.parts[i]
			if !old.Spend(1) {
				break
			}
			if _, applies := j.rule.applies(&p.Subject); applies {
				old.Subject = &p.Subject
				j.check.Find(&p.View, &old.Recorder)
			}
		}
	}
	return j.effort.Spend(1) == nil && old.ledger.find(id, j.effort)
}

// record adds a finding to the ledger unless an exception silences it. If an update makes the exception stop matching,
// for example by changing a label, the update introduces the finding. A finding whose exception has expired is
// pre-existing.
func (b *before[T]) record(id Identity) *Finding {
	if b.effort.Spend(LedgerSteps) == nil && b.exemption(&id) == nil {
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
func Explain[O, T any, P ViewOf[T]](s *Ruleset[T], a object.Attributes, view func(*O) T, obj *O) []Trace {
	parts := make([]Part[T], 1)
	see[O, T, P](&parts[0], view, obj, a, nil)
	if s.prepare != nil {
		s.prepare(&Recorder{effort: new(Effort), Subject: &parts[0].Subject}, &parts[0].View, nil)
	}
	return ExplainParts(s, parts, Audit, "")
}

// ExplainParts returns, for every rule, whether it applies to at least one of the parts. why is the trace of rules that
// do not evaluate any part, because their mode is weaker than weakest or there are no parts.
func ExplainParts[T any](s *Ruleset[T], parts []Part[T], weakest Mode, why string) []Trace {
	traces := make([]Trace, len(s.rules))
	for i := range s.rules {
		rule, t := &s.rules[i], &traces[i]
		*t = Trace{Rule: string(rule.Name), Mode: rule.Mode, Why: why}
		for k := 0; k < len(parts) && rule.Mode >= weakest; k++ {
			if why, applies := rule.applies(&parts[k].Subject); applies {
				t.Applies, t.Why = true, why.String()
				countFindings(t, rule, &parts[k], s.exceptions)
			} else if !t.Applies {
				t.Why = why.String()
			}
		}
	}
	return traces
}

// countFindings adds the findings of a rule in a part to the trace.
func countFindings[T any](t *Trace, rule *Rule[T], p *Part[T], exceptions *Exceptions) {
	var last Finding // its sentence is not shown
	r := Recorder{effort: new(Effort), Subject: &p.Subject, rule: &rule.RuleHeader, exceptions: exceptions}
	r.TryAdd = func(id Identity) *Finding {
		if t.Findings++; r.exemption(&id) != nil {
			t.Exempt++
		}
		return &last
	}
	for _, c := range rule.checks {
		c.Find(&p.View, &r)
	}
}
