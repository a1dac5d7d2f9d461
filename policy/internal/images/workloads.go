package images

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/mirror"
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
type workloadMode struct{ rule.Mode }

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
func (e *PodsEntry) modeOfWorkloads() rule.Mode {
	mode := rule.Warn
	if e.Workloads != nil {
		mode = e.Workloads.Mode
	}
	return min(e.Mode, mode)
}

// WorkloadResult is the result of ReviewWorkload.
type WorkloadResult struct {
	Findings []rule.Finding
	// Rewritings contains the result for the images in each element of Workload.Templates, in the same order. The
	// workload itself is never changed, because GitOps or a controller that applies it repeatedly would undo the change.
	Rewritings []Rewriting
}

// ReviewWorkload evaluates the templates in a workload as the Pods that its controller will create. It rewrites their
// images in memory by the mirrors, and then applies the rules of pods. It returns the findings, and what happens to the
// images. old is the workload before an update, or nil. A finding in a template of old is pre-existing in every
// template of w. Pre-existing findings are in mode audit, because this update does not introduce them. ReviewWorkload
// returns the error of e if e exceeds its limit or expires.
//
// If a controller owns the workload, only rules with workloads in mode enforce evaluate it, because users already
// received warnings when they wrote the owner. These rules do not evaluate the workload if the user of the request is a
// Kubernetes controller. This exception depends on the user, because tenants can write owner references.
func (r *Rules) ReviewWorkload(a object.Attributes, w, old *object.Workload, e *rule.Effort) (WorkloadResult, error) {
	if a.Subresource != "" {
		return WorkloadResult{}, nil
	}
	if e == nil {
		e = new(rule.Effort)
	}
	templates, rewritings, err := r.templateViews(a, w, e)
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
			of, _, _ := r.templateViews(a, old, e) // the Effort has the error
			return of
		}
	}
	result.Findings, err = rule.EvaluateParts(r.workloads, a.Namespace, weakestMode(w), templates, templatesOfOld, e)
	return result, err
}

// weakestMode returns the weakest mode of rules that evaluate a workload.
func weakestMode(w *object.Workload) rule.Mode {
	if w.Owner != "" {
		return rule.Enforce
	}
	return rule.Audit
}

// isKubernetesController reports whether a user is a Kubernetes controller: a service account in kube-system, or
// kube-controller-manager, whose controllers all use its identity if they do not have their own service accounts.
func isKubernetesController(user string) bool {
	return strings.HasPrefix(user, "system:serviceaccount:kube-system:") || user == "system:kube-controller-manager"
}

// templateViews returns a view of each template whose images can be evaluated, with the images that will be pulled. It
// also returns what happens to the images of each template.
func (r *Rules) templateViews(
	a object.Attributes, w *object.Workload, e *rule.Effort,
) ([]rule.Part[podView], []Rewriting, error) {
	a = AttributesOfPods(a)
	all, rewritings := make([]rule.Part[podView], len(w.Templates)), make([]Rewriting, len(w.Templates))
	for i := range w.Templates {
		t, p := &w.Templates[i], &all[i]
		p.Subject, p.Spec = rule.NewSubject(a, &t.Meta, [2]string{}, e), t.Path
		p.Subject.Template = true
		rw, err := r.whole.rewriteImages(a, &t.Pod, nil, &p.Subject, e)
		if err != nil {
			return nil, nil, err
		}
		p.View, rewritings[i] = r.viewPod(&t.Pod), rw
		p.View.outcome = rw.Images
	}
	return all, rewritings, nil
}

// istioTemplates is the annotation that makes Istio's injector replace containers, including the image auto of a
// gateway (istio.io, "Installing Gateways").
const istioTemplates = "inject.istio.io/templates"

// istioProxy is the container that Istio's injector replaces without that annotation (istio.io, "Customizing
// injection").
const istioProxy = "istio-proxy"

// isPlaceholder reports whether the image of a Pod or a template is a placeholder for an image that is filled in later.
// The API server accepts an absent or blank image in a template, and rejects it in a Pod:
//
//   - OpenShift's image trigger controller replaces ' ' when it resolves an ImageStreamTag.
//   - Operators such as the Elastic, Flink and MongoDB operators merge their own image into a container without an
//     image.
//   - Istio's injector replaces auto, in a Pod too, and often after Evergate. It would not recognise a rewritten image.
func isPlaceholder(img *object.Image, pod *object.Pod, template bool) bool {
	if img.Ref == "auto" {
		_, injected := pod.Annotations[istioTemplates]
		return injected || img.Name == istioProxy
	}
	return template && strings.TrimSpace(img.Ref) == ""
}

// AttributesOfPods returns the attributes of the requests with which a controller creates a workload's Pods. The user
// is unknown, and rules for Pods do not depend on it.
func AttributesOfPods(a object.Attributes) object.Attributes {
	return object.Attributes{Operation: object.Create, Namespace: a.Namespace, Resource: "pods", Now: a.Now}
}

// TemplateImage is what happens to an image of a template's Pod.
type TemplateImage struct {
	mirror.ImageOutcome
	Path string // the field of the image: spec.template.spec.containers[0].image
}

// RewriteTemplates returns what happens to each image in a workload's Pods when its controller creates them. The
// templates are not changed.
func (r *Rules) RewriteTemplates(a object.Attributes, w *object.Workload) ([]TemplateImage, error) {
	a = AttributesOfPods(a)
	var all []TemplateImage
	for i := range w.Templates {
		t := &w.Templates[i]
		e := new(rule.Effort)
		s := rule.NewSubject(a, &t.Pod.Meta, [2]string{}, e)
		s.Template = true
		rw, err := r.whole.rewriteImages(a, &t.Pod, nil, &s, e)
		if err != nil {
			return nil, err
		}
		for _, image := range rw.Images {
			all = append(all, TemplateImage{image, pathInWorkload(t, image.Image.Path())})
		}
	}
	return all, nil
}

// ForWorkloads evaluates the templates in workloads.
type ForWorkloads struct{ *Rules }

// Evaluate returns the findings of ReviewWorkload.
func (r ForWorkloads) Evaluate(a object.Attributes, w, old *object.Workload, e *rule.Effort) ([]rule.Finding, error) {
	result, err := r.ReviewWorkload(a, w, old, e)
	return result.Findings, err
}

// StrictestMode returns the strictest mode of the rules for workloads.
func (r ForWorkloads) StrictestMode() rule.Mode { return r.workloads.StrictestMode() }

// Explain returns, for every rule of pods, whether it applies to at least one template of the workload.
func (r ForWorkloads) Explain(a object.Attributes, w *object.Workload) []rule.Trace {
	rules := r.workloads
	templates, _, err := r.templateViews(a, w, new(rule.Effort))
	if err != nil || len(templates) == 0 {
		return rule.ExplainParts(rules, nil, rule.Audit,
			"not evaluated: it has no template with an image that can be evaluated")
	}
	if w.Owner != "" && isKubernetesController(a.User) {
		return rule.ExplainParts(rules, nil, rule.Audit, "not evaluated: a Kubernetes controller owns it and has written it")
	}
	return rule.ExplainParts(rules, templates, weakestMode(w),
		"not evaluated: a controller owns it, and only rules with workloads: enforce apply to such a template")
}
