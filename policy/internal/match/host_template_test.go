package match

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

func mustTemplate(tb testing.TB, s string) (t HostTemplate) {
	tb.Helper()
	if err := t.UnmarshalText([]byte(s)); err != nil {
		tb.Fatal(err)
	}
	return t
}

func TestHostTemplate(t *testing.T) {
	for _, test := range []struct {
		template, namespace, host string
		want                      bool
	}{
		{"{namespace}.corp.example", "team", "team.corp.example", true},
		{"{namespace}.corp.example", "team", "Team.Corp.Example.", true},
		{"{namespace}.Corp.Example.", "team", "team.corp.example", true},
		{"{namespace}.corp.example", "team", "team2.corp.example", false},
		{"{namespace}.corp.example", "team", "a.team.corp.example", false},
		{"{namespace}.corp.example", "team", "corp.example", false},
		{"{namespace}.corp.example", "team", "*.corp.example", false},
		{"{namespace}.corp.example", "team", "", false},
		{"*.{namespace}.corp.example", "team", "a.team.corp.example", true},
		{"*.{namespace}.corp.example", "team", "*.team.corp.example", true},
		{"*.{namespace}.corp.example", "team", "**.team.corp.example", false},
		{"*.{namespace}.corp.example", "team", "team.corp.example", false},
		{"*.{namespace}.corp.example", "team", "team.team.corp.example", true},
		{"*.{namespace}.corp.example", "team", "team.other.corp.example", false},
		{"*.{namespace}.corp.example", "team", "a.b.team.corp.example", false},
		{"**.{namespace}.corp.example", "team", "a.b.team.corp.example", true},
		{"**.{namespace}.corp.example", "team", "**.team.corp.example", true},
		{"**.{namespace}.corp.example", "team", "*.b.team.corp.example", true},
		{"**.{namespace}.corp.example", "team", "team.corp.example", false},
		{"**.{namespace}.corp.example", "team", "b.team.other.corp.example", false},
		{"shop.{namespace}.corp.example", "team", "shop.team.corp.example", true},
		{"shop.{namespace}.corp.example", "team", "shop2.team.corp.example", false},
		{"*.shop.{namespace}.corp.example", "team", "a.shop.team.corp.example", true},
		{"*.shop.{namespace}.corp.example", "team", "shop.team.corp.example", false},
		{"{namespace}.corp.example", "", "corp.example", false},
		{"{namespace}.corp.example", "", ".corp.example", false},
		{"*.{namespace}.corp.example", "", "a..corp.example", false},
		{"{namespace}.corp.example", "a.b", "a.b.corp.example", false},
		{"x.{namespace}.corp.example", "*", "x.*.corp.example", false},
		{"{namespace}.corp.example", "*", "*.corp.example", false},
		{"{namespace}.corp.example", "Team", "team.corp.example", false},
		{"{namespace}.corp.example", strings.Repeat("a", 64), strings.Repeat("a", 64) + ".corp.example", false},
		{"{namespace}.corp.example", "0", "0.corp.example", true},
		{"{namespace}.corp.example", "xn--bcher-kva", "xn--bcher-kva.corp.example", true},
		{"{namespace}.corp.example", "team", ".team.corp.example", false},
		{"*.{namespace}.corp.example", "team", "a..team.corp.example", false},
		{"*.{namespace}.corp.example", "team", "team..corp.example", false},
		{"*.{namespace}.corp.example", "team", strings.Repeat("team.", 1<<20) + "corp.example", false},
		{"**.{namespace}.corp.example", "team", strings.Repeat("team.", 1<<20) + "corp.example", true},
	} {
		set := NewHostTemplates([]HostTemplate{mustTemplate(t, test.template)})
		if got := set.CoversIn(test.namespace, ParseHost(test.host)); got != test.want {
			t.Errorf("%s for the namespace %.70q covers %.70q: %t, want %t", test.template, test.namespace, test.host, got, test.want)
		}
	}
}

// templates returns every template with up to two of the labels a and b in addition to the placeholder, and some
// patterns.
func templates(tb testing.TB) (all []HostTemplate) {
	for _, stars := range []string{"", "*.", "**."} {
		for _, before := range []string{"", "a.", "b.", "a.b.", "b.a."} {
			for _, after := range []string{".a", ".b", ".a.b", ".b.a", ".a.a"} {
				if strings.Count(before+after, ".") <= 3 {
					all = append(all, mustTemplate(tb, stars+before+NamespacePlaceholder+after))
				}
			}
		}
	}
	return append(all, mustTemplate(tb, "a.b"), mustTemplate(tb, "*.b"), mustTemplate(tb, "**.a.b"))
}

