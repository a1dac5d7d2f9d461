package policy

import (
	"bytes"
	"compress/gzip"
	"encoding"
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/schema"
	"github.com/evergate/evergate/policy/internal/strict"
)

const (
	schemaFile = "../docs/policy.schema.json"
	// embeddedSchema is the same, compressed.
	embeddedSchema = "../internal/schema/policy.schema.json.gz"
)

// docs/policy.schema.json is made from the types that policies are decoded into: names, required fields, types and words
// are those of the decoder, descriptions are the doc comments of fields, examples those of docs/policy.
func TestSchemaFile(t *testing.T) {
	g := newSchemaMaker(t)
	root := g.root()
	for _, field := range g.undocumented {
		t.Errorf("%s has no doc comment, which is its description in %s", field, schemaFile)
	}
	for _, field := range g.withoutExample {
		t.Errorf("%s has no example in docs/policy that can be in %s", field, schemaFile)
	}
	want := encodeSchema(t, root)
	if *update {
		for name, data := range map[string][]byte{schemaFile: want, embeddedSchema: compressed(t, want)} {
			if err := os.WriteFile(name, data, 0o644); err != nil {
				t.Fatal(err)
			}
		}
		return
	}
	if embedded, err := schema.Policy(); err != nil || !bytes.Equal(embedded, readFile(t, schemaFile)) {
		t.Errorf("%s is another schema (%v): go test ./policy -run Schema -update", embeddedSchema, err)
	}
	if diff := cmp.Diff(string(want), string(readFile(t, schemaFile))); diff != "" {
		t.Errorf("go test ./policy -update writes %s anew (-want +got):\n%s", schemaFile, diff)
	}
}

// Descriptions are for readers of policies: they name fields, not identifiers of Go.
func TestSchemaDescriptionsNameNoIdentifiers(t *testing.T) {
	g := newSchemaMaker(t)
	root := g.root()
	known := map[string]bool{}
	for field := range fieldsIn(reflect.TypeFor[document](), "") {
		known[field[strings.LastIndexByte(field, '.')+1:]] = true
	}
	for name, def := range root.Definitions {
		for _, f := range append(slices.Clone(def.Fields), schema.Field{Name: "", Schema: def}) {
			for _, word := range regexp.MustCompile(`\bsee [a-z]+[A-Z]\w*|\b(match|strict|policy)\.[A-Z]\w*`).FindAllString(
				f.Schema.Description, -1) {
				if !known[strings.TrimPrefix(word, "see ")] {
					t.Errorf("%s.%s: its description has %q", name, f.Name, word)
				}
			}
		}
	}
}

