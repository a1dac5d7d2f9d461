package offline

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// ignoreCases contains patterns, and paths that they ignore. They do not ignore paths that begin with a -.
func ignoreCases() map[string][]string {
	return map[string][]string{
		"*.yaml":       {"a.yaml", "b/c.yaml", "-a.yml"},
		"/a.yaml":      {"a.yaml", "-b/a.yaml"},
		"b/c.yaml":     {"b/c.yaml", "-a/b/c.yaml"},
		"charts/":      {"charts/a.yaml", "a/charts/b.yaml", "-charts"},
		"charts":       {"charts/a.yaml", "a/charts", "-charts.yaml"},
		"a/**/b":       {"a/b", "a/x/b", "a/x/y/b", "-b", "-x/a/b"},
		"**/b.yaml":    {"b.yaml", "a/b.yaml", "-a/c.yaml"},
		"a/**":         {"a/b", "a/b/c", "-b/a", "-a"},
		"*/**":         {"a/b", "-a"},
		"b[!a]c":       {"bbc", "-bac", "-b/c"},
		`\[!a]`:        {"[!a]", "-b"},
		"v?.yaml":      {"v1.yaml", "-v10.yaml"},
		"v[0-4].yaml":  {"v1.yaml", "-v5.yaml"},
		"v[!0-4].yaml": {"-v1.yaml", "v5.yaml"},
		"# a\n\\#a":    {"#a", "-a"},
		"\\!a":         {"!a", "-a"},
		"a   ":         {"a", "-b"},
		"":             {"-a"},
		"{a,b}.yaml":   {"{a,b}.yaml", "-a.yaml"}, // braces are not special
		"{a/[{]":       {"{a/{", "-a/{", "-{a/}"},
		`\{a\}\\}`:     {`{a}\}`, "-a"},
	}
}

func TestIgnore(t *testing.T) {
	for patterns, paths := range ignoreCases() {
		ig, err := ParseIgnore(strings.Split(patterns, "\n"))
		if err != nil {
			t.Errorf("%q: %v", patterns, err)
			continue
		}
		for _, path := range paths {
			name, not := strings.CutPrefix(path, "-")
			if ignoredBelow(&ignores{flags: ig}, name) == not {
				t.Errorf("%q: %s: ignored %t", patterns, name, !not)
			}
		}
	}
}

// ignoredBelow reports whether a file, or a directory above it, is ignored.
func ignoredBelow(is *ignores, name string) bool {
	for i, c := range name {
		if c == '/' && is.ignored(name[:i], true) {
			return true
		}
	}
	return is.ignored(name, false)
}

// A file with patterns that is too long is an error.
func TestIgnoreFileIsBounded(t *testing.T) {
	dir := t.TempDir()
	file := filepath.Join(dir, IgnoreFile)
	if err := os.WriteFile(file, []byte(strings.Repeat("a\n", maxIgnoreFile/2+1)), 0o644); err != nil {
		t.Fatal(err)
	}
	want := IgnoreFile + ": it has more than 65,536 bytes, which is the limit"
	if err := new(ignores).enter(openRoot(t, dir), "."); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// TestIgnoreIsThatOfGit checks that git interprets the same patterns in the same way. The gate sets
// EVERGATE_E2E_REQUIRED, so it fails without git.
func TestIgnoreIsThatOfGit(t *testing.T) {
	git, err := exec.LookPath("git")
	if err != nil && os.Getenv("EVERGATE_E2E_REQUIRED") == "" {
		t.Skip("git is not installed")
	}
	if err != nil {
		t.Fatal(err)
	}
	run := func(dir, stdin string, args ...string) string {
		t.Helper()
		cmd := exec.Command(git, append([]string{"-C", dir}, args...)...)
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null") // not the user's
		cmd.Stdin = strings.NewReader(stdin)
		out, err := cmd.Output()
		if exit, ok := errors.AsType[*exec.ExitError](err); ok && exit.ExitCode() == 1 {
			err = nil // nothing is ignored
		}
		if err != nil {
			t.Fatalf("git %v: %v", args, err)
		}
		return string(out)
	}
	for patterns, paths := range ignoreCases() {
		dir := t.TempDir()
		run(dir, "", "init", "-q")
		if err := os.WriteFile(filepath.Join(dir, ".gitignore"), []byte(patterns+"\n"), 0o644); err != nil {
			t.Fatal(err)
		}
		var names, want strings.Builder
		for _, path := range paths {
			name, not := strings.CutPrefix(path, "-")
			names.WriteString(name + "\x00")
			if !not {
				want.WriteString(name + "\x00")
			}
		}
		if got := run(dir, names.String(), "check-ignore", "--no-index", "--stdin", "-z"); got != want.String() {
			t.Errorf("%q: git ignores %q, want %q", patterns, got, want.String())
		}
	}
}

func TestIgnoreErrors(t *testing.T) {
	for pattern, want := range map[string]string{
		"a\n[b": `line 2: "[b" is not a pattern: write names with *, ? and [a-z] between slashes`,
		"a//b":  `line 1: "a//b" is not a pattern: write names with *, ? and [a-z] between slashes`,
		"!a":    `line 1: "!a" is not a pattern: write names with *, ? and [a-z] between slashes`,
		"/":     `line 1: "/" is not a pattern: write names with *, ? and [a-z] between slashes`,
	} {
		if _, err := ParseIgnore(strings.Split(pattern, "\n")); err == nil || err.Error() != want {
			t.Errorf("%.10q: %v, want %s", pattern, err, want)
		}
	}
}

// The patterns in a directory apply below it, and patterns on the command line apply everywhere.
func TestIgnoreFiles(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		IgnoreFile:        "*.yaml\n",
		"a/" + IgnoreFile: "b.txt\n/c/\n",
	} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	flags := must(ParseIgnore([]string{"d"}))
	is := &ignores{flags, map[string]*Ignore{}}
	for _, d := range []string{".", "a"} {
		if err := is.enter(openRoot(t, dir), d); err != nil {
			t.Fatal(err)
		}
	}
	for path, want := range map[string]bool{
		"x.yaml": true, "b.txt": false, "a/b.txt": true, "a/x.yaml": true, "a/c/x": true, "c/x": false, "a/d": true,
	} {
		if got := ignoredBelow(is, path); got != want {
			t.Errorf("%s: ignored %t", path, got)
		}
	}
}

func openRoot(t *testing.T, dir string) *os.Root {
	t.Helper()
	root := must(os.OpenRoot(dir))
	t.Cleanup(func() { _ = root.Close() })
	return root
}
