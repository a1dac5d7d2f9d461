package deploy

import (
	"bytes"
	_ "embed"
	"fmt"
	"slices"
	"strings"

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
// optional, as in the other conditions of kustomize/base. An error would skip the call, because the entry fails open.
func changesTemplate(templates []policy.Template) string {
	terms := []string{`request.operation == "CREATE"`}
	for _, t := range templates {
		var changed []string
		for _, p := range t.Paths {
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
		if isCELName(name) {
			fields.WriteString(".?" + name)
		} else {
			fmt.Fprintf(&fields, "[?%q]", name)
		}
	}
	return "object" + fields.String() + " != oldObject" + fields.String()
}

// isCELName reports whether CEL accepts the name of a field without quotes. It does not accept reserved words.
func isCELName(name string) bool {
	if strings.Contains(name, "-") || '0' <= name[0] && name[0] <= '9' {
		return false
	}
	switch name {
	case "as", "break", "const", "continue", "else", "false", "for", "function", "if", "import", "in", "let", "loop",
		"namespace", "null", "package", "return", "true", "var", "void", "while":
		return false
	}
	return true
}
