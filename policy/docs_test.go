package policy

import (
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

var yamlBlock = regexp.MustCompile("(?ms)^```yaml\n(.*?)^```")

// policyGuide is the introduction to policies, and policyReference is the table of contents of the reference.
const (
	policyGuide     = "../docs/policy.md"
	policyReference = "../docs/policy/README.md"
)

// A link to a page of the reference, in the first column of its table of contents.
var referencePage = regexp.MustCompile(`(?m)^\| \[[^\]]+\]\(([a-z-]+\.md)\) \|`)

// policyPages returns the pages of the reference in the order of its table of contents, which has to list every page.
func policyPages(t *testing.T) []string {
	t.Helper()
	var pages []string
	for _, m := range referencePage.FindAllSubmatch(readFile(t, policyReference), -1) {
		pages = append(pages, filepath.Join(filepath.Dir(policyReference), string(m[1])))
	}
	files := must(filepath.Glob(filepath.Join(filepath.Dir(policyReference), "*.md")))
	files = slices.DeleteFunc(files, func(file string) bool { return file == policyReference })
	if diff := cmp.Diff(files, slices.Sorted(slices.Values(pages))); diff != "" || len(files) == 0 {
		t.Fatalf("%s does not list each page once (-files +listed):\n%s", policyReference, diff)
	}
	return pages
}

// policyExamples returns the examples of a page: the blocks of YAML, each a policy or a part of one.
func policyExamples(t *testing.T, page string) [][]byte {
	t.Helper()
	var examples [][]byte
	for _, m := range yamlBlock.FindAllSubmatch(readFile(t, page), -1) {
		examples = append(examples, m[1])
	}
	return examples
}

// Every example of the guide and of the reference is a policy that loads, and the reference has every field.
func TestDocumentedPolicy(t *testing.T) {
	shown := map[string]bool{}
	for _, page := range append(policyPages(t), policyGuide) {
		for _, example := range policyExamples(t, page) {
			text := string(example)
			if !strings.HasPrefix(text, "apiVersion:") {
				text = "apiVersion: " + fileAPIVersion + "\nkind: " + fileKind + "\n" + text
			}
			if _, err := Load(File{Name: page, Data: []byte(text)}); err != nil {
				t.Errorf("an example does not load: %v\n%s", err, text)
			}
			var tree any
			if err := yaml.Unmarshal([]byte(text), &tree); err != nil {
				t.Fatal(err)
			}
			if page != policyGuide {
				collect(tree, "", shown)
			}
		}
	}
	if len(shown) == 0 {
		t.Fatal("docs/policy has no examples")
	}
	for _, field := range slices.Sorted(fieldsIn(reflect.TypeFor[document](), "")) {
		if !shown[field] {
			t.Errorf("docs/policy has no example of %s", field)
		}
	}
}

// TestReadmePolicy checks that the policy of the README loads without a warning.
func TestReadmePolicy(t *testing.T) {
	page := must(os.ReadFile("../README.md"))
	blocks := yamlBlock.FindAllSubmatch(page, -1)
	if len(blocks) != 1 {
		t.Fatalf("README.md has %d policies", len(blocks))
	}
	file := File{Name: "README.md", Data: blocks[0][1]}
	p := must(Load(file))
	if warnings := p.Warnings(); len(warnings) > 0 {
		t.Errorf("the policy has warnings: %v", warnings)
	}
}

// The table of limits in docs/policy/file.md contains every limit.
func TestDocumentedLimits(t *testing.T) {
	page := readFile(t, "../docs/policy/file.md")
	_, table, _ := strings.Cut(string(page), "\n## Limits\n")
	table, _, _ = strings.Cut(table, "\n## ")
	f, r := fileLimits(), ReviewLimits()
	for _, n := range []int{
		f.Files, f.Values, r.Values, f.Entries, r.Entries, f.Patterns, r.Patterns, f.RegexSteps, r.RegexSteps,
		f.Comparisons, r.Comparisons, match.MaxRegexSteps, strict.MaxText,
	} {
		if !strings.Contains(table, "| "+text.Thousands(n)+" |") {
			t.Errorf("docs/policy/file.md does not have the limit %s", text.Thousands(n))
		}
	}
	if f.Bytes != 8<<20 || r.Bytes != 1<<20 {
		t.Errorf("docs/policy/file.md has other limits: %+v, %+v", f, r)
	}
}

// The policy of the worst cases has every check, so the limits on cost also apply to new checks.
func TestWorstCasesHaveEveryCheck(t *testing.T) {
	text := must(os.ReadFile("../review/reviewtest/costliest/policy.yaml"))
	var tree any
	if err := yaml.Unmarshal(text, &tree); err != nil {
		t.Fatal(err)
	}
	shown := map[string]bool{
		".allowEmpty":            true, // it has entries
		".mirrors.qualify":       true, // instead of mirror, and it costs less
		".services.types.denied": true, // which takes the place of allowed in every other entry
		".services.until":        true, // which no entry in mode enforce has, and which is one comparison
		".services.reason":       true,
	}
	collect(tree, "", shown)
	for _, field := range slices.Sorted(fieldsIn(reflect.TypeFor[document](), "")) {
		// An object that a match does not cover is not evaluated, and match is compared in the same way as exclude.
		if !shown[field] && !strings.Contains(field, ".match") {
			t.Errorf("review/reviewtest/costliest/policy.yaml has no %s", field)
		}
	}
}

// collect adds the path of every field in a tree. Elements of lists do not change a path.
func collect(tree any, path string, into map[string]bool) {
	switch v := tree.(type) {
	case map[string]any:
		for name, value := range v {
			into[path+"."+name] = true
			collect(value, path+"."+name, into)
		}
	case []any:
		for _, item := range v {
			collect(item, path, into)
		}
	}
}

// fieldsIn yields the path of every field that a policy of type t can have. For match and exclude, which all entries
// share, it yields only the fields that have a meaning there.
func fieldsIn(t reflect.Type, path string) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for name, ft := range taggedFields(t) {
			field := path + "." + name
			if meaningless(field) {
				continue
			}
			if !yield(field) {
				return
			}
			for inner := range fieldsIn(ft, field) {
				if !yield(inner) {
					return
				}
			}
		}
	}
}

