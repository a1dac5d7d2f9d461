package docs

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// rule is a construction that readers have to read twice, and its replacement.
type rule struct {
	advice  string
	pattern *regexp.Regexp
}

// rules returns the constructions that no page and no comment may contain.
func rules() []rule {
	words := func(advice, pattern string) rule { return rule{advice, regexp.MustCompile(pattern)} }
	return []rule{
		words("name the thing: objects that, anyone who", `^(?:What|Who|Whoever) [a-z]+[^?]*$`),
		words("repeat the noun", `\b(?:those of|that of|those (?:that|whose|with|who|which|in|on|the))\b`),
		words("a report shows, a command prints, a server logs", `\b(?:says|said|tells|tell|told)\b`),
		words("validate, check, evaluate, decide", `\b(?:un)?[Jj]udg(?:e|es|ed|ing)\b`),
		words("the webhook denies, the API server rejects, a policy fails to load, a process does not start",
			`\b[Rr]efus(?:es?|ing|al)\b`),
		words("name the thing", `\b(?:One|Each|None|All) (?:that|which|whose|of which)\b`),
		words("is in, contains, represents",
			`\b(?:stands?|stood|lies?) (?:in|at|for|beside|on|under|before|there|alone|behind)\b`),
		words("a result is: , so; a purpose is: so that, without a comma", `, so that\b`),
		words("resolve the conflict", `<<<<<<<|>>>>>>>`),
	}
}

// TestProse checks every page, the comments of every package, and the comments of YAML files, scripts and other files
// with # comments.
func TestProse(t *testing.T) {
	texts := map[string][]string{} // from the file or the directory of a package
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir():
			return skipped(base)
		case path.Ext(name) == ".md":
			texts[name] = pageSentences(read(t, name))
		case path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			texts[path.Dir(name)] = append(texts[path.Dir(name)], commentSentences(t, name)...)
		case hashComments().MatchString(name):
			texts[name] = hashSentences(read(t, name))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 300 {
		t.Fatalf("only %d pages, packages and files were found", len(texts))
	}
	for name, sentences := range texts {
		if slices.Contains(unchecked(), name) {
			continue
		}
		if hits := hitsIn(sentences); len(hits) > 0 {
			t.Errorf("%s: rewrite\n%s", name, strings.Join(hits, "\n"))
		}
	}
}

// TestProseFindsHits checks that each kind of text is read: a page, Go comments, and comments after #.
func TestProseFindsHits(t *testing.T) {
	const bad = "One that is bad is refused."
	for name, sentences := range map[string][]string{
		"paragraph":   pageSentences([]byte("# Title\n\nGood.\n" + bad + "\n")),
		"item":        pageSentences([]byte("Good:\n\n- good\n- " + bad + "\n")),
		"row":         pageSentences([]byte("| a | b |\n| --- | --- |\n| good | " + bad + " |\n")),
		"line":        hashSentences([]byte("# Good.\n# " + bad + "\na: b\n")),
		"end of line": hashSentences([]byte("a: \"#x\"\nb: c # " + bad + "\n")),
		"target":      hashSentences([]byte("all: ## " + bad + "\n\ttrue\n")),
	} {
		if hits := hitsIn(sentences); len(hits) != 1 {
			t.Errorf("%s: %d hits, want 1: %q", name, len(hits), sentences)
		}
	}
	for _, good := range []string{
		"There is no such field.", "Tests in e2e/kit need it.", "It waits so that others can go first.", "What is new?",
	} {
		if hits := hitsIn([]string{good}); len(hits) > 0 {
			t.Errorf("%q: %s", good, hits[0])
		}
	}
}

// skipped returns fs.SkipDir for directories without texts of this project, and for test data, which contains
// deliberate mistakes.
func skipped(dir string) error {
	switch hidden := strings.HasPrefix(dir, ".") && dir != "." && dir != ".ci" && dir != ".github"; {
	case hidden, slices.Contains([]string{"testdata", "node_modules", "bin", "build", "dist"}, dir):
		return fs.SkipDir
	}
	return nil
}

// unchecked returns pages that programs write from other texts.
func unchecked() []string {
	return []string{
		"e2e/report.md", "e2e/report-long.md", // the incidents write them
		"e2e/nightly.md",  // e2e/nightly.sh writes it
		"docs/denials.md", // the sentences of the checks
	}
}

