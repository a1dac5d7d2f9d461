package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// templatesWebhook: the webhooks that call pathValidateWorkloads match what templates of the policy has, version by
// version, beside the workloads of Kubernetes; and the condition of the entry that policy webhooks prints compares what
// stands at the policy's paths. An input without the policy, or without a Deployment, is not looked at.
func templatesWebhook() check {
	return check{
		id: "templates-webhook", severity: Warning, needs: []premise{together()},
		finds: "custom resources in templates of the policy that no webhook sends, those that one sends and templates does " +
			"not have, and a condition that compares other paths than templates has",
		why: "policy and webhook configuration have changed apart: a template of what is not sent is not judged, and of " +
			"its Pods " +
			"users read only in events; what is sent and not known is answered with 400, which tells nobody anything",
		fix: "print the entry again, evergate policy webhooks POLICY, and apply it; where templates is gone, remove it",
		run: func(c *cluster, r *reporter) {
			p, ok := c.policy()
			if !ok {
				return
			}
			templates := p.Templates()
			for i := range templates {
				c.checkTemplate(&templates[i], r)
			}
			for _, h := range c.hooks {
				if judgesWorkloads(h.path()) {
					checkStale(h, templates, r)
				}
			}
		},
	}
}

// judgesWorkloads reports whether a path is that of workloads, or of a set of their rules.
func judgesWorkloads(path string) bool {
	w, _ := admission.ParsePath(path)
	return w != nil && w.Path == pathValidateWorkloads
}

// checkTemplate reports the versions of a custom resource whose creations or updates no webhook sends.
func (c *cluster) checkTemplate(t *policy.Template, r *reporter) {
	var missing []string
	for _, version := range t.Versions {
		for _, op := range []admissionv1.OperationType{admissionv1.Create, admissionv1.Update} {
			w := write{op, t.Group, version, t.Resource, ""}
			sent := slices.ContainsFunc(c.hooks, func(h *hook) bool {
				return judgesWorkloads(h.path()) && slices.ContainsFunc(h.Rules, w.matchedBy)
			})
			if !sent && !slices.Contains(missing, version) {
				missing = append(missing, version)
			}
		}
	}
	if len(missing) > 0 {
		r.warning(c.servers[0].ref,
			"its policy has templates of %s, and no webhook that calls %s matches CREATE and UPDATE of "+
				"version %s", t.Name(), pathValidateWorkloads, strings.Join(missing, ", "))
	}
}

// checkStale reports the custom resources of a webhook that are not in templates, and another condition than theirs.
func checkStale(h *hook, templates []policy.Template, r *reporter) {
	var unknown []string
	for _, rule := range h.Rules {
		for _, group := range rule.APIGroups {
			for _, version := range rule.APIVersions {
				for _, resource := range rule.Resources {
					name := resource + "." + version + "." + group
					if strings.Contains(group, ".") && !hasTemplate(templates, group, version, resource) &&
						!slices.Contains(unknown, name) {
						unknown = append(unknown, name)
					}
				}
			}
		}
	}
	if len(unknown) > 0 {
		r.warning(h.ref, "it matches %s, which templates of the policy does not have", some(unknown))
		return
	}
	if h.Name != templatesHook || len(templates) == 0 {
		return
	}
	for _, m := range h.MatchConditions {
		if m.Name == templatesCondition && !sameWords(m.Expression, changesTemplate(templates)) {
			r.warning(h.ref, "its condition %s compares other paths than templates of the policy has", templatesCondition)
		}
	}
}

// isCustom reports whether a resource, with its group, can be one of templates: subresources cannot.
func isCustom(resource string) bool {
	name, group, _ := strings.Cut(resource, ".")
	return strings.Contains(group, ".") && !strings.Contains(name, "/")
}

// hasTemplate reports whether templates has a version of a resource. A wildcard is the check wildcard-rule's.
func hasTemplate(templates []policy.Template, group, version, resource string) bool {
	return slices.ContainsFunc(templates, func(t policy.Template) bool {
		return t.Group == group && t.Resource == resource && slices.Contains(t.Versions, version)
	}) || slices.Contains([]string{group, version, resource}, "*")
}

// sameWords reports whether two expressions differ in white space alone.
func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }
