package linediff

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnified(t *testing.T) {
	const ten = "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for name, tt := range map[string]struct{ from, to, want string }{
		"equal": {ten, ten, ""},
		"a line moves": {
			"a\nb\nc\n", "b\na\nc\n",
			"--- old\n+++ new\n@@ -1,3 +1,3 @@\n-a\n b\n+a\n c\n",
		},
		"far from each other": {
			ten, "0\n" + strings.Replace(ten, "10\n", "ten\n", 1),
			"--- old\n+++ new\n@@ -1,3 +1,4 @@\n+0\n 1\n 2\n 3\n@@ -7,4 +8,4 @@\n 7\n 8\n 9\n-10\n+ten\n",
		},
		"from nothing": {"", "a\n", "--- old\n+++ new\n@@ -0,0 +1,1 @@\n+a\n"},
		"no newline":   {"a", "a\n", "--- old\n+++ new\n@@ -1,1 +1,1 @@\n-a\n\\ No newline at end of file\n+a\n"},
	} {
		if diff := cmp.Diff(tt.want, Unified("old", "new", []byte(tt.from), []byte(tt.to))); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

// If the comparison would cost too much, the differing parts are shown completely.
func TestUnifiedIsBounded(t *testing.T) {
	from, to := strings.Repeat("a\n", 3000), strings.Repeat("b\na\n", 3000)
	got := Unified("old", "new", []byte("x\n"+from+"y\n"), []byte("x\n"+to+"y\n"))
	if n := strings.Count(got, "\n+"); n != 6001-1 {
		t.Errorf("%d lines are added", n)
	}
}
