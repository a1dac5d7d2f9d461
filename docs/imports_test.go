package docs

import (
	"bytes"
	"flag"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the diagrams of imports into architecture.md")

const module = "github.com/evergate/evergate"

// TestImports checks that the diagrams in architecture.md show the imports that go list reports. There is one diagram
// for the directories at the top level and one for the packages below policy. Neither may have a cycle.
func TestImports(t *testing.T) {
	packages := imports(t)
	page := read(t, "docs/architecture.md")
	for name, of := range map[string]func(string) string{"directories": topLevel, "policy": inPolicy} {
		want := diagram(t, packages, of)
		begin, end := []byte("<!-- imports of "+name+" -->\n"), []byte("<!-- end of imports -->")
		before, rest, found := bytes.Cut(page, begin)
		got, after, ended := bytes.Cut(rest, end)
		if !found || !ended {
			t.Fatalf("architecture.md does not have the diagram %q", name)
		}
		if string(got) != want && !*update {
			t.Errorf("architecture.md shows other imports of %s: run go test ./docs -run Imports -update\n%s", name, want)
		}
		page = slices.Concat(before, begin, []byte(want), end, after)
	}
	if *update {
		if err := os.WriteFile(filepath.Join("..", "docs/architecture.md"), page, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// imports returns the imports of every package of the module, without the imports of tests and of other modules. Paths
// are relative to the module.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	list := exec.CommandContext(t.Context(), "go", "list", "-f", `{{.ImportPath}} {{join .Imports " "}}`, "./...")
	list.Dir = ".."
	out, err := list.Output()
	if err != nil {
		t.Fatal(err)
	}
	packages := map[string][]string{}
	for line := range strings.Lines(string(out)) {
		paths := strings.Fields(line)
		of := strings.TrimPrefix(strings.TrimPrefix(paths[0], module), "/")
		for _, path := range paths[1:] {
			if ours, ok := strings.CutPrefix(path, module+"/"); ok {
				packages[of] = append(packages[of], ours)
			}
		}
	}
	return packages
}

// topLevel returns the node of a package in the diagram of directories. It is empty for internal, which nearly every
// directory imports.
func topLevel(path string) string {
	top, _, _ := strings.Cut(path, "/")
	switch top {
	case "":
		return "main"
	case "internal":
		return ""
	}
	return top
}

// inPolicy returns the node of a package in the diagram of package policy. It is empty for packages elsewhere.
func inPolicy(path string) string {
	if path == "policy" || strings.HasPrefix(path, "policy/") {
		return path
	}
	return ""
}

// diagram draws the imports between nodes. It leaves out an arrow if a longer path leads to the same node.
func diagram(t *testing.T, packages map[string][]string, of func(path string) string) string {
	t.Helper()
	arrows := map[string]map[string]bool{}
	for from, list := range packages {
		for _, to := range list {
			if a, b := of(from), of(to); a != "" && b != "" && a != b {
				if arrows[a] == nil {
					arrows[a] = map[string]bool{}
				}
				arrows[a][b] = true
			}
		}
	}
	reaches := reachable(t, arrows)
	var b strings.Builder
	b.WriteString("```mermaid\nflowchart TD\n")
	for _, from := range slices.Sorted(maps.Keys(arrows)) {
		direct := slices.Sorted(maps.Keys(arrows[from]))
		shown := slices.DeleteFunc(slices.Clone(direct), func(to string) bool {
			return slices.ContainsFunc(direct, func(other string) bool { return reaches[other][to] })
		})
		b.WriteString("  " + from + " --> " + strings.Join(shown, " & ") + "\n")
	}
	b.WriteString("```\n")
	return b.String()
}

// reachable returns the nodes that each node imports directly or indirectly. A cycle is an error.
func reachable(t *testing.T, arrows map[string]map[string]bool) map[string]map[string]bool {
	t.Helper()
	reaches := map[string]map[string]bool{}
	var visit func(node string, above []string) map[string]bool
	visit = func(node string, above []string) map[string]bool {
		if slices.Contains(above, node) {
			t.Fatalf("the imports have a cycle: %s", strings.Join(append(above, node), " → "))
		}
		if reaches[node] == nil {
			all := map[string]bool{}
			for to := range arrows[node] {
				all[to] = true
				maps.Copy(all, visit(to, append(above, node)))
			}
			reaches[node] = all
		}
		return reaches[node]
	}
	for node := range arrows {
		visit(node, nil)
	}
	return reaches
}
