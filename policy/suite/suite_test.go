package suite

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecode(t *testing.T) {
	s, err := Decode("a_test.yaml", []byte(`apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicyTest
policy: [a.yaml, more]
cases:
- name: inline
  object: {kind: Pod, metadata: {labels: {a: "1"}}}
  old: old.yaml
  namespace: team
  user: jane
  groups: [a, b]
  set: edge
  at: 2027-01-31
  allowed: false
  denied: [a/b]
  warned: []
  images: {containers/web: "x:1"}
  message: no
- name: of a file
  file: pod.yaml
  old:
    kind: Pod
`))
	if err != nil {
		t.Fatal(err)
	}
	c := s.Cases[0]
	if got := string(c.Object); got != "{kind: Pod, metadata: {labels: {a: \"1\"}}}\n" {
		t.Errorf("object: %q", got)
	}
	got := []any{
		s.Policy, c.Name, c.Place, c.At, c.OldFile, c.Namespace, c.User, c.Groups, c.Set, c.Now.String(), *c.Allowed, c.Denied,
		c.Warned, c.Images, c.Message, s.Cases[1].File, string(s.Cases[1].Old), s.Cases[1].Denied == nil,
	}
	want := []any{
		[]string{"a.yaml", "more"}, "inline", Place{5, 3}, Place{6, 11}, "old.yaml", "team", "jane", []string{"a", "b"}, "edge",
		"2027-01-31 00:00:00 +0000 UTC", false, []string{"a/b"}, []string{}, map[string]string{"containers/web": "x:1"}, "no",
		"pod.yaml", "kind: Pod\n", true,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

func TestDecodeErrors(t *testing.T) {
	const head = "policy: [a.yaml]\ncases:\n"
	for _, tt := range []struct{ name, text, want string }{
		{"unknown", head + "- name: a\n  file: b.yaml\n  denies: [a/b]\n", "a_test.yaml:5:3: cases[0].denies: unknown field; did you mean denied?"},
		{"unknown at the top", head + "- {name: a, file: b}\ncase: []\n", "a_test.yaml:4:1: case: unknown field; did you mean cases?"},
		{"a spec", head + "- {name: a, file: b}\nspec: {}\n", "a_test.yaml:4:1: spec: unknown field: a suite has no spec; its blocks are at the top level"},
		{"no object", head + "- {name: a}\n", "a_test.yaml:3:10: cases[0].name: the case has no object: add object, or file with the path of a manifest"},
		{"two objects", head + "- {name: a, file: b, object: {}}\n", "a_test.yaml:3:19: cases[0].file: the case already has an object: leave out object or file"},
		{"a file as object", head + "- {name: a, object: b.yaml}\n", "a_test.yaml:3:21: cases[0].object: want a Kubernetes object; to use a manifest, write its path in file"},
		{"no check", head + "- {name: a, file: b, denied: [hosts]}\n", `a_test.yaml:3:30: cases[0].denied: "hosts" is not a rule and its check: write both, such as web/hosts.allowed`},
		{"contradiction", head + "- {name: a, file: b, allowed: true, denied: [a/b]}\n", "a_test.yaml:3:31: cases[0].allowed: it contradicts denied: leave out one of them"},
		{"date", head + "- {name: a, file: b, at: soon}\n", `a_test.yaml:3:26: cases[0].at: "soon" is not a date: write an existing day such as 2027-01-31, or a time such as 2027-01-31T18:00:00Z`},
		{"image", head + "- {name: a, file: b, images: {containers/web: 1}}\n", "a_test.yaml:3:47: cases[0].images.containers/web: want a string, got 1: put it in quotes"},
		{"a policy as text", "policy: a.yaml\ncases: [{name: a, file: b}]\n", `a_test.yaml:1:9: policy: want a list, got "a.yaml"`},
		{"no cases", "policy: [a.yaml]\n", "a_test.yaml:1:1: cases is required"},
		{"empty", "", "a_test.yaml:1:1: it is empty: a suite contains policy and cases"},
		{"twice", head + "- {name: a, file: b}\n- {name: a, file: b}\n", `a_test.yaml:4:3: cases[1]: the case in line 3 is also named "a": names must be unique in a suite`},
		{"several", head + "- {name: a, file: b}\n---\n" + head, "a_test.yaml:1:1: it has several documents: a suite has only one"},
		{"kind", "kind: Pod\n" + head + "- {name: a, file: b}\n", `a_test.yaml:1:7: kind: "Pod" is not a suite: write EvergatePolicyTest, or leave it out`},
		{"syntax", head + "- {name: a\n", "a_test.yaml:3: not valid YAML: did not find expected ',' or '}'"},
		{"long", head + strings.Repeat("#", maxBytes), "a_test.yaml:1:1: it has 4,194,328 bytes, at most 4,194,304 are allowed"},
		{"values", head + "- groups: [" + strings.Repeat("a,", maxValues) + "]", "a_test.yaml:3:1: the suite has more than 400,000 values, which is the limit"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Decode("a_test.yaml", []byte(tt.text))
			if err == nil {
				t.Fatal("no error")
			}
			if diff := cmp.Diff(tt.want, err.Error()); diff != "" {
				t.Errorf("(-want +got)\n%s", diff)
			}
		})
	}
}
