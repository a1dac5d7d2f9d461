package policy

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// pathInWorkload converts a field path in the template's Pod to a field path in the workload, such as
// spec.template.spec.containers[0].image.
func pathInWorkload(t *object.PodTemplate, field string) string {
	return t.Path + strings.TrimPrefix(field, "spec")
}

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
	return rulesOf(b.Pods, c, func(e *podsEntry) rule.Rule[podView] { return e.workloadRule(c.policy) }, nil)
}

// workloadRule returns the rule for Pod templates in workloads.
func (e *podsEntry) workloadRule(p *Policy) rule.Rule[podView] {
	h := e.RuleHeader
	h.Weaken(e.modeOfWorkloads())
	return rule.New(h, e.checks(p))
}

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
func (p *Policy) EvaluateWorkload(a object.Attributes, w, old *object.Workload, e *Effort) ([]Finding, error) {
	result, err := p.ReviewWorkload(a, w, old, e)
	return result.Findings, err
}

// ReviewWorkload is like EvaluateWorkload, and also returns what happens to the images in the Pods.
func (p *Policy) ReviewWorkload(a object.Attributes, w, old *object.Workload, e *Effort) (WorkloadResult, error) {
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
	if w.Owner != "" && isKubernetesController(a.User) {
		return result, nil
	}
	var templatesOfOld func() []rule.Part[podView]
	if old != nil {
		templatesOfOld = func() []rule.Part[podView] {
			of, _, _ := p.templateViews(a, old, e) // the Effort has the error
			return of
		}
	}
	rules := rulesFor[podView](p, Workloads)
	result.Findings, err = rule.EvaluateParts(rules, a.Namespace, weakestMode(w), templates, templatesOfOld, e)
	return result, err
}

// weakestMode returns the weakest mode of rules that evaluate a workload.
func weakestMode(w *object.Workload) Mode {
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

// templateViews returns a view of each template whose images can be evaluated, with the images that will be pulled. It
// also returns what happens to the images of each template.
func (p *Policy) templateViews(
	a object.Attributes, w *object.Workload, e *Effort,
) ([]rule.Part[podView], []Rewriting, error) {
	a = attributesOfPods(a)
	var all []rule.Part[podView]
	rewritings := make([]Rewriting, len(w.Templates))
	for i := range w.Templates {
		t := &w.Templates[i]
		if !canChangeImages(a, &t.Pod) {
			continue
		}
		s := new(rule.NewSubject(a, &t.Meta, [2]string{}, e))
		s.Template = true
		rw, err := p.whole().rewriteImages(a, &t.Pod, nil, s, e)
		if err != nil {
			return nil, nil, err
		}
		rewritings[i] = rw
		pod := podView{Pod: &t.Pod, outcome: rw.Images}
		all = append(all, rule.NewPart(pod, s, t.Path))
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
func isPlaceholder(ref string, pod *object.Pod) bool {
	if ref == "auto" {
		_, injected := pod.Annotations[istioTemplates]
		return injected
	}
	return strings.TrimSpace(ref) == ""
}

// attributesOfPods returns the attributes of the requests with which a controller creates a workload's Pods. The user
// is unknown, and rules for Pods do not depend on it.
func attributesOfPods(a object.Attributes) object.Attributes {
	return object.Attributes{Operation: object.Create, Namespace: a.Namespace, Resource: "pods", Now: a.Now}
}

// TemplateImage is what happens to an image of a template's Pod.
type TemplateImage struct {
	ImageOutcome
	Path string // the field of the image: spec.template.spec.containers[0].image
}

// RewriteTemplates returns what happens to each image in a workload's Pods when its controller creates them. The
// templates are not changed.
func (p *Policy) RewriteTemplates(a object.Attributes, w *object.Workload) ([]TemplateImage, error) {
	a = attributesOfPods(a)
	var all []TemplateImage
	for i := range w.Templates {
		t := &w.Templates[i]
		e := new(Effort)
		s := rule.NewSubject(a, &t.Pod.Meta, [2]string{}, e)
		s.Template = true
		rw, err := p.whole().rewriteImages(a, &t.Pod, nil, &s, e)
		if err != nil {
			return nil, err
		}
		for _, image := range rw.Images {
			all = append(all, TemplateImage{image, pathInWorkload(t, image.Image.Path())})
		}
	}
	return all, nil
}

// ExplainWorkload returns, for every rule of pods, whether it applies to at least one template of the workload.
func (p *Policy) ExplainWorkload(a object.Attributes, w *object.Workload) []RuleTrace {
	rules := rulesFor[podView](p, Workloads)
	templates, _, err := p.templateViews(a, w, new(Effort))
	if err != nil || len(templates) == 0 {
		return rules.NotEvaluated("not evaluated: it has no template with an image that can be evaluated")
	}
	if w.Owner != "" && isKubernetesController(a.User) {
		return rules.NotEvaluated("not evaluated: a Kubernetes controller owns it and has written it")
	}
	return rule.ExplainParts(rules, templates, weakestMode(w),
		"not evaluated: a controller owns it, and only rules with workloads: enforce apply to such a template")
}
