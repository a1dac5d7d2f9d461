package match

import (
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
)

func TestGlobMatch(t *testing.T) {
	for _, test := range []struct {
		glob Glob
		s    string
		want bool
	}{
		{"team-a", "team-a", true},
		{"team-a", "team-ab", false},
		{"team-a", "", false},
		{"*", "", true},
		{"*", "anything at all", true},
		{"team-*", "team-", true},
		{"team-*", "team", false},
		{"*-prod", "a-prod", true},
		{"*-prod", "a-prod-b", false},
		{"a*b*c", "abc", true},
		{"a*b*c", "a-b-b-c", true},
		{"a*b*c", "ac", false},
		{"ab*ba", "aba", false},
		{"**", "x", true},
		{"system:serviceaccount:*:deployer", "system:serviceaccount:team-a:deployer", true},
		{"a?c", "abc", false},
		{"[ab]", "a", false},
	} {
		if got := test.glob.Match(test.s); got != test.want {
			t.Errorf("%q matches %q: got %v, want %v", test.glob, test.s, got, test.want)
		}
	}
}

// regexpOf returns the regular expression of a glob.
func regexpOf(g Glob) *regexp.Regexp {
	parts := strings.Split(string(g), "*")
	for i, part := range parts {
		parts[i] = regexp.QuoteMeta(part)
	}
	return regexp.MustCompile(`\A(?s:` + strings.Join(parts, ".*") + `)\z`)
}

// words returns every string of at most n letters of the alphabet.
func words(alphabet string, n int) []string {
	all := []string{""}
	for start := 0; n > 0; n-- {
		end := len(all)
		for _, w := range all[start:end] {
			for _, c := range alphabet {
				all = append(all, w+string(c))
			}
		}
		start = end
	}
	return all
}

func TestGlobEqualsRegexp(t *testing.T) {
	strs := words("ab", 6)
	for _, g := range words("a*b", 5) {
		re := regexpOf(Glob(g))
		for _, s := range strs {
			if got, want := Glob(g).Match(s), re.MatchString(s); got != want {
				t.Fatalf("%q matches %q: got %v, want %v", g, s, got, want)
			}
		}
	}
}

// Two globs of at most three characters overlap if and only if both cover a word of at most six characters, because a
// shortest common word is not longer than both globs together.
func TestGlobOverlaps(t *testing.T) {
	strs := words("ab", 6)
	globs := words("a*b", 3)
	covered := make([][]bool, len(globs))
	for i, g := range globs {
		covered[i] = make([]bool, len(strs))
		for j, s := range strs {
			covered[i][j] = Glob(g).Match(s)
		}
	}
	for i, g := range globs {
		for j, h := range globs {
			want := false
			for k := range strs {
				want = want || covered[i][k] && covered[j][k]
			}
			if got := Glob(g).Overlaps(Glob(h)); got != want {
				t.Errorf("%q overlaps %q: got %v, want %v", g, h, got, want)
			}
		}
	}
}

// No pattern takes exponential time.
func TestGlobIsNotExponential(t *testing.T) {
	g, s := Glob(strings.Repeat("a*", 2000)+"b"), strings.Repeat("a", 20_000)
	if g.Match(s) {
		t.Error("there is no b")
	}
	if !g.Overlaps(Glob(strings.Repeat("*a", 500) + "b")) {
		t.Error("a…ab is covered by both")
	}
}

func TestGlobRandom(t *testing.T) {
	const seed = 2 // any fixed seed, so a failure can be repeated
	random := rand.New(rand.NewPCG(seed, seed))
	pick := func(alphabet string, n int) string {
		b := make([]byte, random.IntN(n))
		for i := range b {
			b[i] = alphabet[random.IntN(len(alphabet))]
		}
		return string(b)
	}
	for range 20_000 {
		g, s := Glob(pick("ab-.*\n", 12)), pick("ab-.\n", 20)
		if got, want := g.Match(s), regexpOf(g).MatchString(s); got != want {
			t.Fatalf("%q matches %q: got %v, want %v", g, s, got, want)
		}
	}
}

func TestFirstGlob(t *testing.T) {
	if g, ok := FirstGlob([]Glob{"x", "a*", "*"}, "ab"); !ok || g != "a*" {
		t.Errorf("want the first that covers, got %q, %v", g, ok)
	}
	if g, ok := FirstGlob(nil, "ab"); ok || g != "" {
		t.Errorf("nothing covers nothing, got %q", g)
	}
}
