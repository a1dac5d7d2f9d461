package main

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/internal/schema"
)

const repository = "../../.."

// TestGeneratedFile checks that the file in the repository is up to date.
func TestGeneratedFile(t *testing.T) {
	want, err := generate(repository)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(repository, schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("run go generate ./internal/schema (-want +got):\n%s", diff)
	}
}

// TestDescriptions checks that descriptions mention fields and not Go identifiers, because readers of policies see them.
func TestDescriptions(t *testing.T) {
	m, root := made(t)
	known := map[string]bool{}
	identifier := regexp.MustCompile(`\bsee [a-z]*[A-Z]\w*|\b(match|strict|policy)\.[A-Z]\w*`)
	var check func(path string, s *schema.Schema)
	check = func(path string, s *schema.Schema) {
		for _, word := range identifier.FindAllString(s.Description, -1) {
			if !known[strings.TrimPrefix(word, "see ")] {
				t.Errorf("%s: its description contains %q", path, word)
			}
		}
		for name, field := range s.Inner().Fields {
			check(path+"."+name, field)
		}
	}
	for id := range m.comments {
		name := id[strings.LastIndexByte(id, '.')+1:]
		known[strings.ToLower(name[:1])+name[1:]] = true
	}
	check("policy", root)
}

// TestTexts checks that types accept each word of their schema, and that the schema allows each sample that the type
// accepts.
func TestTexts(t *testing.T) {
	m, _ := made(t)
	for typ, of := range m.texts {
		for _, word := range of.Enum {
			if err := parse(typ, word); err != nil {
				t.Errorf("%s: %v", typ, err)
			}
		}
		for _, sample := range textSamples() {
			if parse(typ, sample) != nil {
				continue
			}
			if of.Pattern != "" && !regexp.MustCompile(of.Pattern).MatchString(sample) {
				t.Errorf("%s accepts %q, which does not match %s", typ, sample, of.Pattern)
			}
			if of.Enum != nil && !slices.Contains(of.Enum, sample) {
				t.Errorf("%s accepts %q, which is not in %s", typ, sample, of.Enum)
			}
		}
	}
}

// made returns a maker that has made the schema, and the schema.
func made(t *testing.T) (*maker, *schema.Schema) {
	t.Helper()
	m, err := newMaker(repository)
	if err != nil {
		t.Fatal(err)
	}
	return m, m.root()
}