// Policies that load are valid by the schema.
func TestSchemaAcceptsPolicies(t *testing.T) {
	valid := compileSchema(t)
	paths := testdata(t, "*/policy.yaml")
	for _, pattern := range []string{"testdata/*/*/policy.yaml", "testdata/load/*.good.yaml", "../examples/policies/*.yaml",
		"../cmd/testdata/policy*.yaml", "../review/reviewtest/costliest/policy.yaml"} {
		more, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
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
func TestSchemaRefusesMistakes(t *testing.T) {
	valid := compileSchema(t)
	tried := 0
	for _, path := range testdata(t, "load/*.bad.yaml") {
		data := readFile(t, path)
		_, err := Load(File{Name: path, Data: data})
		if err == nil || !sayable.MatchString(err.Error()) || unsayable.MatchString(err.Error()) {
			continue
		}
		tried++
		refused := false
		for _, document := range yamlDocuments(t, data) {
			refused = refused || valid.Validate(document) != nil
		}
		if !refused {
			t.Errorf("%s is valid by the schema, but:\n%v", path, err)
		}
	}
	if tried < 8 {
		t.Errorf("only %d policies were tried", tried)
	}
}

// Each mistake is refused, alone in a policy that is valid but for it.
func TestSchemaRefusesEachMistake(t *testing.T) {
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

// The examples of the schema are values that the decoder accepts, and its words are all that it accepts.
func TestSchemaOfTexts(t *testing.T) {
	for typ, of := range newSchemaMaker(t).texts {
		for _, word := range of.Enum {
			if err := newText(typ).UnmarshalText([]byte(word)); err != nil {
				t.Errorf("%s: %v", typ, err)
			}
		}
		for _, sample := range textSamples {
			err := newText(typ).UnmarshalText([]byte(sample))
			if of.Pattern != "" && err == nil && !regexp.MustCompile(of.Pattern).MatchString(sample) {
				t.Errorf("%s accepts %q, which does not match %s", typ, sample, of.Pattern)
			}
			if of.Enum != nil && err == nil && !slices.Contains(of.Enum, sample) {
				t.Errorf("%s accepts %q, which is not among %s", typ, sample, of.Enum)
			}
		}
	}
}

func newText(t reflect.Type) encoding.TextUnmarshaler {
	return reflect.New(t).Interface().(encoding.TextUnmarshaler)
}

func compileSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(readFile(t, schemaFile)))
	if err != nil {
		t.Fatal(err)
	}
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

func encodeSchema(t *testing.T, s *schema.Schema) []byte {
	t.Helper()
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ") // a space, since the file is part of the binary
	if err := enc.Encode(s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// compressed returns data as docs embeds it: the same for the same data, without a time.
func compressed(t *testing.T, data []byte) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(data); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// schemaMaker makes the schema of a type that a policy is decoded into.
type schemaMaker struct {
	comments map[string]string // of a field, by Struct.Field
	examples map[string][]any  // of a field, by Struct.Field: its values in docs/policy, then in examples/policies
	defs     map[string]*schema.Schema
	texts    map[reflect.Type]*schema.Schema

	undocumented, withoutExample []string
}

func newSchemaMaker(t *testing.T) *schemaMaker {
	t.Helper()
	g := &schemaMaker{
		comments: fieldComments(t), examples: map[string][]any{},
		defs: map[string]*schema.Schema{}, texts: map[reflect.Type]*schema.Schema{},
	}
	for _, page := range policyPages(t) {
		for _, example := range policyExamples(t, page) {
			g.collectExamples(t, example)
		}
	}
	paths, err := filepath.Glob("../examples/policies/*.yaml")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range withoutSuites(paths) {
		g.collectExamples(t, readFile(t, path))
	}
	return g
}

func (g *schemaMaker) collectExamples(t *testing.T, data []byte) {
	for _, tree := range yamlDocuments(t, data) {
		g.addExamples(reflect.TypeFor[document](), tree)
	}
}

// addExamples adds the values of the fields in a tree, which is decoded into the type typ.
func (g *schemaMaker) addExamples(typ reflect.Type, tree any) {
	for typ.Kind() == reflect.Pointer {
		typ = typ.Elem()
	}
	switch v := tree.(type) {
	case []any:
		for _, item := range v {
			g.addExamples(typ.Elem(), item)
		}
	case map[string]any:
		for _, f := range policyFields(typ) {
			if value, ok := v[f.name]; ok {
				g.examples[f.id()] = append(g.examples[f.id()], value)
				g.addExamples(f.typ, value)
			}
		}
	}
}

// maxExample is how long the example of a field may be, in bytes of JSON: what fits into a line or two.
const maxExample = 160

// exampleOf returns the first example that says something and is short, or the shortest.
func (g *schemaMaker) exampleOf(f policyField) []any {
	var best any
	shortest := 0
	for _, value := range g.examples[f.id()] {
		data, err := json.Marshal(value)
		switch empty := string(data) == "[]" || string(data) == "{}"; {
		case err != nil || empty:
			continue
		case len(data) <= maxExample:
			return []any{value}
		}
		if shortest == 0 || len(data) < shortest {
			best, shortest = value, len(data)
		}
	}
	if shortest == 0 {
		g.withoutExample = append(g.withoutExample, f.id())
		return nil
	}
	return []any{best}
}

// root returns the schema of a document of a policy file.
func (g *schemaMaker) root() *schema.Schema {
	root := g.object(reflect.TypeFor[document]())
	root.Draft, root.Title = schema.Draft, fileKind
	root.Description = "A policy of Evergate: docs/policy.md"
	root.Fields.Find("apiVersion").Const = fileAPIVersion
	root.Fields.Find("kind").Const = fileKind
	root.Definitions = g.defs
	return root
}

// object returns the schema of a struct.
func (g *schemaMaker) object(typ reflect.Type) *schema.Schema {
	s := &schema.Schema{Type: "object", MoreFields: new(bool)}
	suggester, _ := reflect.TypeAssert[strict.Suggester](reflect.New(typ))
	for _, f := range policyFields(typ) {
		var of *schema.Schema
		var only []string
		if suggester != nil {
			only = suggester.Suggest(f.name)
		}
		switch {
		case only != nil:
			of = g.field(f, g.partOf(typ, f, only))
		case f.embedded:
			if g.defs[f.id()] == nil {
				g.defs[f.id()] = g.field(f, g.value(f.typ))
			}
			of = &schema.Schema{Ref: schema.RefPrefix + f.id()}
		default:
			of = g.field(f, g.value(f.typ))
		}
		s.Fields = append(s.Fields, schema.Field{Name: f.name, Schema: of})
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	if v, ok := reflect.TypeAssert[strict.Validator](reflect.New(typ)); ok && s.Required == nil && v.Validate() != nil {
		s.MinFields = 1 // without a field it would check nothing
	}
	return s
}

// field returns the schema of a field, whose value has the schema of.
func (g *schemaMaker) field(f policyField, of *schema.Schema) *schema.Schema {
	s := *of
	s.Description = describeField(f, g.comments[f.id()])
	if s.Description == "" {
		g.undocumented = append(g.undocumented, f.id())
	}
	switch {
	case f.required:
	case s.Type == "boolean":
		s.Default = false
	case !strings.Contains(s.Description, "Absent:"):
		s.Description += " Default: not set."
	}
	s.Examples = g.exampleOf(f)
	return &s
}

// partOf returns the schema of a field of which only some fields have a meaning in a struct.
func (g *schemaMaker) partOf(owner reflect.Type, f policyField, only []string) *schema.Schema {
	part := &schema.Schema{Type: "object", MoreFields: new(bool)}
	for _, inner := range policyFields(f.typ.Elem()) {
		if !slices.Contains(only, inner.name) {
			continue
		}
		if g.defs[inner.id()] == nil {
			g.defs[inner.id()] = g.field(inner, g.value(inner.typ))
		}
		part.Fields = append(part.Fields, schema.Field{Name: inner.name, Schema: &schema.Schema{Ref: schema.RefPrefix + inner.id()}})
	}
	for name, def := range g.defs {
		if reflect.DeepEqual(def, part) {
			return &schema.Schema{Ref: schema.RefPrefix + name}
		}
	}
	name := owner.Name() + "." + f.name
	g.defs[name] = part
	return &schema.Schema{Ref: schema.RefPrefix + name}
}

// value returns the schema of the values of a type.
func (g *schemaMaker) value(typ reflect.Type) *schema.Schema {
	if typ.Kind() == reflect.Pointer {
		return g.value(typ.Elem())
	}
	if reflect.PointerTo(typ).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()) {
		if g.texts[typ] == nil {
			g.texts[typ] = textSchema(typ)
		}
		return g.texts[typ]
	}
	switch typ.Kind() {
	case reflect.Slice:
		return &schema.Schema{Type: "array", Items: g.value(typ.Elem())}
	case reflect.Struct:
		if g.defs[typ.Name()] == nil {
			g.defs[typ.Name()] = g.object(typ)
		}
		return &schema.Schema{Ref: schema.RefPrefix + typ.Name()}
	case reflect.Bool:
		return &schema.Schema{Type: "boolean"}
	case reflect.Int:
		return &schema.Schema{Type: "integer"}
	default:
		return &schema.Schema{Type: "string"}
	}
}
