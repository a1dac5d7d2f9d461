package policy

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// Workload is an object from which a controller creates Pods. It contains the object's metadata and templates.
type Workload struct {
	Meta
	// Templates lists the templates that are present. A Deployment has one. An object of a kind in the policy's templates
	// block can have any number.
	Templates []PodTemplate
}

// PodTemplate is a Pod template, represented as the Pod that a controller creates from it. The Pod has the labels and
// annotations of the template's metadata.
type PodTemplate struct {
	Pod
	// Path is the field of the PodSpec in its object: spec.template.spec.
	Path string
}

// path converts a field path in the template's Pod to a field path in the workload, such as
// spec.template.spec.containers[0].image.
func (t *PodTemplate) path(field string) string { return t.Path + strings.TrimPrefix(field, "spec") }

// workloadMode is the field workloads of a pods entry: the mode in which the rule evaluates Pod templates in workloads.
// It cannot make the rule stricter than the rule's own mode. It lets users see findings when they write the workload.
// The rule still evaluates the Pods.
type workloadMode struct{ Mode }

// UnmarshalText accepts the words warn, enforce and off.
func (m *workloadMode) UnmarshalText(b []byte) error {
	switch string(b) {
	case "warn", "enforce", "off":
		return m.Mode.UnmarshalText(b)
	}
	return fmt.Errorf("%s is not known here: write warn, enforce or off; a rule in mode audit only audits workloads too",
		text.Quote(b))
}

// modeOfWorkloads returns the mode in which the rule evaluates workloads: the weaker of the rule's mode and the
// workloads field. The default of the field is warn.
func (e *podsEntry) modeOfWorkloads() Mode {
	mode := Warn
	if e.Workloads != nil {
		mode = e.Workloads.Mode
	}
	return min(e.Mode, mode)
}

// workloadRules compiles the rules for workloads.
func workloadRules(b *blocks, c *compilation) rules {
	return rulesOf(b.Pods, c, func(e *podsEntry) rule[podView] { return e.workloadRule(c.policy) })
}

// workloadRule returns the rule for Pod templates in workloads.
func (e *podsEntry) workloadRule(p *Policy) rule[podView] {
	h := e.ruleHeader
	h.refuses, h.Mode = h.Mode == Enforce, e.modeOfWorkloads()
	return rule[podView]{h, e.checks(p)}
}

// refused is the end of the message of a finding in a template, if the rule will deny the Pods.
const refused = "; its Pods will be denied"

// WorkloadResult is the result of ReviewWorkload.
type WorkloadResult struct {
	Findings []Finding
	// Rewritings contains the result for the images in each element of Workload.Templates, in the same order. The
	// workload itself is never changed, because GitOps or a controller that applies it repeatedly would undo the change.
	Rewritings []Rewriting
}

// EvaluateWorkload evaluates the templates in a workload as the Pods that its controller will create. It rewrites their
// images in memory by the mirrors, and then applies the rules of pods. old is the workload before an update, or nil. A
// finding in a template of old is pre-existing in every template of w. Pre-existing findings are in mode audit, because
// this update does not introduce them. EvaluateWorkload returns the error of e if e exceeds its limit or expires.
//
// If a controller owns the workload, only rules with workloads in mode enforce evaluate it, because users already
// received warnings when they wrote the owner. These rules do not evaluate the workload if the user of the request is a
// Kubernetes controller. This exception depends on the user, because tenants can write owner references.
func (p *Policy) EvaluateWorkload(a Attributes, w, old *Workload, e *Effort) ([]Finding, error) {
	result, err := p.ReviewWorkload(a, w, old, e)
	return result.Findings, err
}

// ReviewWorkload is like EvaluateWorkload, and also returns what happens to the images in the Pods.
func (p *Policy) ReviewWorkload(a Attributes, w, old *Workload, e *Effort) (WorkloadResult, error) {
	if a.Subresource != "" {
		return WorkloadResult{}, nil
	}
	if e == nil {
		e = new(Effort)
	}
	templates, rewritings, err := p.templateViews(a, w, e)
	if err != nil {
		return WorkloadResult{}, err
	}
	result := WorkloadResult{Rewritings: rewritings}
	rules := rulesFor[podView](p, Workloads)
	candidates := rules.index.candidates(a.Namespace)
	if len(candidates) == 0 || w.Owner != "" && isKubernetesController(a.User) {
		return result, nil
	}
	j := workloadEvaluation{report: report{effort: e}, rules: rules.rules, templates: templates}
	j.collect = j.keep
	if old != nil {
		j.updates = true
		j.before = report{effort: e, collect: j.record}
		j.templatesOfOld = func() { j.old, _, _ = p.templateViews(a, old, e) } // the Effort has the error
	}
	for mode := rules.strictest; mode >= weakestMode(w) && !j.done; mode-- {
		for _, i := range candidates {
			if rules.rules[i].Mode == mode {
				j.run(i)
			}
		}
	}
	result.Findings = j.findings.list()
	return result, e.err
}

