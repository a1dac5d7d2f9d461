package rule

import "strings"

// Part is a part of an object that the rules of a kind evaluate like an object of this kind. An example is a Pod
// template in a workload.
type Part[T any] struct {
	view    T
	subject *Subject
	spec    string // the path of the part that corresponds to spec in an object of the kind

	exempt exemptions
}

// NewPart returns the part at spec, with its view and its subject.
func NewPart[T any](view T, s *Subject, spec string) Part[T] {
	return Part[T]{view: view, subject: s, spec: spec}
}

// podsDenied is the end of the message of a finding in a template, if the rule will deny the Pods.
const podsDenied = "; its Pods will be denied"

// EvaluateParts evaluates the parts of an object together, by the rules whose mode is weakest or stricter. old is nil
// if no object existed before. Otherwise, it returns the parts of that object. It is called on first use, because most
// updates do not have findings. A finding in a part of the old object is pre-existing in every part, and in mode audit,
// because the update does not introduce it.
func EvaluateParts[T any](
	s *Ruleset[T], namespace string, weakest Mode, parts []Part[T], old func() []Part[T], e *Effort,
) ([]Finding, error) {
	candidates := s.index.candidates(namespace)
	if len(candidates) == 0 {
		return nil, nil
	}
	j := partsEvaluation[T]{Recorder: Recorder{effort: e}, rules: s, parts: parts, partsOfOld: old}
	j.collect = j.keep
	j.before = Recorder{effort: e, collect: j.record}
	s.setExemptions(parts)
	for mode := s.strictest; mode >= weakest && !j.done; mode-- {
		for _, i := range candidates {
			if s.rules[i].Mode == mode {
				j.run(i)
			}
		}
	}
	return j.findings.list(), e.err
}

// setExemptions sets the exemptions of parts.
func (s *Ruleset[T]) setExemptions(parts []Part[T]) {
	for i := range parts {
		parts[i].exempt = exemptions{exceptions: s.exceptions, subject: parts[i].subject}
	}
}

// partsEvaluation is the evaluation of the parts of one object.
type partsEvaluation[T any] struct {
	Recorder
	rules    *Ruleset[T]
	parts    []Part[T]
	findings findings

	before     Recorder         // of the old object
	partsOfOld func() []Part[T] // nil if there is no old object
	old        []Part[T]        // set on first use
	ledger     ledger           // findings of a check in old

	// The rule and the check that are running.
	at          int // index of the rule
	check       Check[T]
	ledgerReady bool // the ledger contains the findings of check
	part        *Part[T]
	oldPart     *Part[T] // the part whose findings are added to the ledger
}

// run runs all checks of a rule on the parts that it applies to.
func (j *partsEvaluation[T]) run(at int) {
	j.at = at
	rule := &j.rules.rules[at]
	for _, c := range rule.checks {
		j.check, j.ledgerReady = c, false
		for i := range j.parts {
			p := &j.parts[i]
			if !j.Spend(1) || !rule.appliesTo(p.subject) {
				continue
			}
			first := len(j.findings.kept)
			j.part, j.Subject = p, p.subject
			c.Find(&p.view, &j.Recorder)
			for k := first; k < len(j.findings.kept); k++ {
				j.findings.kept[k].complete(p.spec, &rule.Header)
			}
		}
	}
}

// complete converts a finding about an object of the kind to a finding about a part at spec.
func (f *keptFinding) complete(spec string, h *Header) {
	f.Path = spec + strings.TrimPrefix(f.Path, "spec")
	if h.deniesPods && f.Exempt == nil {
		f.Reason += podsDenied
		f.PodsDenied = !f.Existed && !f.Denies()
	}
}

// keep adds a finding about a part.
func (j *partsEvaluation[T]) keep(id Identity) *Finding {
	h := &j.rules.rules[j.at].RuleHeader
	exempt := j.part.exempt.find(&h.Header, &id)
	f := j.findings.tryAdd(j.at, id, exempt == nil && j.partsOfOld != nil && j.findInOld(id), exempt)
	if f != nil {
		f.Rule, f.Check, f.Mode, f.Note = string(h.Name), id.Check, h.Mode, string(h.Message)
		if f.Existed {
			f.Mode = Audit
		}
	}
	j.done = j.findings.full()
	return f
}

// findInOld reports whether a part had the finding before the update.
func (j *partsEvaluation[T]) findInOld(id Identity) bool {
	if !j.ledgerReady {
		j.ledgerReady = true
		j.ledger.clear()
		if j.old == nil {
			j.old = j.partsOfOld()
			j.rules.setExemptions(j.old)
		}
		for i := range j.old {
			p := &j.old[i]
			if j.before.Spend(1) && j.rules.rules[j.at].appliesTo(p.subject) {
				j.oldPart, j.before.Subject = p, p.subject
				j.check.Find(&p.view, &j.before)
			}
		}
	}
	return j.effort.spend(1) && j.ledger.find(id, j.effort)
}

// record adds a finding to the ledger, unless the finding is exempt: see before.
func (j *partsEvaluation[T]) record(id Identity) *Finding {
	if j.effort.spend(LedgerSteps) && j.oldPart.exempt.find(&j.rules.rules[j.at].Header, &id) == nil {
		j.ledger.add(id)
	}
	return nil
}

// ExplainParts returns, for every rule, whether it applies to at least one of the parts. why is the trace of rules
// whose mode is weaker than weakest, which do not evaluate the parts.
func ExplainParts[T any](s *Ruleset[T], parts []Part[T], weakest Mode, why string) []Trace {
	s.setExemptions(parts)
	traces := make([]Trace, len(s.rules))
	for i := range s.rules {
		rule := &s.rules[i]
		if rule.Mode < weakest {
			traces[i] = rule.trace(why)
			continue
		}
		for k := range parts {
			why, applies := rule.applies(parts[k].subject)
			if traces[i].Applies && !applies {
				continue
			}
			before := traces[i]
			traces[i] = rule.trace(why.String())
			traces[i].Findings, traces[i].Exempt = before.Findings, before.Exempt
			if traces[i].Applies = applies; applies {
				n, exempt := countFindings(rule, &parts[k])
				traces[i].Findings, traces[i].Exempt = traces[i].Findings+n, traces[i].Exempt+exempt
			}
		}
	}
	return traces
}

// countFindings returns how many findings a rule has in a part, and how many of them are exempt.
func countFindings[T any](rule *Rule[T], p *Part[T]) (n, exempt int) {
	var last Finding // its message is not shown
	r := Recorder{effort: new(Effort), Subject: p.subject, collect: func(id Identity) *Finding {
		if n++; p.exempt.find(&rule.Header, &id) != nil {
			exempt++
		}
		return &last
	}}
	for _, c := range rule.checks {
		c.Find(&p.view, &r)
	}
	return n, exempt
}
