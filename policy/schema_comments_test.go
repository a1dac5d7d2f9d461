package policy

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"github.com/evergate/evergate/policy/internal/strict"
)

// policyField is a field of a policy file, in a struct or in an embedded struct.
type policyField struct {
	owner    string // the struct that declares it
	goName   string
	name     string // in the file
	typ      reflect.Type
	required bool
	embedded bool // the owner is embedded in the struct that was asked for
	beside   []policyField
}

func (f policyField) id() string { return f.owner + "." + f.goName }

// policyFields returns the fields of a struct in their order, as the decoder reads them.
func policyFields(typ reflect.Type) []policyField {
	var fields []policyField
	for f := range typ.Fields() {
		tag, tagged := f.Tag.Lookup("yaml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Type == reflect.TypeFor[strict.Pos]():
		case f.Anonymous && !tagged:
			for _, inner := range policyFields(f.Type) {
				inner.embedded = true
				fields = append(fields, inner)
			}
		case name != "" && name != "-":
			fields = append(fields, policyField{owner: typ.Name(), goName: f.Name, name: name, typ: f.Type, required: options == "required"})
		}
	}
	for i := range fields {
		if fields[i].owner == typ.Name() {
			fields[i].beside = fields
		}
	}
	return fields
}

// fieldComments returns the doc comments of the fields of all structs of the package, by Struct.Field. The comment of a
// field is above it, or after it on the same line.
func fieldComments(t *testing.T) map[string]string {
	t.Helper()
	paths, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	comments := map[string]string{}
	for _, path := range paths {
		if strings.HasSuffix(path, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						comments[spec.Name.Name+"."+name.Name] = commentOf(f)
					}
				}
			}
			return true
		})
	}
	return comments
}

// commentOf returns the comment of a field, with a line for each paragraph.
func commentOf(f *ast.Field) string {
	text := f.Doc.Text()
	if text == "" {
		text = f.Comment.Text()
	}
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, p := range paragraphs {
		paragraphs[i] = strings.Join(strings.Fields(p), " ")
	}
	return strings.Join(paragraphs, "\n")
}

// describeField turns a doc comment into sentences for readers of policies, who do not see the Go name of the field. It
// removes the name from "Hosts: which hosts …", and replaces it with the YAML key in "Allowed lists …".
func describeField(f policyField, comment string) string {
	if comment == "" {
		return ""
	}
	comment = regexp.MustCompile(`\bsee [A-Z]\w+`).ReplaceAllStringFunc(comment, func(see string) string {
		for _, other := range f.beside {
			if see == "see "+other.goName {
				return "see " + other.name
			}
		}
		return see
	})
	switch rest, ok := strings.CutPrefix(comment, f.goName+": "); {
	case ok:
		comment = rest
	case strings.HasPrefix(comment, f.goName+" "):
		comment = f.name + strings.TrimPrefix(comment, f.goName)
	}
	if word, _, ok := strings.Cut(comment, " means "); ok && !strings.Contains(word, " ") || strings.HasPrefix(comment, f.name+" ") {
		return ended(comment) // it begins with a word of the policy, which is written as it is
	}
	runes := []rune(comment)
	runes[0] = unicode.ToUpper(runes[0])
	return ended(string(runes))
}

// ended returns a sentence with a full stop.
func ended(s string) string {
	if strings.HasSuffix(s, ".") {
		return s
	}
	return s + "."
}
