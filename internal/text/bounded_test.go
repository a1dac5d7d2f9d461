package text

import (
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// bounded contains the packages that handle values of any length: of objects, of peers, and of policies under review.
var bounded = []string{
	"policy", "policy/internal/match", "policy/internal/strict", "offline/output", "review", "admission", "handlers",
	"offline", "offline/plan",
}

// unbounded contains the functions whose cost and result are as long as their argument, and their replacements.
var unbounded = map[string]string{
	"strconv.Quote":          "text.Quote",
	"strconv.QuoteToASCII":   "text.Quote",
	"strconv.QuoteToGraphic": "text.Quote",
	"strconv.AppendQuote":    "text.Quote",
	"strings.Split":          "strings.SplitSeq, with a bound",
	"strings.SplitAfter":     "strings.SplitSeq, with a bound",
	"strings.Fields":         "strings.FieldsSeq, with a bound",
	"bytes.Split":            "bytes.SplitSeq, with a bound",
	"bytes.Fields":           "bytes.FieldsSeq, with a bound",
}

// Text that a tenant or a peer can make long is truncated before it is quoted, split or converted.
func TestBounded(t *testing.T) {
	for _, dir := range bounded {
		files, err := filepath.Glob(filepath.Join("..", "..", dir, "*.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s: no files (%v)", dir, err)
		}
		for _, file := range files {
			if strings.HasSuffix(file, "_test.go") {
				continue
			}
			for _, found := range unboundedIn(t, file) {
				t.Error(found)
			}
		}
	}
}

// unboundedIn returns the places in a file that format, split or convert text of any length.
func unboundedIn(t *testing.T, file string) (found []string) {
	t.Helper()
	set := token.NewFileSet()
	tree, err := parser.ParseFile(set, file, nil, parser.SkipObjectResolution)
	if err != nil {
		t.Fatal(err)
	}
	add := func(n ast.Node, what, instead string) {
		found = append(found, set.Position(n.Pos()).String()+": "+what+" of a value of any length: use "+instead)
	}
	ast.Inspect(tree, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.BasicLit:
			if s, err := strconv.Unquote(n.Value); n.Kind == token.STRING && err == nil && strings.Contains(s, "%q") {
				add(n, "%q", "%s and text.Quote")
			}
		case *ast.CallExpr:
			switch f := n.Fun.(type) {
			case *ast.SelectorExpr:
				if pkg, ok := f.X.(*ast.Ident); ok && unbounded[pkg.Name+"."+f.Sel.Name] != "" {
					add(n, pkg.Name+"."+f.Sel.Name, unbounded[pkg.Name+"."+f.Sel.Name])
				}
			case *ast.ArrayType:
				if element, ok := f.Elt.(*ast.Ident); ok && f.Len == nil && element.Name == "rune" {
					add(n, "[]rune", "range over the string")
				}
			}
		}
		return true
	})
	return found
}
