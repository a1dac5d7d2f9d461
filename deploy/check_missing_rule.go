package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/admission"
)

// missingRule checks that the rules of the webhooks that call a path match every write that Evergate evaluates there:
// CREATE and UPDATE of the kind, and UPDATE of its subresources, in version v1.
func missingRule() check {
	return check{
		id: "missing-rule", severity: Error,
		finds: "an Evergate webhook whose rules omit a write that Evergate evaluates on its path. Preflight reports only " +
			"a warning for the retry webhook, the policy webhook and the webhooks of rule sets, because their rules may be " +
			"narrower on purpose",
		why: "the API server does not send Evergate a write that no rule matches. Without UPDATE, for example, a user can " +
			"create an object that the policy allows, and then change it",
		fix: "add the writes in the finding to the rules, as in kustomize/base",
		run: func(c *cluster, r *reporter) {
			reported := map[string]bool{}
			for _, h := range c.hooks {
				if reported[h.path()] {
					continue // checked together with the rules of the first webhook that calls the path
				}
				reported[h.path()] = true
				if missing := c.unmatched(h.path()); len(missing) > 0 {
					r.gap(h, "no rule matches %s, which %s evaluates", strings.Join(missing, ", "), h.path())
				}
			}
		},
	}
}

// gap reports something that an Evergate webhook leaves out. It is an error, except for three webhooks. It is a
// warning for the retry webhook, because the first webhook for Pods runs before it. It is a warning for the policy
// guard, because a process does not load a policy that the guard would deny. It is a warning for webhooks of rule
// sets, which may be narrower on purpose.
func (r *reporter) gap(h *hook, format string, args ...any) {
	severity := Error
	if h.path() == pathMutatePodsAgain || h.guardsPolicy() || isSetPath(h.path()) {
		severity = Warning
	}
	r.add(severity, h.ref, format, args)
}

// write is an operation on a resource or subresource.
type write struct {
	operation                 admissionv1.OperationType
	group, version, name, sub string
}

// String returns the write in words, for example UPDATE of ingresses/status.
func (w write) String() string {
	name := w.name
	if w.sub != "" {
		name += "/" + w.sub
	}
	return string(w.operation) + " of " + name
}

// unmatched lists the writes that Evergate evaluates at a path and that no rule of a webhook for this path matches.
func (c *cluster) unmatched(path string) []string {
	var missing []string
	for _, w := range evaluatedAt(path) {
		if !slices.ContainsFunc(c.hooks, func(h *hook) bool {
			return h.path() == path && slices.ContainsFunc(h.Rules, w.matchedBy)
		}) {
			missing = append(missing, w.String())
		}
	}
	return missing
}

// evaluatedAt lists the writes that Evergate evaluates at a path. If a subresource has a separate path, Evergate
// evaluates it only there. The path of a rule set evaluates the same writes as the path of its kind.
func evaluatedAt(path string) []write {
	if w, set := admission.ParsePath(path); set != "" {
		path = w.Path
	}
	paths := servedPaths(false)
	for _, w := range admission.Webhooks() {
		if w.Path != path && !strings.HasPrefix(path, w.Path+"/") {
			continue
		}
		var writes []write
		add := func(op admissionv1.OperationType, sub string) {
			for _, k := range w.Kinds {
				if sub == "" || slices.Contains(w.SubresourcesOf(k), sub) {
					writes = append(writes, write{op, k.Resource.Group, k.Resource.Version, k.Resource.Name, sub})
				}
			}
		}
		if sub, ok := strings.CutPrefix(path, w.Path+"/"); ok && slices.Contains(w.Subresources, sub) {
			add(admissionv1.Update, sub)
			return writes
		}
		if w.Path != path {
			continue
		}
		add(admissionv1.Create, "")
		add(admissionv1.Update, "")
		for _, sub := range w.Subresources {
			if !slices.Contains(paths, path+"/"+sub) {
				add(admissionv1.Update, sub)
			}
		}
		return writes
	}
	return nil
}

// matchedBy reports whether a rule matches the write, as the API server decides it.
func (w write) matchedBy(rule admissionv1.RuleWithOperations) bool {
	inScope := rule.Scope == nil || *rule.Scope != admissionv1.ClusterScope
	whole := slices.Contains(rule.Resources, "*/*") || hasOrAll(rule.Resources, w.name)
	if w.sub != "" {
		whole = slices.ContainsFunc([]string{"*/*", w.name + "/*", "*/" + w.sub, w.name + "/" + w.sub},
			func(s string) bool { return slices.Contains(rule.Resources, s) })
	}
	return inScope && whole && hasOrAll(rule.APIGroups, w.group) && hasOrAll(rule.APIVersions, w.version) &&
		hasOperation(rule.Operations, w.operation)
}