func taggedFields(t reflect.Type) func(yield func(string, reflect.Type) bool) {
	return func(yield func(string, reflect.Type) bool) {
		for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
			t = t.Elem()
		}
		if t.Kind() != reflect.Struct {
			return
		}
		for f := range t.Fields() {
			name, _, _ := strings.Cut(f.Tag.Get("yaml"), ",")
			switch {
			case f.Type == reflect.TypeFor[strict.Pos]() || name == "-":
			case f.Anonymous:
				for n, ft := range taggedFields(f.Type) {
					if !yield(n, ft) {
						return
					}
				}
			case name != "":
				if !yield(name, f.Type) {
					return
				}
			}
		}
	}
}

// meaningless reports whether a field of a selector is an error in its place, or is shown once for all kinds of
// entries.
func meaningless(field string) bool {
	kind, rest, _ := strings.Cut(strings.TrimPrefix(field, "."), ".")
	selector, dimension, _ := strings.Cut(rest, ".")
	if selector == "message" || (selector == "until" || selector == "reason") && kind != "exceptions" {
		return kind != "services"
	}
	if selector != "match" && selector != "exclude" {
		return false
	}
	if dimension == "set" {
		return kind != "ingresses" || selector != "match"
	}
	if dimension == "" {
		return kind == "mirrors" || kind == "services" || kind == "routes" || kind == "owners"
	}
	switch kind {
	case "pods":
		return !slices.Contains(rule.PodDimensions().Suggest(selector), dimension)
	case "ingresses":
		return !slices.Contains(rule.IngressDimensions().Suggest(selector), dimension)
	case "services":
		return dimension != "loadBalancerClasses"
	default:
		return true
	}
}
