// Package docs checks the language of the documentation and of comments.
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

// maxRate is the number of hits in 100 sentences that a page or a package may have. The rules are heuristics, and some
// hits are good English.
const maxRate = 5

// rule is a construction that readers have to read twice, and its replacement.
type rule struct {
	advice  string
	pattern *regexp.Regexp
	except  *regexp.Regexp // matches of pattern that are good English; nil for none
}

func rules() []rule {
	words := func(advice, pattern string) rule { return rule{advice, regexp.MustCompile(pattern), nil} }
	except := func(r rule, pattern string) rule { return rule{r.advice, r.pattern, regexp.MustCompile(pattern)} }
	const after = `(?:is|are|was|it|they|has|have|had|a|an|the|no|its|does|cannot|would|will|must|may|can|you|one|each)`
	return []rule{
		words("name the thing, not what", `[a-z,] what `+after+`\b`),
		words("name the thing: objects that, anyone who", `^(?:What|Who|Whoever) [a-z]+`),
		words("conditions are if and when",
			`\b[Ww]here (?:it|they|there|you|no|one|that|this|none|a|an|the|its|some|all|not)\b`),
		words("repeat the noun", `\b(?:those of|that of|of which|those (?:that|whose|with|who|which|in|on|the))\b`),
		words("a report shows, a command prints, a server logs", `\b(?:says|said|tells|tell|told)\b`),
		words("validate, check, evaluate, decide", `\b[Jj]udg(?:e|es|ed|ing)\b`),
		words("the webhook denies, the API server rejects, a policy fails to load, a process does not start",
			`\b[Rr]efus(?:e|es|ed|ing|al)\b`),
		words("name the thing", `\b(?:[Oo]ne|ones|[Ee]ach|[Nn]one|[Aa]ll) (?:that|which|whose|of (?:them|which|it))\b`),
		except(words("put the not on the verb", `\b(?:calls|knows|needs|lets|takes|makes|reads|writes|keeps|holds|sends|`+
			`sets|shows|finds|gets|costs|allocates|names|denies|adds) (?:no|nothing|none|not one)\b( longer)?`), ` longer$`),
		words("is in, contains, represents",
			`\b(?:stands?|stood|lies?) (?:in|at|for|beside|on|under|before|there|alone|behind)\b`),
		words("a result is: , so", `, so that\b`),
		except(words("put the not on the verb",
			`\b(?:is|are|has|have|was|were) none\b|\b(?:is|are|was|were) no [a-z]+`), ` (?:longer|more|need|way|such)$`),
		words("its, their, your", `\bof (?:(?:its|their|your|our|his|her|one's) own|yours|ours|theirs)\b`),
		words("next to, together with", `\bbeside\b`),
		words("active", `\b(?:in|into) force\b`),
		words("except", `\bbut for\b`),
		words("again", `\banew\b`),
		words("immediately, together", `\bat once\b`),
		words("manifests, base, overlays", `\bkits?\b`),
		words("continue, keep", `\b(?:goes|go|going|went) on\b`),
	}
}

// TestProse checks every page, and the comments of every package, against the rules.
func TestProse(t *testing.T) {
	texts := map[string][]string{}
	err := fs.WalkDir(os.DirFS(".."), ".", func(name string, entry fs.DirEntry, err error) error {
		switch base := entry.Name(); {
		case err != nil:
			return err
		case entry.IsDir():
			if base != "." && strings.HasPrefix(base, ".") || base == "testdata" || base == "node_modules" {
				return fs.SkipDir
			}
		case path.Ext(name) == ".md":
			texts[name] = pageSentences(read(t, name))
		case path.Ext(name) == ".go" && !strings.HasSuffix(name, "_test.go"):
			texts[path.Dir(name)] = append(texts[path.Dir(name)], commentSentences(t, name)...)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(texts) < 100 {
		t.Fatalf("only %d pages and packages were found", len(texts))
	}
	for name, sentences := range texts {
		if slices.Contains(unchecked(), name) {
			continue
		}
		if hits := hitsIn(sentences); len(hits) > max(1, maxRate*len(sentences)/100) {
			t.Errorf("%s: %d of %d sentences; rewrite for example\n%s", name, len(hits), len(sentences),
				strings.Join(hits[:min(len(hits), 5)], "\n"))
		}
	}
}

// unchecked returns pages that programs write from other texts.
func unchecked() []string {
	return []string{
		"e2e/report.md", "e2e/report-long.md", // the incidents write them
		"docs/denials.md", // the sentences of the checks
	}
}

// hitsIn returns the sentences that a rule matches, with its advice.
func hitsIn(sentences []string) (hits []string) {
	all := rules()
	for _, s := range sentences {
		i := slices.IndexFunc(all, func(r rule) bool { return r.matches(s) })
		if i >= 0 {
			hits = append(hits, "  "+s+"\n    "+all[i].advice)
		}
	}
	return hits
}

func (r rule) matches(sentence string) bool {
	for _, match := range r.pattern.FindAllString(sentence, -1) {
		if r.except == nil || !r.except.MatchString(match) {
			return true
		}
	}
	return false
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
