package policy

import "strings"

// part is a part of an object that the rules of a kind evaluate like an object of this kind. An example is a Pod
// template in a workload.
type part[T any] struct {
	view    T
	subject *subject
	spec    string // the path of the part that corresponds to spec in an object of the kind

	exempt exemptions
}

// newPart returns the part at spec, with its view and its subject.
func newPart[T any](view T, s *subject, spec string) part[T] {
	return part[T]{view: view, subject: s, spec: spec}
}

// podsDenied is the end of the message of a finding in a template, if the rule will deny the Pods.
const podsDenied = "; its Pods will be denied"

// evaluateParts evaluates the parts of an object together, by the rules whose mode is weakest or stricter. old is nil
// if no object existed before. Otherwise, it returns the parts of that object. It is called on first use, because most
// updates do not have findings. A finding in a part of the old object is pre-existing in every part, and in mode audit,
// because the update does not introduce it.
func evaluateParts[T any](
	s *ruleset[T], namespace string, weakest Mode, parts []part[T], old func() []part[T], e *Effort,
) ([]Finding, error) {
	candidates := s.index.candidates(namespace)
	if len(candidates) == 0 {
		return nil, nil
	}
	j := partsEvaluation[T]{recorder: recorder{effort: e}, rules: s, parts: parts, partsOfOld: old}
	j.collect = j.keep
	j.before = recorder{effort: e, collect: j.record}
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
func (s *ruleset[T]) setExemptions(parts []part[T]) {
	for i := range parts {
		parts[i].exempt = exemptions{exceptions: s.exceptions, subject: parts[i].subject}
	}
}

// partsEvaluation is the evaluation of the parts of one object.
type partsEvaluation[T any] struct {
	recorder
	rules    *ruleset[T]
	parts    []part[T]
	findings findings

	before     recorder         // of the old object
	partsOfOld func() []part[T] // nil if there is no old object
	old        []part[T]        // set on first use
	ledger     ledger           // findings of a check in old

	// The rule and the check that are running.
	at          int // index of the rule
	check       check[T]
	ledgerReady bool // the ledger contains the findings of check
	part        *part[T]
	oldPart     *part[T] // the part whose findings are added to the ledger
}

// run runs all checks of a rule on the parts that it applies to.
func (j *partsEvaluation[T]) run(at int) {
	j.at = at
	rule := &j.rules.rules[at]
	for _, c := range rule.checks {
		j.check, j.ledgerReady = c, false
		for i := range j.parts {
			p := &j.parts[i]
			if !j.spend(1) || !rule.appliesTo(p.subject) {
				continue
			}
			first := len(j.findings.kept)
			j.part, j.subject = p, p.subject
			c.find(&p.view, &j.recorder)
			for k := first; k < len(j.findings.kept); k++ {
				j.findings.kept[k].complete(p.spec, &rule.header)
			}
		}
	}
}

// complete converts a finding about an object of the kind to a finding about a part at spec.
func (f *keptFinding) complete(spec string, h *header) {
	f.Path = spec + strings.TrimPrefix(f.Path, "spec")
	if h.deniesPods && f.Exempt == nil {
		f.Reason += podsDenied
		f.PodsDenied = !f.Existed && !f.Denies()
	}
}

// keep adds a finding about a part.
func (j *partsEvaluation[T]) keep(id identity) *Finding {
	h := &j.rules.rules[j.at].ruleHeader
	exempt := j.part.exempt.find(&h.header, &id)
	f := j.findings.tryAdd(j.at, id, exempt == nil && j.partsOfOld != nil && j.findInOld(id), exempt)
	if f != nil {
		f.Rule, f.Check, f.Mode, f.Note = string(h.Name), id.check, h.Mode, string(h.Message)
		if f.Existed {
			f.Mode = Audit
		}
	}
	j.done = j.findings.full()
	return f
}

// findInOld reports whether a part had the finding before the update.
func (j *partsEvaluation[T]) findInOld(id identity) bool {
	if !j.ledgerReady {
		j.ledgerReady = true
		j.ledger.clear()
		if j.old == nil {
			j.old = j.partsOfOld()
			j.rules.setExemptions(j.old)
		}
		for i := range j.old {
			p := &j.old[i]
			if j.before.spend(1) && j.rules.rules[j.at].appliesTo(p.subject) {
				j.oldPart, j.before.subject = p, p.subject
				j.check.find(&p.view, &j.before)
			}
		}
	}
	return j.effort.spend(1) && j.ledger.find(id, j.effort)
}

// record adds a finding to the ledger, unless the finding is exempt: see before.
func (j *partsEvaluation[T]) record(id identity) *Finding {
	if j.effort.spend(ledgerSteps) && j.oldPart.exempt.find(&j.rules.rules[j.at].header, &id) == nil {
		j.ledger.add(id)
	}
	return nil
}

// explainParts returns, for every rule, whether it applies to at least one of the parts. why is the trace of rules
// whose mode is weaker than weakest, which do not evaluate the parts.
func explainParts[T any](s *ruleset[T], parts []part[T], weakest Mode, why string) []RuleTrace {
	s.setExemptions(parts)
	traces := make([]RuleTrace, len(s.rules))
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
func countFindings[T any](rule *rule[T], p *part[T]) (n, exempt int) {
	var last Finding // its message is not shown
	r := recorder{effort: new(Effort), subject: p.subject, collect: func(id identity) *Finding {
		if n++; p.exempt.find(&rule.header, &id) != nil {
			exempt++
		}
		return &last
	}}
	for _, c := range rule.checks {
		c.find(&p.view, &r)
	}
	return n, exempt
}
