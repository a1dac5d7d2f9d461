package cmd

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// Every command has a page, with each of its flags, and man reads all of them without a warning.
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
	if groff, err := exec.LookPath("groff"); err == nil {
		for _, page := range pages {
			out, err := exec.Command(groff, "-man", "-Tutf8", "-ww", "-z", page).CombinedOutput()
			if err != nil || len(out) > 0 {
				t.Errorf("%s: %v\n%s", page, err, out)
			}
		}
	}
}

// A line that begins with a dot or a quote is no request of roff, nor is a backslash an escape.
func TestRoff(t *testing.T) {
	if got, want := roff(".a\n'b\n\\c -d"), "\\&.a\n\\&'b\n\\ec \\-d"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