// weakestMode returns the weakest mode of rules that evaluate a workload.
func weakestMode(w *Workload) Mode {
	if w.Owner != "" {
		return Enforce
	}
	return Audit
}

// isKubernetesController reports whether a user is a Kubernetes controller: a service account in kube-system, or
// kube-controller-manager, whose controllers all use its identity if they do not have their own service accounts.
func isKubernetesController(user string) bool {
	return strings.HasPrefix(user, "system:serviceaccount:kube-system:") || user == "system:kube-controller-manager"
}

// templateView is a template whose Pod has the images that will be pulled.
type templateView struct {
	*PodTemplate
	pod     podView
	subject *subject
	exempt  exemptions
}

// templateViews returns a view of each template whose images can be evaluated, with the images that will be pulled. It
// also returns what happens to the images of each template.
func (p *Policy) templateViews(a Attributes, w *Workload, e *Effort) ([]templateView, []Rewriting, error) {
	a = attributesOfPods(a)
	exceptions := rulesFor[podView](p, Workloads).exceptions
	var all []templateView
	rewritings := make([]Rewriting, len(w.Templates))
	for i := range w.Templates {
		t := &w.Templates[i]
		if !canChangeImages(a, &t.Pod) {
			continue
		}
		s := new(newSubject(a, &t.Meta, classes{}, e))
		s.template = true
		rw, err := p.whole().rewriteImages(a, &t.Pod, nil, s, e)
		if err != nil {
			return nil, nil, err
		}
		rewritings[i] = rw
		pod := podView{Pod: &t.Pod, outcome: rw.Images}
		all = append(all, templateView{t, pod, s, exemptions{exceptions: exceptions, subject: s}})
	}
	return all, rewritings, nil
}

// istioTemplates is the annotation that makes Istio's injector replace containers, including the image auto of a
// gateway (istio.io, "Installing Gateways").
const istioTemplates = "inject.istio.io/templates"

// isPlaceholder reports whether the image of a template is a placeholder for an image that is filled in later. The API
// server accepts an absent or blank image in a template, and rejects it in a Pod:
//
//   - OpenShift's image trigger controller replaces ' ' when it resolves an ImageStreamTag.
//   - Operators such as the Elastic, Flink and MongoDB operators merge their own image into a container without an
//     image.
//   - Istio's injector replaces auto.
func isPlaceholder(ref string, pod *Pod) bool {
	if ref == "auto" {
		_, injected := pod.Annotations[istioTemplates]
		return injected
	}
	return strings.TrimSpace(ref) == ""
}

// attributesOfPods returns the attributes of the requests with which a controller creates a workload's Pods. The user
// is unknown, and rules for Pods do not depend on it.
func attributesOfPods(a Attributes) Attributes {
	return Attributes{Operation: Create, Namespace: a.Namespace, Resource: "pods", Now: a.Now}
}

// workloadEvaluation evaluates one workload with the rules of pods.
type workloadEvaluation struct {
	report
	rules     []rule[podView]
	templates []templateView
	findings  findings

	updates bool
	before  report // of old
	// templatesOfOld fills old on first use, so an update without findings does not have to evaluate the old object.
	templatesOfOld func()
	old            []templateView
	ledger         ledger // findings of a check in old

	// The rule and the check that are evaluated.
	at          int // of the rule
	check       check[podView]
	ledgerReady bool // the ledger contains the findings of check
	template    *templateView
	oldTemplate *templateView // the template whose findings are added to the ledger
}

// run runs all checks of a rule on the templates that it applies to.
func (j *workloadEvaluation) run(at int) {
	j.at = at
	rule := &j.rules[at]
	for _, c := range rule.checks {
		j.check, j.ledgerReady = c, false
		for i := range j.templates {
			t := &j.templates[i]
			if !j.spend(1) || !rule.appliesTo(t.subject) {
				continue
			}
			first := len(j.findings.kept)
			j.template, j.subject = t, t.subject
			c.find(&t.pod, &j.report)
			for k := first; k < len(j.findings.kept); k++ {
				j.findings.kept[k].complete(t, rule)
			}
		}
	}
}

