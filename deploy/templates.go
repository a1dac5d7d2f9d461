package deploy

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/policy"
)

const (
	templatesHook      = "templates.validate.evergate.dev"
	templatesCondition = "the-template-changes"
)

// templatesPatch is the patch around the rules and the condition of the entry.
//
//go:embed templates-webhook.yaml
var templatesPatch string

// TemplatesPatch returns a patch, as YAML, that adds the webhook entry for the custom resources of a policy to the
// ValidatingWebhookConfiguration of kustomize/base.
func TemplatesPatch(templates []policy.Template) []byte {
	var rules bytes.Buffer
	for _, t := range templates {
		fmt.Fprintf(&rules, "  - apiGroups: [%s]\n    apiVersions: [%s]\n    operations: [CREATE, UPDATE]\n"+
			"    resources: [%s]\n    scope: Namespaced\n", t.Group, strings.Join(t.Versions, ", "), t.Resource)
	}
	condition := strings.ReplaceAll(changesTemplate(templates), "\n", "\n      ")
	return []byte(strings.NewReplacer("  $rules\n", rules.String(), "$condition", condition).Replace(templatesPatch))
}

// changesTemplate returns the CEL condition under which the API server sends a request about one of the custom
// resources: the object is created, or a value at one of its paths changes, up to the first * of the path. Fields are
// optional, and quoted because CEL does not accept each name. An error would skip the call, because the entry fails
// open.
func changesTemplate(templates []policy.Template) string {
	terms := []string{`request.operation == "CREATE"`}
	for _, t := range templates {
		var changed []string
		for _, p := range slices.Concat(t.Paths, t.Images) {
			if differ := celDiffers(p); !slices.Contains(changed, differ) {
				changed = append(changed, differ)
			}
		}
		either := strings.Join(changed, " ||\n   ")
		if len(changed) > 1 {
			either = "(" + either + ")"
		}
		terms = append(terms, fmt.Sprintf("request.resource.group == %q && request.resource.resource == %q &&\n  %s",
			t.Group, t.Resource, either))
	}
	return strings.Join(terms, " ||\n")
}

// celDiffers returns the CEL expression that is true if the object and the old object differ at a path, up to its
// first *.
func celDiffers(p policy.TemplatePath) string {
	var fields strings.Builder
	for _, name := range p {
		if name == policy.AnyElement {
			break
		}
		fmt.Fprintf(&fields, "[?%q]", name)
	}
	return "object" + fields.String() + " != oldObject" + fields.String()
}

// templates inspects whether the webhooks for workloads match the custom resources of the policy's templates, version
// by version, and no others, and whether the condition of the entry that evergate policy webhooks prints compares their
// paths. A wildcard is another finding.
func (i *inspection) templates() {
	const id = "templates-webhook"
	templates := i.Policy.Templates()
	for _, t := range templates {
		var missing []string
		for _, version := range t.Versions {
			w := install.Write{Group: t.Group, Version: version, Name: t.Resource}
			for _, w.Operation = range []admissionv1.OperationType{admissionv1.Create, admissionv1.Update} {
				sent := i.matches(w, func(h *install.Hook) bool { return isWorkloads(h.Path) })
				if !sent && i.KnowsHooks() && !slices.Contains(missing, version) {
					missing = append(missing, version)
				}
			}
		}
		i.at(id, i.Servers[0].Ref).warn(len(missing) > 0, "its policy has templates of %s, and no webhook that calls %s "+
			"matches CREATE and UPDATE of version %s", t.Name(), pathValidateWorkloads, strings.Join(missing, ", "))
	}
	for _, h := range i.Hooks {
		var unknown []string
		for resource := range h.Resources {
			known := slices.ContainsFunc(templates, func(t policy.Template) bool { return t.Name() == resource })
			_, group, _ := strings.Cut(resource, ".")
			if isWorkloads(h.Path) && strings.Contains(group, ".") && !strings.Contains(resource, "*") && !known {
				unknown = append(unknown, resource)
			}
		}
		f := i.at(id, h.Ref)
		f.warn(len(unknown) > 0, "it matches %s, which the templates block of the policy does not contain", some(unknown))
		for _, m := range h.MatchConditions {
			same := slices.Equal(strings.Fields(m.Expression), strings.Fields(changesTemplate(templates)))
			f.warn(len(unknown) == 0 && h.Name == templatesHook && len(templates) > 0 && m.Name == templatesCondition && !same,
				"its matchCondition %s does not compare the same paths as the templates block of the policy", templatesCondition)
		}
	}
}
