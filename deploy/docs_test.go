package deploy

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write the list of findings in docs/preflight.md anew")

// page is where the checks are documented, below a line of its own.
const (
	page   = "../docs/preflight.md"
	marker = "<!-- what follows is written by: go test ./deploy -update -->\n"
)

// TestDocs checks that docs/preflight.md says of each check what the check says of itself.
func TestDocs(t *testing.T) {
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	head, got, ok := strings.Cut(string(text), marker)
	if !ok {
		t.Fatalf("%s has no line %s", page, marker)
	}
	want := docs()
	if *update {
		if err := os.WriteFile(page, []byte(head+marker+want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("go test ./deploy -update writes %s anew (-want +got)\n%s", page, diff)
	}
}

func docs() string {
	var b bytes.Buffer
	b.WriteString("\n| finding | severity | what is found |\n| --- | --- | --- |\n")
	for _, c := range checks() {
		fmt.Fprintf(&b, "| [`%s`](#%s) | %s | %s |\n", c.id, c.id, c.severity, c.finds)
	}
	for _, c := range checks() {
		fmt.Fprintf(&b, "\n### %s\n\n%s: %s.", c.id, capital(string(c.severity)), c.finds)
		if c.live {
			b.WriteString(" Only a live cluster tells.")
		}
		fmt.Fprintf(&b, "\n\nWhy it breaks clusters: %s.\n\nFix: %s.\n", c.why, c.fix)
		if c.modelled {
			b.WriteString("\nNot looked at if the API server has answered a dry run: see [`pod-rejected`](#pod-rejected).\n")
		}
		if causes := causesOf(&c); len(causes) > 0 {
			fmt.Fprintf(&b, "\nNot looked at where %s reports a cause of it.\n", strings.Join(causes, " or "))
		}
	}
	return b.String()
}

// causesOf lists the checks on whose premises a check depends, as links.
func causesOf(c *check) []string {
	var causes []string
	for _, p := range c.needs {
		if link := fmt.Sprintf("[`%s`](#%s)", p.by, p.by); !slices.Contains(causes, link) {
			causes = append(causes, link)
		}
	}
	return causes
}

func capital(s string) string {
	r := []rune(s)
	r[0] = unicode.ToUpper(r[0])
	return string(r)
}

// TestWords checks what all checks say of themselves.
func TestWords(t *testing.T) {
	ids := map[string]bool{}
	for _, c := range checks() {
		if ids[c.id] {
			t.Errorf("two checks are called %s", c.id)
		}
		ids[c.id] = true
		for _, p := range c.needs {
			if !slices.ContainsFunc(checks(), func(other check) bool { return other.id == p.by && other.id != c.id }) {
				t.Errorf("%s depends on %s, which is no other check", c.id, p.by)
			}
		}
		if strings.Trim(c.id, "abcdefghijklmnopqrstuvwxyz-") != "" {
			t.Errorf("%s is not kebab-case", c.id)
		}
		for _, s := range []string{c.finds, c.why, c.fix} {
			if s == "" || strings.HasSuffix(s, ".") {
				t.Errorf("%s: %q is no sentence without its full stop", c.id, s)
			}
			if strings.ContainsAny(s, "<>|") {
				t.Errorf("%s: %q would not be shown as it is in Markdown", c.id, s)
			}
		}
	}
}
