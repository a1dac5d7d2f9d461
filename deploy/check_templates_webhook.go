package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// templatesWebhook checks that the webhooks that call pathValidateWorkloads match the custom resources that the
// templates block lists, version by version, in addition to the Kubernetes workloads. It also checks that the
// condition in the webhook entry that policy webhooks prints compares the values at the paths of the policy. An input
// without the policy or without a Deployment is not checked.
func templatesWebhook() check {
	return check{
		id: "templates-webhook", severity: Warning, needs: []premise{together()},
		finds: "a templates block of the policy that does not agree with the webhooks. The block and the webhooks list " +
			"different custom resources, or the matchCondition of the webhook compares different paths",
		why: "the policy and the webhook configuration have drifted apart. Evergate does not check a template that " +
			"no webhook matches, so users see the denials of its Pods only in events. Evergate returns 400 for a " +
			"resource that is not in the templates, and no user sees this if the webhook fails open",
		fix: "print the webhook again with evergate policy webhooks --policy POLICY, and apply it. If the policy no " +
			"longer has a templates block, remove the webhook",
		run: func(c *cluster, r *reporter) {
			p, ok := c.policy()
			if !ok || len(c.servers) == 0 {
				return
			}
			templates := p.Templates()
			for i := range templates {
				if c.knowsWebhooks() {
					c.checkTemplate(&templates[i], r)
				}
			}
			for _, h := range c.hooks {
				if isWorkloads(h.path()) {
					checkStale(h, templates, r)
				}
			}
		},
	}
}

// isWorkloads reports whether a path is the path of workloads or of one of their rule sets.
func isWorkloads(path string) bool {
	w, _ := admission.ParsePath(path)
	return w != nil && w.Path == pathValidateWorkloads
}

// checkTemplate reports the versions of a custom resource whose creations or updates no webhook matches.
func (c *cluster) checkTemplate(t *policy.Template, r *reporter) {
	var missing []string
	for _, version := range t.Versions {
		for _, op := range []admissionv1.OperationType{admissionv1.Create, admissionv1.Update} {
			w := write{op, t.Group, version, t.Resource, ""}
			sent := slices.ContainsFunc(c.hooks, func(h *hook) bool {
				return isWorkloads(h.path()) && slices.ContainsFunc(h.Rules, w.matchedBy)
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

// checkStale reports custom resources of a webhook that are not in the templates, and a condition that compares other
// paths.
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
		r.warning(h.ref, "it matches %s, which the templates block of the policy does not contain", some(unknown))
		return
	}
	if h.Name != templatesHook || len(templates) == 0 {
		return
	}
	for _, m := range h.MatchConditions {
		if m.Name == templatesCondition && !sameWords(m.Expression, changesTemplate(templates)) {
			r.warning(h.ref, "its matchCondition %s does not compare the same paths as the templates block of the "+
				"policy", templatesCondition)
		}
	}
}

// isCustom reports whether a resource, with its group, can be in the templates. Subresources cannot.
func isCustom(resource string) bool {
	name, group, _ := strings.Cut(resource, ".")
	return strings.Contains(group, ".") && !strings.Contains(name, "/")
}

// hasTemplate reports whether the templates have a version of a resource. A wildcard counts as a match, because the
// check wildcard-rule reports it.
func hasTemplate(templates []policy.Template, group, version, resource string) bool {
	return slices.ContainsFunc(templates, func(t policy.Template) bool {
		return t.Group == group && t.Resource == resource && slices.Contains(t.Versions, version)
	}) || slices.Contains([]string{group, version, resource}, "*")
}

// sameWords reports whether two expressions differ only in white space.
func sameWords(a, b string) bool { return slices.Equal(strings.Fields(a), strings.Fields(b)) }
