package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy/object"
)

// mustLoad loads a policy from the text that follows apiVersion and kind.
func mustLoad(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := Load(policyFile("policy.yaml", text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func policyFile(name, text string) File {
	return File{Name: name, Data: []byte("apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + text)}
}

func readFile(t testing.TB, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// testdata returns the files that match a pattern, at least one.
func testdata(t testing.TB, pattern string) []string {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no files testdata/%s: %v", pattern, err)
	}
	return paths
}

// wantMark precedes each sentence about a manifest that users read.
const wantMark = "# want: "

// marked returns the text after a mark, of each line of a file that begins with it.
func marked(text []byte, mark string) []string {
	var found []string
	for line := range strings.Lines(string(text)) {
		if s, ok := strings.CutPrefix(line, mark); ok {
			found = append(found, strings.TrimSuffix(s, "\n"))
		}
	}
	return found
}

// sentences returns the sentences about findings that users read.
func sentences(findings []Finding) []string {
	var s []string
	for _, f := range findings {
		s = append(s, f.String())
	}
	return s
}

// must returns v, and panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// equal reports the difference between two values. about precedes it, for example the name of a case.
func equal[T any](t testing.TB, want, got T, about ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprint(about...), diff)
	}
}

// imagePod is a Pod with one container for each image.
func imagePod(images ...string) *object.Pod {
	pod := &object.Pod{Meta: object.Meta{Name: "pod", Namespace: "default"}}
	for i, ref := range images {
		pod.Images = append(pod.Images, object.Image{Place: object.Containers, Index: i, Name: string(rune('a' + i)), Ref: ref, PullPolicy: ""})
	}
	return pod
}

var createPod = object.Attributes{Operation: object.Create, Namespace: "default", Resource: "pods"}

// rewriteOne returns the outcome of one image in a new Pod.
func rewriteOne(p *Policy, image string) ImageOutcome {
	return must(p.RewritePod(createPod, imagePod(image), nil, nil)).Images[0]
}

// mirrorText writes a mirrors entry in mode enforce, with further fields in one line each.
func mirrorText(name, sources, mirror string, more ...string) string {
	return "- name: " + name + "\n  sources: [" + sources + "]\n  mirror: " + mirror + "\n  mode: enforce\n  " +
		strings.Join(more, "\n  ") + "\n"
}

const digest256 = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

var digest512 = "sha512:" + strings.Repeat("0123456789abcdef", 8)

// testErrors loads one rule of a block for each case. Its error is compared without file and line, which are always the
// same. rule returns the policy.
func testErrors(t *testing.T, block string, rule func(fields string) string, cases map[string]string) {
	t.Helper()
	for fields, want := range cases {
		t.Run(fields, func(t *testing.T) {
			_, err := Load(policyFile("p", rule(fields)))
			if err == nil {
				t.Fatal("no error")
			}
			_, got, _ := strings.Cut(err.Error(), ": "+block+"[0]")
			if got = strings.TrimPrefix(got, "."); got != want {
				t.Errorf("got  %s\nwant %s", got, want)
			}
		})
	}
}

// denying returns the sentences about findings that deny.
func denying(findings []Finding) []string {
	return sentences(slices.DeleteFunc(findings, func(f Finding) bool { return !f.Denies() }))
}