// hostsOf returns every host of up to n labels out of two.
func hostsOf(n int) (hosts []string) {
	for level := []string{"a", "b"}; n > 0; n-- {
		hosts = append(hosts, level...)
		var next []string
		for _, h := range level {
			next = append(next, "a."+h, "b."+h)
		}
		level = next
	}
	return hosts
}

// covers implements the definition of a template, label by label: it reports whether it covers a host for a namespace.
func (t HostTemplate) covers(namespace, host string) bool {
	want := strings.Split(t.String(), ".")
	got := strings.Split(host, ".")
	switch want[0] {
	case "*":
		if want, got = want[1:], got[1:]; len(got) == 0 {
			return false
		}
	case "**":
		if want = want[1:]; len(got) <= len(want) {
			return false
		}
		got = got[len(got)-len(want):]
	}
	return slices.EqualFunc(want, got, func(w, g string) bool {
		return w == g || w == NamespacePlaceholder && g == namespace
	})
}

// A set of templates covers a claim for a namespace if, by definition, a template covers each of its hosts.
func TestHostTemplates(t *testing.T) {
	_, claims := smallWorld()
	hosts, all := hostsOf(5), templates(t) // so that one label below a claim differs from two
	rng := rand.New(rand.NewPCG(3, 4))     //nolint:gosec // reproducible on purpose
	for range 1500 {
		var chosen []HostTemplate
		for range 1 + rng.IntN(3) {
			chosen = append(chosen, all[rng.IntN(len(all))])
		}
		set := NewHostTemplates(chosen)
		for _, namespace := range []string{"a", "b", "c", ""} {
			for _, claim := range claims {
				want := false
				for _, c := range chosen {
					covered := namespace != "" || !c.placeholder
					for _, h := range hosts {
						covered = covered && (!standsFor(claim, h) || c.covers(namespace, h))
					}
					want = want || covered
				}
				_, got := set.Patterns().Covers(claim)
				if got = got || set.CoversIn(namespace, claim); got != want {
					t.Fatalf("%v for %q covers %s: %t, want %t", chosen, namespace, claim, got, want)
				}
			}
		}
	}
}

// Two templates share a host if one covers it for one namespace and the other for another namespace. A template only
// covers hosts that its widest pattern covers.
func TestSharedHosts(t *testing.T) {
	hosts := hostsOf(6) // the templates have up to five labels, with one star
	all, namespaces := templates(t), []string{"a", "b", "c"}
	for _, x := range all {
		covered := map[string][]string{} // the namespaces for which x covers a host
		for _, h := range hosts {
			for _, n := range namespaces {
				if x.covers(n, h) {
					covered[h] = append(covered[h], n)
					if !standsFor(x.Widest(), h) {
						t.Fatalf("%s covers %s for %s, and its widest pattern %s does not", x, h, n, x.Widest())
					}
				}
			}
		}
		for _, y := range all {
			want := false
			for h, xs := range covered {
				for _, n := range namespaces {
					want = want || x.placeholder && y.placeholder && y.covers(n, h) && slices.ContainsFunc(xs, func(m string) bool { return m != n })
				}
			}
			if namespace, got := x.Shares(y); got != want {
				t.Fatalf("%s shares a host with %s, for the namespace %s: %t, want %t", x, y, namespace, got, want)
			}
		}
	}
}

// Every text is either rejected with a reason, or is a template. Its String is the text without the final dot and in
// lower case, and parses to the same template.
func FuzzHostTemplate(f *testing.F) {
	for _, s := range []string{
		"{namespace}", "*.{namespace}.apps.corp.example", "**.a.{namespace}.x.", "{namespace}.{namespace}.x", "*-{namespace}.x", "{namespace}-api.x",
		"*{namespace}.x", "{name}.x", "{}.x", "{namespace", "{namespace}}", "{{namespace}}.x", "..{namespace}", "{namespace}..x", "{NAMESPACE}.x",
		"{namespace}:80", "https://{namespace}.x/", "{namespace}.*", "{namespace}.", ".{namespace}", "**", "*", "",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		var read, again HostTemplate
		if err := read.UnmarshalText([]byte(s)); err != nil {
			return
		}
		if got, want := read.String(), strings.TrimSuffix(LowerASCII(s), "."); got != want {
			t.Errorf("%q is shown as %q, want %q", s, got, want)
		}
		if err := again.UnmarshalText([]byte(read.String())); err != nil || again != read {
			t.Errorf("%q is %q, and that reads as %q, %v", s, read, again, err)
		}
		NewHostTemplates([]HostTemplate{read}).CoversIn("namespace", ParseHost(s))
	})
}
