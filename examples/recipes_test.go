package examples_test

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// TestRecipes loads the policy of each recipe in docs/policy/recipes.md, and reviews the two objects below it. The first
// object is denied with the messages in its comments, and the second is allowed. With -update, it writes the comments.
func TestRecipes(t *testing.T) {
	const page, header = "../docs/policy/recipes.md", "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"
	text := string(must(os.ReadFile(page)))
	recipe := regexp.MustCompile("(?m)^```yaml\n([^`]*)```\n\n```yml\n((?:#.*\n)*)([^`]*)---\n# allowed\n([^`]*)```")
	recipes := 0
	want := recipe.ReplaceAllStringFunc(text, func(found string) string {
		recipes++
		m := recipe.FindStringSubmatch(found)
		p, err := policy.Load(policy.File{Name: page, Data: []byte(header + m[1])})
		if err != nil {
			t.Fatalf("%v\n%s", err, m[1])
		}
		if warnings := p.Warnings(); len(warnings) > 0 {
			t.Errorf("%v\n%s", warnings, m[1])
		}
		report := offline.Review(offline.Options{Policy: p}, offline.ReadText(page, strings.NewReader(m[3]+"---\n"+m[4])))
		if len(report.Results) != 2 || len(report.Errors) > 0 {
			t.Fatalf("%d results, %v\n%s", len(report.Results), report.Errors, found)
		}
		denied, allowed := report.Results[0], report.Results[1]
		if denied.Decision != offline.Denied || allowed.Decision != offline.Allowed || len(allowed.Findings) > 0 {
			t.Errorf("the objects are %s and %s:\n%s", denied.Decision, allowed.Decision, found)
		}
		comments := "# denied:\n"
		for _, f := range denied.Findings {
			comments += "# " + f.ID + ": " + f.Path + ": " + f.Message + "\n"
			if f.Note != "" {
				comments += "# (" + f.Note + ")\n"
			}
		}
		return strings.Replace(found, "```yml\n"+m[2], "```yml\n"+comments, 1)
	})
	if recipes != 10 || strings.Count(text, "\n## ") != recipes {
		t.Errorf("%d recipes, %d headings", recipes, strings.Count(text, "\n## "))
	}
	golden(t, page, []byte(want))
}
