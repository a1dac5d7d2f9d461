package main

import (
	"bytes"
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

// TestGeneratedFiles checks that the files in the repository are up to date.
func TestGeneratedFiles(t *testing.T) {
	files, err := generate(repository)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join(repository, schemaFile))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(files[schemaFile]), string(got)); diff != "" {
		t.Errorf("run go generate ./internal/schema (-want +got):\n%s", diff)
	}
	if embedded, err := schema.Policy(); err != nil || !bytes.Equal(embedded, files[schemaFile]) {
		t.Errorf("the copy in package schema differs: run go generate ./internal/schema (%v)", err)
	}
}

// TestDescriptions checks that descriptions mention fields and not Go identifiers, because readers of policies see them.
func TestDescriptions(t *testing.T) {
	_, root := made(t)
	known := map[string]bool{}
	for _, def := range root.Definitions {
		for _, name := range def.Fields.Names() {
			known[name] = true
		}
	}
	identifier := regexp.MustCompile(`\bsee [a-z]+[A-Z]\w*|\b(match|strict|policy)\.[A-Z]\w*`)
	for name, def := range root.Definitions {
		for _, f := range append(slices.Clone(def.Fields), schema.Field{Schema: def}) {
			for _, word := range identifier.FindAllString(f.Schema.Description, -1) {
				if !known[strings.TrimPrefix(word, "see ")] {
					t.Errorf("%s.%s: its description contains %q", name, f.Name, word)
				}
			}
		}
	}
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
	root, err := m.root()
	if err != nil {
		t.Fatal(err)
	}
	return m, root
}
