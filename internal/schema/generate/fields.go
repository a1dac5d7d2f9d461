package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"unicode"
)

// field is a field of a policy file, in a struct or in a struct that it embeds.
type field struct {
	owner    string // the struct that declares it
	goName   string
	name     string // in the file
	typ      reflect.Type
	required bool
	embedded bool // whether the owner is embedded in the struct
	beside   []field
}

func (f field) id() string { return f.owner + "." + f.goName }

// nameOf returns the name of a struct in the schema. It begins with a lower case letter, even if the Go type is
// exported. The name of a type Entry begins with its package.
func nameOf(pkg, goName string) string {
	if goName == "Entry" {
		return pkg + goName
	}
	return strings.ToLower(goName[:1]) + goName[1:]
}

// nameOfType returns the name of a struct in the schema.
func nameOfType(typ reflect.Type) string { return nameOf(path.Base(typ.PkgPath()), typ.Name()) }

// fieldsOf returns the fields of a struct in their order, as the decoder reads them.
func fieldsOf(typ reflect.Type) []field {
	var fields []field
	for f := range typ.Fields() {
		tag, tagged := f.Tag.Lookup("yaml")
		name, options, _ := strings.Cut(tag, ",")
		switch {
		case f.Type.String() == "strict.Pos":
		case f.Anonymous && !tagged:
			for _, inner := range fieldsOf(f.Type) {
				inner.embedded = true
				fields = append(fields, inner)
			}
		case name != "" && name != "-":
			fields = append(fields, field{
				owner: nameOfType(typ), goName: f.Name, name: name, typ: f.Type, required: options == "required",
			})
		}
	}
	for i := range fields {
		if fields[i].owner == nameOfType(typ) {
			fields[i].beside = fields
		}
	}
	return fields
}

// fieldComments returns the doc comments of the fields of all structs in policy/, by Struct.Field. The comment of a
// field is above the field or behind it in its line.
func fieldComments(repository string) (map[string]string, error) {
	comments := map[string]string{}
	err := filepath.WalkDir(filepath.Join(repository, "policy"), func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || d.Name() == "suite"): // suites have a document too
			return fs.SkipDir
		case filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ParseComments)
		if err != nil {
			return err
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				addComments(comments, file.Name.Name, spec)
			}
			return true
		})
		return nil
	})
	return comments, err
}

// addComments adds the comments of the fields of a struct in a package.
func addComments(comments map[string]string, pkg string, spec *ast.TypeSpec) {
	s, ok := spec.Type.(*ast.StructType)
	if !ok {
		return
	}
	for _, f := range s.Fields.List {
		for _, name := range f.Names {
			if comment := commentOf(f); comment != "" {
				comments[nameOf(pkg, spec.Name.Name)+"."+name.Name] = comment
			}
		}
	}
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

// goNames matches references to Go fields in comments.
var goNames = regexp.MustCompile(`\bsee [A-Z]\w+`)

// describe turns a doc comment into sentences for readers of policies, who do not see the names of fields in Go. It
// removes the name from "Hosts: which hosts …", and writes the name in the file in "Allowed lists …".
func (f field) describe(comment string) string {
	if comment == "" {
		return ""
	}
	comment = goNames.ReplaceAllStringFunc(comment, func(see string) string {
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
	word, _, means := strings.Cut(comment, " means ")
	if literal := means && !strings.Contains(word, " ") || strings.HasPrefix(comment, f.name+" "); !literal {
		runes := []rune(comment) // a comment that begins with a word of policies keeps its first letter
		runes[0] = unicode.ToUpper(runes[0])
		comment = string(runes)
	}
	return strings.TrimSuffix(comment, ".") + "."
}
