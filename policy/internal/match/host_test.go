package match

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestParseHost(t *testing.T) {
	for in, want := range map[string]string{
		"a.example":         "a.example",
		"A.Example.":        "a.example",
		"Z[@`{":             "z[@`{", // neighbours of the letters in ASCII
		"*.A.example.":      "*.a.example",
		"**.a.example":      "**.a.example",
		"**":                "**",
		"*":                 "**",
		"":                  "**",
		".":                 "**",
		"\u212aelvin.a":     "\u212aelvin.a", // the Kelvin sign is not a k in DNS
		"B\u00dcCHER.a":     "b\u00dccher.a",
		"localhost":         "localhost",
		"a.*.example":       "a.*.example",
		"x.**.example.Com.": "x.**.example.com",

		"**." + strings.Repeat("A", MaxHost) + ".": "**." + strings.Repeat("a", MaxHost),
		"***." + strings.Repeat("A", MaxHost):      "***." + strings.Repeat("a", MaxHost),
		strings.Repeat("A", MaxHost+5):             strings.Repeat("A", MaxHost+5),
	} {
		if got := ParseHost(in).String(); got != want {
			t.Errorf("parseHost(%q) = %s, want %s", in, got, want)
		}
	}
}

// The look-ups agree with the definition of a pattern, on every host of a small world.
func TestHostSet(t *testing.T) {
	hosts, patterns := smallWorld()
	rng := rand.New(rand.NewPCG(1, 2)) //nolint:gosec // reproducible on purpose
	for range 2000 {
		var chosen []HostPattern
		for range 1 + rng.IntN(4) {
			chosen = append(chosen, patterns[rng.IntN(len(patterns))])
		}
		set, overlaps := NewHostSet(chosen), NewHostOverlaps(chosen)
		for _, p := range patterns {
			if p.Depth == LabelsBelow && !p.IsEvery() {
				continue // TestClaimsAgainstEachHost has them
			}
			wantCovers, wantOverlaps := false, false
			for _, c := range chosen {
				all, some := relate(c, p, hosts)
				wantCovers, wantOverlaps = wantCovers || all, wantOverlaps || some
			}
			if _, got := set.Covers(p); got != wantCovers {
				t.Fatalf("%v covers %s: %t, want %t", chosen, p, got, wantCovers)
			}
			if _, how := overlaps.Find(p); (how != NoOverlap) != wantOverlaps {
				t.Fatalf("%v overlaps %s: %t, want %t", chosen, p, !wantOverlaps, wantOverlaps)
			}
		}
	}
}

// smallWorld returns every host of up to four labels out of two, and every pattern about the shorter ones.
func smallWorld() (hosts []string, patterns []HostPattern) {
	level := []string{""}
	patterns = []HostPattern{EveryHost()}
	for depth := range 4 {
		var next []string
		for _, parent := range level {
			for _, label := range []string{"a", "b"} {
				next = append(next, strings.TrimSuffix(label+"."+parent, "."))
			}
		}
		hosts, level = append(hosts, next...), next
		if depth < 3 {
			for _, name := range next {
				patterns = append(patterns, ParseHost(name), ParseHost("*."+name), ParseHost("**."+name))
			}
		}
	}
	return hosts, patterns
}

// relate reports whether c covers all, or some, of the hosts of p.
func relate(c, p HostPattern, hosts []string) (all, some bool) {
	all = true
	for _, h := range hosts {
		if standsFor(p, h) {
			in := standsFor(c, h)
			all, some = all && in, some || in
		}
	}
	return all, some
}

// standsFor reports whether a pattern covers a host, by definition.
func standsFor(p HostPattern, host string) bool {
	below, isBelow := strings.CutSuffix(host, "."+p.Name)
	switch p.Depth {
	case OneLabelBelow:
		return isBelow && !strings.Contains(below, ".")
	case LabelsBelow:
		return isBelow || p.Name == ""
	}
	return host == p.Name
}

func TestHostSetLongName(t *testing.T) {
	longest := strings.Repeat("z.", 126) + "z" // 253 characters: as long as the name in a pattern can be
	set := NewHostSet([]HostPattern{ParseHost("**.example.com"), ParseHost("**." + longest)})
	for host, want := range map[string]bool{
		strings.Repeat("a.", 1<<20) + "example.com":      true,
		strings.Repeat("a.", 1<<20) + "example.org":      false,
		strings.Repeat("a", 1<<20) + ".example.com":      true,
		strings.Repeat("a", 1<<20) + "example.com":       false,
		strings.Repeat("a", 1<<20):                       false,
		"a." + longest:                                   true,
		"a.bb." + longest:                                true,
		"a" + longest:                                    false,
		strings.Repeat("a.", 120) + "bbbb.example.com":   true,
		strings.Repeat("a.", 120) + "bbb.example.com":    true,
		strings.Repeat("a.", 120) + "bb.example.com":     true,
		strings.Repeat("a.", 120) + "b.example.com":      true,
		strings.Repeat("a.", 120) + "b.not-example.com.": false,
	} {
		if _, got := set.Covers(ParseHost(host)); got != want {
			t.Errorf("a host of %d characters ending in %s: %t, want %t", len(host), host[len(host)-12:], got, want)
		}
	}
}
