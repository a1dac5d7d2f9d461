package policy

import "github.com/evergate/evergate/policy/internal/match"

// check is one question that a rule asks of an object. Its type's doc comment is its specification.
type check[T any] interface {
	find(obj *T, r *report)
}

// rule is an entry that judges, compiled.
type rule[T any] struct {
	ruleHeader
	checks []check[T]
}

// report takes what checks find in one object, and keeps what several of them need to know of it.
type report struct {
	effort  *Effort
	subject *subject // who wrote the object
	// enough ends the loops of checks: judging has ended.
	enough bool
	// take is called for each finding. It returns the finding to be filled in with path and reason, or nil where the sentence
	// is not needed.
	take func(id identity) *Finding

	hosts       []ingressHost      // see ingressHosts
	coverage    *tlsCoverage       // see tlsCoverage
	different   int                // see differentHosts
	paths       []pathPlace        // see ingressPaths
	annotations []annotation       // see sortedAnnotations
	external    *match.HostPattern // see externalName
	addresses   []address          // see externalIPs
	points      []address          // see statusIPs
	ranges      []sourceRange      // see sourceRanges
	patterns    *bool              // see hasPatterns
}

// spend counts n steps and returns whether the check may go on. Each loop over what an object holds calls it.
func (r *report) spend(n int) bool { return !r.enough && r.effort.spend(n) }

// found adds a finding. It returns the finding to be filled in with path and reason; nil where the sentence is not needed.
func (r *report) found(id identity) *Finding { return r.take(id) }

// add is found for a finding whose sentence costs nothing to make.
func (r *report) add(id identity, path, reason string) {
	if f := r.take(id); f != nil {
		f.Path, f.Reason = path, reason
	}
}

// object is what every judged type is: something with metadata.
type object[T any] interface {
	*T
	meta() *Meta
}

func (m *Meta) meta() *Meta { return m }

// judging is the judging of one object by the rules of its kind.
type judging[T any] struct {
	report
	obj, old *T
	oldSub   subject
	before   report // of old
	ledger   ledger // what the check that is asked has found in old
	recorded bool   // the ledger is that of the check
	findings findings

	at    int // of the rule that is asked
	rule  *rule[T]
	check check[T]
}

// judge asks every rule that applies about obj. An update (old is not nil) is answerable only for what it introduces. An
// error means that the object was not judged to its end, and is one that Effort documents.
func judge[T any, P object[T]](s *ruleset[T], a Attributes, obj, old *T, e *Effort) ([]Finding, error) {
	if e == nil {
		e = new(Effort)
	}
	candidates := s.index.candidates(a.Namespace)
	if len(candidates) == 0 {
		return nil, nil
	}
	j := judging[T]{report: report{effort: e}, obj: obj, old: old}
	sub := newSubject(a, P(obj).meta(), e)
	j.take, j.subject = j.keep, &sub
	if old != nil {
		j.oldSub = newSubject(a, P(old).meta(), e)
		j.before = report{effort: e, take: j.record, subject: &j.oldSub}
	}
	for mode := s.strictest; mode > Off && !j.enough; mode-- {
		for _, i := range candidates {
			if rule := &s.rules[i]; rule.Mode == mode && j.spend(1) && rule.skips(&sub).dimension == "" {
				j.ask(i, rule)
			}
		}
	}
	return j.findings.list(), e.err
}

// ask puts all questions of a rule to the object.
func (j *judging[T]) ask(at int, rule *rule[T]) {
	j.at, j.rule = at, rule
	for _, c := range rule.checks {
		if !j.spend(1) {
			return
		}
		j.check, j.recorded = c, false
		c.find(j.obj, &j.report)
	}
}

// keep takes a finding of the object.
func (j *judging[T]) keep(id identity) *Finding {
	f := j.findings.tryAdd(j.at, id, j.old != nil && j.existed(id))
	if f != nil {
		h := &j.rule.ruleHeader
		f.Rule, f.Check, f.Mode, f.Note = string(h.Name), id.check, h.Mode, string(h.Message)
	}
	j.enough = j.findings.full()
	return f
}

// existed reports whether the object had a finding before the update. Most updates have no finding, and then old is not
// judged.
func (j *judging[T]) existed(id identity) bool {
	if !j.recorded {
		j.recorded = true
		j.ledger.clear()
		if j.rule.skips(&j.oldSub).dimension == "" {
			j.check.find(j.old, &j.before)
		}
	}
	return j.effort.spend(1) && j.ledger.covers(id, j.effort)
}

// record takes a finding of the object before the update.
func (j *judging[T]) record(id identity) *Finding {
	if j.effort.spend(ledgerSteps) {
		j.ledger.add(id)
	}
	return nil
}

// ledgerSteps is how many steps it takes to remember a finding of an old object.
const ledgerSteps = 3

// RuleTrace says of one rule whether it looked at an object, for review --explain.
type RuleTrace struct {
	Rule     string
	Mode     Mode
	Applies  bool
	Why      string // "applies", or what keeps it from applying
	Findings int    // how many it had; 0 when it does not apply
}

func explain[T any, P object[T]](s *ruleset[T], a Attributes, obj *T) []RuleTrace {
	sub := newSubject(a, P(obj).meta(), nil)
	traces := make([]RuleTrace, len(s.rules))
	for i := range s.rules {
		rule := &s.rules[i]
		sk := rule.skips(&sub)
		t := rule.trace(sk.String())
		if t.Applies = sk.dimension == ""; t.Applies {
			r := report{effort: new(Effort), subject: &sub, take: func(identity) *Finding { t.Findings++; return nil }}
			for _, c := range rule.checks {
				c.find(obj, &r)
			}
		}
		traces[i] = t
	}
	return traces
}

// unasked are the traces of an object that no rule is asked about.
func (s *ruleset[T]) unasked(why string) []RuleTrace {
	traces := make([]RuleTrace, len(s.rules))
	for i := range s.rules {
		traces[i] = s.rules[i].trace(why)
	}
	return traces
}

func (h *header) trace(why string) RuleTrace {
	return RuleTrace{Rule: string(h.Name), Mode: h.Mode, Why: why}
}