// hitsIn returns the sentences that a rule matches, with its advice.
func hitsIn(sentences []string) (hits []string) {
	all := rules()
	for _, s := range sentences {
		i := slices.IndexFunc(all, func(r rule) bool { return r.pattern.MatchString(s) })
		if i >= 0 {
			hits = append(hits, "  "+s+"\n    "+all[i].advice)
		}
	}
	return hits
}

// hashComments matches the names of files with comments that begin with #.
func hashComments() *regexp.Regexp {
	return regexp.MustCompile(`\.(?:ya?ml|sh)$|(?:^|/)(?:Dockerfile|Makefile|\.dockerignore|\.ci/run)$`)
}

// hashSentences returns the sentences of comments that begin with #, on their own lines or after other text.
func hashSentences(file []byte) (sentences []string) {
	var paragraph []string
	end := func() {
		sentences = append(sentences, split(strings.Join(paragraph, " "))...)
		paragraph = nil
	}
	for line := range strings.Lines(string(file)) {
		line = strings.TrimSpace(line)
		if comment, ok := strings.CutPrefix(line, "#"); ok && strings.Trim(comment, "# -") != "" {
			paragraph = append(paragraph, strings.Trim(comment, "# "))
			continue
		}
		end()
		if at := strings.LastIndex(line, " #"); at >= 0 {
			sentences = append(sentences, split(strings.Trim(line[at:], "# "))...)
		}
	}
	end()
	return sentences
}

func read(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("..", name))
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// pageSentences returns the sentences of a Markdown page, with each row of a table as one. It leaves out code, headings
// and HTML comments.
func pageSentences(page []byte) []string {
	page = regexp.MustCompile("(?ms)^ *```.*?^ *```|<!--.*?-->").ReplaceAll(page, nil)
	var sentences []string
	for paragraph := range bytes.SplitSeq(page, []byte("\n\n")) {
		for block := range strings.SplitSeq(itemStart.ReplaceAllString("\n"+string(paragraph), "\x00"), "\x00") {
			if block = strings.Join(strings.Fields(block), " "); !strings.HasPrefix(block, "#") {
				sentences = append(sentences, split(block)...)
			}
		}
	}
	return sentences
}

// itemStart is the start of a list item, of a table row, or of a heading.
var itemStart = regexp.MustCompile(`\n\s*(?:[-*+]|\d+\.|>)\s+|\n\s*\|`)

// commentSentences returns the sentences of the comments of a Go file.
func commentSentences(t *testing.T, name string) (sentences []string) {
	t.Helper()
	mode := parser.ParseComments | parser.SkipObjectResolution
	file, err := parser.ParseFile(token.NewFileSet(), name, read(t, name), mode)
	if err != nil {
		t.Fatal(err)
	}
	for _, group := range file.Comments {
		sentences = append(sentences, commentOf(group)...)
	}
	return sentences
}

func commentOf(group *ast.CommentGroup) (sentences []string) {
	for paragraph := range strings.SplitSeq(group.Text(), "\n\n") {
		if !strings.HasPrefix(paragraph, "\t") { // code, or a list of files
			sentences = append(sentences, split(strings.Join(strings.Fields(paragraph), " "))...)
		}
	}
	return sentences
}

var (
	link        = regexp.MustCompile(`!?\[([^\]]*)\]\([^)]*\)`)
	code        = regexp.MustCompile("``?[^`]*``?")
	sentenceEnd = regexp.MustCompile("[.?!][)\"_*]* +(?:[A-Z`\"'(*_0-9<…-])")
)

// split returns the sentences of a paragraph, without links and code.
func split(paragraph string) (sentences []string) {
	paragraph = code.ReplaceAllString(link.ReplaceAllString(paragraph, "$1"), "CODE")
	for {
		at := sentenceEnd.FindStringIndex(paragraph)
		if at == nil {
			break
		}
		sentences = append(sentences, strings.TrimSpace(paragraph[:at[1]-1]))
		paragraph = paragraph[at[1]-1:]
	}
	if regexp.MustCompile(`[A-Za-z]{2}`).MatchString(paragraph) {
		sentences = append(sentences, paragraph)
	}
	return sentences
}
