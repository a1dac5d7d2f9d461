package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"unicode"
)

// field is a field of a policy file, in a struct or in a struct that it embeds.
type field struct {
	id       string // package.Struct.Field in Go
	goName   string
	name     string // in the file
	typ      reflect.Type
	required bool
}

// fieldsOf returns the fields of a struct, as the decoder reads them.
func fieldsOf(typ reflect.Type) []field {
	var fields []field
	for f := range typ.Fields() {
		tag, tagged := f.Tag.Lookup("yaml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Type.String() == "strict.Pos":
		case f.Anonymous && !tagged:
			fields = append(fields, fieldsOf(f.Type)...)
		case name != "" && name != "-":
			fields = append(fields, field{typ.String() + "." + f.Name, f.Name, name, f.Type, options == "required"})
		}
	}
	return fields
}

// fieldComments returns the doc comments of the fields of all structs in policy/, by package.Struct.Field. The comment
// of a field is above the field or behind it in its line.
func fieldComments(repository string) (map[string]string, error) {
	top, _ := filepath.Glob(filepath.Join(repository, "policy/*.go")) // Glob fails only for a bad pattern
	internal, _ := filepath.Glob(filepath.Join(repository, "policy/internal/*/*.go"))
	comments := map[string]string{}
	for _, path := range append(top, internal...) {
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			spec, ok := n.(*ast.TypeSpec)
			if !ok {
				return true
			}
			if s, ok := spec.Type.(*ast.StructType); ok {
				for _, f := range s.Fields.List {
					for _, name := range f.Names {
						comments[file.Name.Name+"."+spec.Name.Name+"."+name.Name] = commentOf(f)
					}
				}
			}
			return true
		})
	}
	return comments, nil
}

// commentOf returns the comment of a field, with one line for each paragraph.
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

// describe turns a doc comment into sentences for readers of policies, who do not see the names of fields in Go. It
// removes the name from "Hosts: which hosts …", and writes the name in the file in "Allowed lists …".
func (f field) describe(comment string) string {
	rest, ok := strings.CutPrefix(comment, f.goName)
	switch {
	case ok && strings.HasPrefix(rest, " "):
		return f.name + strings.TrimSuffix(rest, ".") + "."
	case ok && strings.HasPrefix(rest, ": "):
		comment = rest[2:]
	}
	word, _, means := strings.Cut(comment, " means ")
	if comment == "" || means && !strings.Contains(word, " ") { // a comment that begins with a word of policies
		return comment
	}
	return string(unicode.ToUpper(rune(comment[0]))) + strings.TrimSuffix(comment[1:], ".") + "."
}
