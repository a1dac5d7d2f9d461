package policy

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Each testdata/format/*.in.yaml is formatted as the .out.yaml beside it, which -update writes.
func TestFormat(t *testing.T) {
	for _, path := range testdata(t, "format/*.in.yaml") {
		t.Run(filepath.Base(path), func(t *testing.T) {
			in := readFile(t, path)
			got, err := Format(File{Name: path, Data: in})
			if err != nil {
				t.Fatal(err)
			}
			checkFormatted(t, in, got)
			golden := strings.TrimSuffix(path, ".in.yaml") + ".out.yaml"
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(readFile(t, golden)), string(got)); diff != "" {
				t.Errorf("go test ./policy -run Format -update writes %s anew (-want +got):\n%s", golden, diff)
			}
		})
	}
}

// Every policy of the repository can be formatted, and then means the same.
func TestFormatEveryPolicy(t *testing.T) {
	tried := 0
	for _, pattern := range []string{"testdata/*/policy.yaml", "testdata/*/*/policy.yaml", "../examples/policies/*.yaml",
		"../cmd/testdata/policy*.yaml", "../internal/worst/policy.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, path := range paths {
			in := readFile(t, path)
			if _, err := Load(File{Name: path, Data: in}); err != nil {
				continue
			}
			tried++
			got, err := Format(File{Name: path, Data: in})
			if err != nil {
				t.Error(err)
				continue
			}
			checkFormatted(t, in, got)
		}
	}
	if tried < 20 {
		t.Errorf("only %d policies were tried", tried)
	}
}

// Of the policies in examples, none changes: people begin with a copy of them.
func TestExamplesAreFormatted(t *testing.T) {
	paths, err := filepath.Glob("../examples/policies/*.yaml")
	if err != nil || len(paths) == 0 {
		t.Fatal(paths, err)
	}
	for _, path := range withoutSuites(paths) {
		in := readFile(t, path)
		got, err := Format(File{Name: path, Data: in})
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(in), string(got)); diff != "" {
			t.Errorf("%s: evergate policy fmt -w would change it (-have +formatted):\n%s", path, diff)
		}
	}
}

func TestFormatErrors(t *testing.T) {
	const begin = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"
	for name, tt := range map[string]struct{ text, want string }{
		"not a policy": {"kind: ConfigMap\napiVersion: v1\n", `a.yaml:2:13: apiVersion: "v1" is not supported: write evergate.dev/v1alpha1`},
		"a key without a colon": {
			begin + "? services\n: []\n", "a.yaml: line 3: this field does not begin its line",
		},
		"line ends of old Macs": {
			"# a\r" + begin, "a.yaml: line 1: a line ends with neither LF nor CRLF",
		},
	} {
		_, err := Format(File{Name: "a.yaml", Data: []byte(tt.text)})
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s:\n%v, want\n%s", name, err, tt.want)
		}
	}
}

// Whatever a policy is written like: formatted, it means the same, has the same comments, and does not change again.
func FuzzFormat(f *testing.F) {
	for _, pattern := range []string{"testdata/format/*.yaml", "testdata/load/*.yaml", "testdata/*/*/policy.yaml", "../examples/policies/*.yaml"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			f.Fatalf("no seeds in %s: %v", pattern, err)
		}
		for _, path := range paths {
			for seed := range uint64(2) {
				f.Add(readFile(f, path), seed)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte, seed uint64) {
		data = strewn(data, seed)
		got, err := Format(File{Name: "fuzz.yaml", Data: data})
		if err != nil {
			return // no policy, or one that is not formatted
		}
		checkFormatted(t, data, got)
	})
}

// strewn returns a text with comments, blank lines and spaces strewn into it, which differ for each seed.
func strewn(text []byte, seed uint64) []byte {
	r := rand.New(rand.NewPCG(seed, 0))
	var out []string
	for line := range strings.SplitSeq(string(text), "\n") {
		if r.IntN(8) == 0 {
			line += strings.Repeat(" ", r.IntN(3))
		}
		out = append(out, line)
		switch r.IntN(12) {
		case 0:
			out = append(out, strings.Repeat(" ", r.IntN(9))+"# comment "+strconv.Itoa(len(out)))
		case 1:
			out = append(out, strings.Repeat("\n", r.IntN(3)))
		}
	}
	return []byte(strings.Join(out, "\n"))
}

func checkFormatted(t *testing.T, in, out []byte) {
	t.Helper()
	again, err := Format(File{Name: "formatted.yaml", Data: out})
	if err != nil {
		t.Fatalf("formatted, it cannot be formatted again: %v\n%s", err, out)
	}
	if !bytes.Equal(out, again) {
		t.Errorf("formatted twice, it is different (-once +twice):\n%s", cmp.Diff(string(out), string(again)))
	}
	same := []cmp.Option{
		cmp.Exporter(func(reflect.Type) bool { return true }), cmpopts.IgnoreTypes(strict.Pos{}),
		cmp.Comparer(func(a, b match.Regex) bool { return a.String() == b.String() }),
	}
	if diff := cmp.Diff(decoded(t, in), decoded(t, out), same...); diff != "" {
		t.Errorf("formatted, it means something else:\n%s", diff)
	}
	if diff := cmp.Diff(commentWords(in), commentWords(out)); diff != "" {
		t.Errorf("comments are lost or new:\n%s", diff)
	}
}

// decoded returns what a policy is compiled from.
func decoded(t *testing.T, data []byte) document {
	t.Helper()
	l := fileLimits()
	d := strict.NewDecoder(context.Background(), strict.Limits{
		Values: l.Values, Entries: l.Entries, Texts: l.Patterns, Cost: l.RegexSteps,
	})
	var all document
	all.merge(d, File{Name: "a.yaml", Data: data})
	if err := d.Errors().Errors(); err != nil {
		t.Fatal(err)
	}
	return all
}

// commentWords returns the words of a text that has comments, sorted: none is lost by formatting. Of brackets in one
// line, only the words are compared.
func commentWords(text []byte) []string {
	var words []string
	for line := range strings.Lines(string(text)) {
		if _, comment, ok := strings.Cut(line, "#"); ok {
			words = append(words, strings.TrimSpace(comment))
		}
	}
	slices.Sort(words)
	return words
}
