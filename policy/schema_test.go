package policy

import (
	"bytes"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"
)

// schemaFile is written by internal/schema/generate.
const schemaFile = "../docs/policy.schema.json"

// Policies that load are valid by the schema.
func TestSchemaAcceptsPolicies(t *testing.T) {
	valid := compileSchema(t)
	paths := testdata(t, "*/policy.yaml")
	for _, pattern := range []string{"testdata/*/*/policy.yaml", "testdata/load/*.good.yaml", "../examples/policies/*.yaml",
		"../cmd/testdata/policy*.yaml", "../review/reviewtest/costliest/policy.yaml"} {
		more := must(filepath.Glob(pattern))
		paths = append(paths, more...)
	}
	tried := 0
	for _, path := range paths {
		data := readFile(t, path)
		if _, err := Load(File{Name: path, Data: data}); err != nil {
			continue // of a file that is a policy, another test says so
		}
		for _, document := range yamlDocuments(t, data) {
			if tried++; valid.Validate(document) != nil {
				t.Errorf("%s: %v", path, valid.Validate(document))
			}
		}
	}
	for _, page := range append(policyPages(t), policyGuide) {
		for _, example := range policyExamples(t, page) {
			for _, document := range yamlDocuments(t, example) {
				fields, _ := document.(map[string]any)
				fields["apiVersion"], fields["kind"] = fileAPIVersion, fileKind
				if tried++; valid.Validate(document) != nil {
					t.Errorf("%s: %v\n%s", page, valid.Validate(document), example)
				}
			}
		}
	}
	if tried < 30 {
		t.Errorf("only %d policies were tried", tried)
	}
}

// sayable finds the errors of the decoder that a schema can have: unknown and missing fields, values of another type,
// words that a field does not know.
var sayable = regexp.MustCompile(`unknown field|is required$|: want |null is not a value|is not an EvergatePolicy|is not supported: write|` +
	`is not a mode|is not known here|is not a type of|is not a path type|is not a kind of routes|is not a risk`)

// unsayable finds errors of YAML itself, of which a validator does not see the text.
var unsayable = regexp.MustCompile("not valid YAML|anchors and aliases")

// Of the policies that do not load, those are invalid by the schema that have a mistake that a schema can know of.
func TestSchemaRejectsMistakes(t *testing.T) {
	valid := compileSchema(t)
	tried := 0
	for _, path := range testdata(t, "load/*.bad.yaml") {
		data := readFile(t, path)
		_, err := Load(File{Name: path, Data: data})
		if err == nil || !sayable.MatchString(err.Error()) || unsayable.MatchString(err.Error()) {
			continue
		}
		tried++
		rejected := false
		for _, document := range yamlDocuments(t, data) {
			rejected = rejected || valid.Validate(document) != nil
		}
		if !rejected {
			t.Errorf("%s is valid by the schema, but:\n%v", path, err)
		}
	}
	if tried < 8 {
		t.Errorf("only %d policies were tried", tried)
	}
}

// The schema rejects each mistake in an otherwise valid policy.
func TestSchemaRejectsEachMistake(t *testing.T) {
	valid := compileSchema(t)
	for name, mistake := range map[string]string{
		"an unknown field":            "mirors: []",
		"an unknown field of a block": "ingresses: [{name: a, mode: warn, hosts: {alloed: []}}]",
		"a name in upper case":        "services: [{name: A, mode: warn, types: {denied: [NodePort]}}]",
		"no mode":                     "services: [{name: a, types: {denied: [NodePort]}}]",
		"an unknown mode":             "services: [{name: a, mode: loud, types: {denied: [NodePort]}}]",
		"an unknown type":             "services: [{name: a, mode: warn, types: {denied: [Headless]}}]",
		"null":                        "services: [{name: a, mode: warn, types: {allowed: null}}]",
		"a word for a list":           "services: [{name: a, mode: warn, types: {allowed: NodePort}}]",
		"a number for a text":         "services: [{name: a, mode: warn, ports: {allowed: [443]}}]",
		"a text for a number":         `ingresses: [{name: a, mode: warn, hosts: {max: "3"}}]`,
		"a text for a boolean":        `ingresses: [{name: a, mode: warn, hosts: {required: "true"}}]`,
		"a block without a check":     "ingresses: [{name: a, mode: warn, hosts: {}}]",
		"users of Pods":               "pods: [{name: a, mode: warn, match: {users: [a]}, images: {digest: required}}]",
		"images of a match":           "pods: [{name: a, mode: warn, match: {images: [docker.io]}, images: {digest: required}}]",
		"a day without its month":     "services: [{name: a, mode: warn, until: 2027-31, types: {denied: [NodePort]}}]",
		"an exception without an end": "exceptions: [{name: a, rules: [b], match: {users: [c]}, reason: d}]",
		"an end of a match":           "grants: [{name: a, mode: warn, match: {until: 2027-01-31}, to: {names: required}}]",
		"a set of an exclude":         "grants: [{name: a, mode: warn, exclude: {set: a}, to: {names: required}}]",
		"an empty pattern":            `grants: [{name: a, mode: warn, match: {namespaces: [""]}, to: {names: required}}]`,
	} {
		text := "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + mistake + "\n"
		if _, err := Load(File{Name: name, Data: []byte(text)}); err == nil {
			t.Errorf("%s: the policy loads", name)
		}
		if valid.Validate(yamlDocuments(t, []byte(text))[0]) == nil {
			t.Errorf("%s: valid by the schema", name)
		}
	}
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document := must(jsonschema.UnmarshalJSON(bytes.NewReader(readFile(t, schemaFile))))
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	if err := c.AddResource("policy.schema.json", document); err != nil {
		t.Fatal(err)
	}
	compiled, err := c.Compile("policy.schema.json") // it checks the schema by that of its draft
	if err != nil {
		t.Fatal(err)
	}
	return compiled
}

// yamlDocuments returns the documents of a file that are not empty, as a validator reads them.
func yamlDocuments(t *testing.T, data []byte) []any {
	t.Helper()
	var documents []any
	dec := yaml.NewDecoder(bytes.NewReader(data))
	for {
		var root yaml.Node
		if dec.Decode(&root) != nil {
			return documents
		}
		datesAsText(&root)
		var document any
		if err := root.Decode(&document); err != nil {
			t.Fatal(err)
		}
		if document != nil {
			documents = append(documents, document)
		}
	}
}

// datesAsText makes texts of dates without quotes, as YAML 1.2 has them, by which editors read policies.
func datesAsText(n *yaml.Node) {
	if n.ShortTag() == "!!timestamp" {
		n.Tag = "!!str"
	}
	for _, inner := range n.Content {
		datesAsText(inner)
	}
}
