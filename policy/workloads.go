package policy

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// Workload is an object from which a controller creates Pods: its metadata and its templates.
type Workload struct {
	Meta
	// Templates lists those that are there: a Deployment has one, an object of templates in a policy any number.
	Templates []PodTemplate
}

// PodTemplate is a template of Pods, as the Pod that a controller creates from it. The Pod has the labels and
// annotations of the template's metadata.
type PodTemplate struct {
	Pod
	// Path is the field of the PodSpec in its object: spec.template.spec.
	Path string
}

// path returns the field of the workload for one of the template's Pod: spec.template.spec.containers[0].image.
func (t *PodTemplate) path(field string) string { return t.Path + strings.TrimPrefix(field, "spec") }

// workloadMode is the field workloads of a pods entry: what the rule does about the template of a workload, at most as
// strict as the rule's own mode. A workload is told of what its Pods will be refused for: the rule still judges them.
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

// modeOfWorkloads returns the mode in which the rule judges workloads: the weaker of its own and workloads, which is
// warn where it is absent.
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

// workloadRule returns the rule as it judges the templates of workloads.
func (e *podsEntry) workloadRule(p *Policy) rule[podView] {
	h := e.ruleHeader
	h.refuses, h.Mode = h.Mode == Enforce, e.modeOfWorkloads()
	return rule[podView]{h, e.checks(p)}
}

// refused is what follows of a finding in a template from a rule that refuses the Pods.
const refused = "; its Pods will be refused"

// WorkloadResult is the result of ReviewWorkload.
type WorkloadResult struct {
	Findings []Finding
	// Rewritings has what happens to the images of the Pods of each element of Workload.Templates, in the same order. The
	// workload itself is never changed: what applies it again and again, GitOps or a controller, would undo it.
	Rewritings []Rewriting
}

// EvaluateWorkload evaluates the templates of a workload as the Pods that its controller will create: rewritten in
// memory by the mirrors, and then by the rules of pods. old is the workload before an update, nil otherwise: what one
// of its templates had is pre-existing, in whichever template it stands now, and in mode audit, since this update does
// not write it.
//
// A workload that a controller owns is judged by rules in mode enforce alone, since a user has been told of the
// template where it was written. Owners are the tenant's to write, so that these rules make an exception by the user:
// for the controllers of Kubernetes.
func (p *Policy) EvaluateWorkload(a Attributes, w, old *Workload, e *Effort) ([]Finding, error) {
	result, err := p.ReviewWorkload(a, w, old, e)
	return result.Findings, err
}

// ReviewWorkload is EvaluateWorkload, and says what happens to the images of the Pods.
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

// weakestMode returns the weakest mode in which rules judge a workload.
func weakestMode(w *Workload) Mode {
	if w.Owner != "" {
		return Enforce
	}
	return Audit
}

// isKubernetesController reports whether a user is a controller of Kubernetes: a service account of kube-system, or
// kube-controller-manager, which is all of them where they have no service accounts of their own.
func isKubernetesController(user string) bool {
	return strings.HasPrefix(user, "system:serviceaccount:kube-system:") || user == "system:kube-controller-manager"
}

// templateView is a template with its Pod as it will be pulled.
type templateView struct {
	*PodTemplate
	pod     podView
	subject *subject
	exempt  exemptions
}

// templateViews returns the templates whose Pods will have images that can be judged, as they will be pulled.
// With them it returns what happens to the images of each template.
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

// istioTemplates is the annotation that makes Istio's injector replace containers, also the image auto of a gateway
// (istio.io, "Installing Gateways").
const istioTemplates = "inject.istio.io/templates"

// isPlaceholder reports whether the image of a template stands for one that is filled in later. The API server accepts
// an absent or blank image in a template, and rejects it in a Pod:
//
//   - OpenShift's image trigger controller replaces ' ' when it resolves an ImageStreamTag.
//   - Operators such as those of Elastic, Flink and MongoDB merge their own image into a container without one.
//   - Istio's injector replaces auto.
func isPlaceholder(ref string, pod *Pod) bool {
	if ref == "auto" {
		_, injected := pod.Annotations[istioTemplates]
		return injected
	}
	return strings.TrimSpace(ref) == ""
}

// attributesOfPods returns the attributes of the requests by which a controller creates the Pods of a workload. The
// user is unknown, and no rule that judges Pods looks at it.
func attributesOfPods(a Attributes) Attributes {
	return Attributes{Operation: Create, Namespace: a.Namespace, Resource: "pods", Now: a.Now}
}

// workloadEvaluation is the evaluation of one workload by the rules of pods.
type workloadEvaluation struct {
	report
	rules     []rule[podView]
	templates []templateView
	findings  findings

	updates bool
	before  report // of old
	// templatesOfOld fills old on first use: an update without findings does not pay for the old object.
	templatesOfOld func()
	old            []templateView
	ledger         ledger // of what a check finds in old

	// The rule and the check that are evaluated.
	at          int // of the rule
	check       check[podView]
	ledgerReady bool // the ledger is that of check
	template    *templateView
	oldTemplate *templateView // that the ledger is filled from
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

// complete makes a finding about a Pod one about the template of it.
func (f *keptFinding) complete(t *templateView, rule *rule[podView]) {
	f.Path = t.path(f.Path)
	if rule.refuses && f.Exempt == nil {
		f.Reason += refused
		f.PodsRefused = f.Exempt == nil && !f.Existed && !f.Denies()
	}
}

// keep adds a finding of a template.
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

// findInOld looks a finding up in the templates before the update.
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

// record adds a finding to the ledger, unless it is exempt: see before.
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

// RewriteTemplates returns what happens to each image of the Pods of a workload when its controller creates them. The
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

// ExplainWorkload returns for every pods rule whether it applies to the workload: to a template of it.
func (p *Policy) ExplainWorkload(a Attributes, w *Workload) []RuleTrace {
	rules := rulesFor[podView](p, Workloads)
	templates, _, err := p.templateViews(a, w, new(Effort))
	if err != nil || len(templates) == 0 {
		return rules.notEvaluated("not asked: it has no template with an image that can be judged")
	}
	if w.Owner != "" && isKubernetesController(a.User) {
		return rules.notEvaluated("not asked: a controller of Kubernetes owns it, and has written it")
	}
	traces := make([]RuleTrace, len(rules.rules))
	for i := range rules.rules {
		rule := &rules.rules[i]
		if rule.Mode < weakestMode(w) {
			traces[i] = rule.trace(
				"not asked: a controller owns it, and only rules with workloads: enforce judge such a template")
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
	var last Finding // whose sentence is not shown
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
