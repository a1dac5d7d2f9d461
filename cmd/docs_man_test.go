package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestManualPages checks that every command has a page, and that man reads each page without a warning.
func TestManualPages(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "man1")
	var stderr bytes.Buffer
	if code := Run(t.Context(), []string{"docs", "man", dir}, nil, nil, &stderr, &stderr); code != 0 {
		t.Fatal(stderr.String())
	}
	var pages []string
	var check func(c *cobra.Command)
	check = func(c *cobra.Command) {
		name := filepath.Join(dir, manualName(c)+".1")
		page, err := os.ReadFile(name)
		if err != nil {
			t.Error(err)
			return
		}
		pages = append(pages, name)
		checkRoff(t, name, string(page))
		if !strings.Contains(string(page), ".SH NAME\n") || c.Example != "" && !strings.Contains(string(page),
			".SH EXAMPLES\n") {
			t.Errorf("%s lacks a section:\n%s", name, page)
		}
		for _, sub := range c.Commands() {
			if sub.IsAvailableCommand() {
				check(sub)
			}
		}
	}
	check(newRootCommand(nil))
	if page, _ := os.ReadFile(filepath.Join(dir, "evergate-review.1")); !strings.Contains(string(page),
		`\-f, \-\-filename file`) {
		t.Errorf("the page of review has no -f:\n%s", page)
	}
	t.Run("groff", func(t *testing.T) {
		groff, err := exec.LookPath("groff")
		if err != nil {
			t.Skip("groff is not installed: the pages are checked without it")
		}
		for _, page := range pages {
			out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", page).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
		}
	})
}

// checkRoff checks that a page uses only requests and escapes that man(7) documents and that manual writes.
func checkRoff(t *testing.T, name, page string) {
	t.Helper()
	request := regexp.MustCompile(`^\.(TH( "[^"]*"){5}|SH [A-Z ]+|PP|TP|nf|fi)$`)
	for line := range strings.Lines(page) {
		line = strings.TrimSuffix(line, "\n")
		if strings.HasPrefix(line, "'") || strings.HasPrefix(line, ".") && !request.MatchString(line) {
			t.Errorf("%s: not a request of man(7): %s", name, line)
		}
		for _, escape := range regexp.MustCompile(`\\.?`).FindAllString(line, -1) {
			if !slices.Contains([]string{`\-`, `\e`, `\&`}, escape) {
				t.Errorf("%s: the escape %s in: %s", name, escape, line)
			}
		}
	}
}

// A line that begins with a dot or a quote is not a request of roff, and a backslash is not an escape.
func TestRoff(t *testing.T) {
	if got, want := roff(".a\n'b\n\\c -d"), "\\&.a\n\\&'b\n\\ec \\-d"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
