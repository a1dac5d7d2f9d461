package text

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// exempt contains the directories whose text cannot be long, because a user wrote it as a flag or a variable, or because
// loading a policy has bounded it. Everything else below the top level is checked.
func exempt() []string {
	return []string{
		"internal/text",             // truncates before it quotes
		"cmd", "lifecycle/settings", // flags and environment variables
		"offline/export", "offline/mirrors", // values of a loaded policy
		"deploy", // runs on the user's machine, on the user's own manifests
		// not part of a binary that users run
		"internal/schema/generate", "internal/logtest", "review/reviewtest",
		"charts", "docs", "e2e", "examples", "kustomize", "site", "tools", "dist", "build", "bin",
	}
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

// TestBounded checks that code truncates text of tenants and peers before it quotes, splits or converts it.
func TestBounded(t *testing.T) {
	checked := 0
	err := filepath.WalkDir(filepath.Join("..", ".."), func(path string, d fs.DirEntry, err error) error {
		dir := strings.TrimPrefix(filepath.ToSlash(path), "../../")
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains(exempt(), dir) || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".git")):
			return filepath.SkipDir
		case d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		checked++
		for _, found := range unboundedIn(t, path) {
			t.Error(found)
		}
		return nil
	})
	if err != nil || checked < 100 {
		t.Errorf("only %d files are checked (%v)", checked, err)
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