// complete converts a finding about a Pod to a finding about its template.
func (f *keptFinding) complete(t *templateView, rule *rule[podView]) {
	f.Path = t.path(f.Path)
	if rule.refuses && f.Exempt == nil {
		f.Reason += refused
		f.PodsRefused = f.Exempt == nil && !f.Existed && !f.Denies()
	}
}

// keep adds a finding about a template.
func (j *workloadEvaluation) keep(id identity) *Finding {
	h := &j.rules[j.at].ruleHeader
	exempt := j.template.exempt.find(&h.header, &id)
	f := j.findings.tryAdd(j.at, id, exempt == nil && j.updates && j.findInOld(id), exempt)
	if f != nil {
		f.Rule, f.Check, f.Mode, f.Note = string(h.Name), id.check, h.Mode, string(h.Message)
		if f.Existed {
			f.Mode = Audit
		}
	}
	j.done = j.findings.full()
	return f
}

// findInOld reports whether a template had the finding before the update.
func (j *workloadEvaluation) findInOld(id identity) bool {
	if !j.ledgerReady {
		j.ledgerReady = true
		j.ledger.clear()
		if j.old == nil {
			j.templatesOfOld()
		}
		for i := range j.old {
			t := &j.old[i]
			if j.before.spend(1) && j.rules[j.at].appliesTo(t.subject) {
				j.oldTemplate, j.before.subject = t, t.subject
				j.check.find(&t.pod, &j.before)
			}
		}
	}
	return j.effort.spend(1) && j.ledger.find(id, j.effort)
}

// record adds a finding to the ledger, unless the finding is exempt: see before.
func (j *workloadEvaluation) record(id identity) *Finding {
	if j.effort.spend(ledgerSteps) && j.oldTemplate.exempt.find(&j.rules[j.at].header, &id) == nil {
		j.ledger.add(id)
	}
	return nil
}

// TemplateImage is what happens to an image of a template's Pod.
type TemplateImage struct {
	ImageOutcome
	Path string // the field of the image: spec.template.spec.containers[0].image
}

// RewriteTemplates returns what happens to each image in a workload's Pods when its controller creates them. The
// templates are not changed.
func (p *Policy) RewriteTemplates(a Attributes, w *Workload) ([]TemplateImage, error) {
	a = attributesOfPods(a)
	var all []TemplateImage
	for i := range w.Templates {
		t := &w.Templates[i]
		e := new(Effort)
		s := newSubject(a, &t.Pod.Meta, classes{}, e)
		s.template = true
		rw, err := p.whole().rewriteImages(a, &t.Pod, nil, &s, e)
		if err != nil {
			return nil, err
		}
		for _, image := range rw.Images {
			all = append(all, TemplateImage{image, t.path(image.Image.Path())})
		}
	}
	return all, nil
}

// ExplainWorkload returns, for every rule of pods, whether it applies to at least one template of the workload.
func (p *Policy) ExplainWorkload(a Attributes, w *Workload) []RuleTrace {
	rules := rulesFor[podView](p, Workloads)
	templates, _, err := p.templateViews(a, w, new(Effort))
	if err != nil || len(templates) == 0 {
		return rules.notEvaluated("not evaluated: it has no template with an image that can be evaluated")
	}
	if w.Owner != "" && isKubernetesController(a.User) {
		return rules.notEvaluated("not evaluated: a Kubernetes controller owns it and has written it")
	}
	traces := make([]RuleTrace, len(rules.rules))
	for i := range rules.rules {
		rule := &rules.rules[i]
		if rule.Mode < weakestMode(w) {
			traces[i] = rule.trace(
				"not evaluated: a controller owns it, and only rules with workloads: enforce apply to such a template")
			continue
		}
		for k := range templates {
			why, applies := rule.applies(templates[k].subject)
			if traces[i].Applies && !applies {
				continue
			}
			before := traces[i]
			traces[i] = rule.trace(why.String())
			traces[i].Findings, traces[i].Exempt = before.Findings, before.Exempt
			if traces[i].Applies = applies; applies {
				n, exempt := countFindings(rule, &templates[k])
				traces[i].Findings, traces[i].Exempt = traces[i].Findings+n, traces[i].Exempt+exempt
			}
		}
	}
	return traces
}

// countFindings returns how many findings a rule has in a template, and how many of them are exempt.
func countFindings(rule *rule[podView], t *templateView) (n, exempt int) {
	var last Finding // its message is not shown
	r := report{effort: new(Effort), subject: t.subject, collect: func(id identity) *Finding {
		if n++; t.exempt.find(&rule.header, &id) != nil {
			exempt++
		}
		return &last
	}}
	for _, c := range rule.checks {
		c.find(&t.pod, &r)
	}
	return n, exempt
}
