package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

const aService = "- {name: s%[1]d, mode: enforce, types: {allowed: [ClusterIP]}}\n"

// A policy at a limit loads. A policy above it does not load, and the error contains the limit.
func TestLimits(t *testing.T) {
	services := func(n int) string {
		b := "services:\n"
		for i := range n {
			b += fmt.Sprintf(aService, i)
		}
		return b
	}
	pattern := func(s string) string {
		return "ingresses:\n- {name: a, mode: enforce, paths: {deniedPatterns: [" + s + "]}}\n"
	}
	annotations := func(patterns, keys int) string {
		return "services:\n- {name: a, mode: enforce, annotations: {denied: [" + list(patterns, "'*-%d-*'") + "], required: [" + list(keys, "{key: a/b%d}") + "]}}\n"
	}
	long := func(n int) string {
		return "services:\n- {name: a, mode: enforce, message: '" + strings.Repeat("x", n) + "', ports: {allowed: ['1']}}\n"
	}
	for name, test := range map[string]struct {
		limits     func(*Limits)
		at, beyond string
		want       string
	}{
		"entries": {
			func(l *Limits) { l.Entries = 3 }, services(3), services(4),
			"p:7:3: services[3]: the policy has more than 3 entries, which is the limit",
		},
		"patterns": {
			func(l *Limits) { l.Patterns = 3 }, services(3), services(4),
			"p:7:47: services[3].types.allowed[0]: the policy has more than 3 patterns, which is the limit",
		},
		"values": {
			func(l *Limits) { l.Values = 8 }, "# - - - -\n#, a\n", "# - - - -\n#, a,\n",
			"p:4:1: the policy has more than 8 values, which is the limit",
		},
		"values, and not what is in words": {
			func(l *Limits) { l.Values = 8 }, "# r:1 a-b\n# - - - -\n#, a\n", "# r:1 a-b\n# - - - -\n#, a,\n",
			"p:5:1: the policy has more than 8 values, which is the limit",
		},
		"steps of a regular expression": {
			nil, pattern("'/(.{998}.{1000})'"), pattern("'/(.{999}.{1000})'"),
			"p:4:53: ingresses[0].paths.deniedPatterns[0]: a regular expression of 2,001 steps: it has at most 2,000; " +
				"a repetition such as .{1000} is a thousand",
		},
		"steps of all regular expressions": {
			func(l *Limits) { l.RegexSteps = 1003 }, pattern("'/.{1000}', '//'"), pattern("'/.{1000}', '//', '/'"),
			"p:4:71: ingresses[0].paths.deniedPatterns[2]: the regular expressions of the policy have more than 1,003 steps together, " +
				"which is the limit",
		},
		"length": {
			nil, long(4096), long(4097),
			"p:4:37: services[0].message: it has 4,097 bytes, at most 4,096 are read",
		},
		"bytes": {
			func(l *Limits) { l.Bytes = 1 << 20 },
			strings.Repeat("#\n", 1<<19-50) + strings.Repeat("#", 100-len(policyFile("", "").Data)), strings.Repeat("#\n", 1<<19-50) + strings.Repeat("#", 101-len(policyFile("", "").Data)),
			"p:524241:1: the policy has 1,048,577 bytes, at most 1,048,576 (1 MiB) are read",
		},
		"comparisons": {
			func(l *Limits) { l.Comparisons = 14 },
			entry("a", "x.example", "m.example/a", "'*-*'") + entry("b", "x.example", "m.example/b", "a, b"),
			entry("a", "x.example", "m.example/a", "'*-*', '*0*'") + entry("b", "x.example", "m.example/b", "a, b"),
			"p:4:3: mirrors[0]: comparing the mirrors entries takes more than 14 comparisons, which is the limit: let fewer entries " +
				"share sources, mirrors and namespaces with several *",
		},
		"comparisons of mirrors with sources": {
			func(l *Limits) { l.Comparisons = 21 },
			costlyPolicies()["mirrors below their sources, spared"](3), costlyPolicies()["mirrors below their sources, spared"](4),
			"p:5:3: mirrors[1]: comparing the mirrors entries takes more than 21 comparisons, which is the limit: let fewer entries " +
				"share sources, mirrors and namespaces with several *",
		},
		"comparisons of mirrors with mirrors": {
			func(l *Limits) { l.Comparisons = 4 },
			costlyPolicies()["mirrors that collide but for what is spared"](2), costlyPolicies()["mirrors that collide but for what is spared"](3),
			"p:5:3: mirrors[1]: comparing the mirrors entries takes more than 4 comparisons, which is the limit: let fewer entries " +
				"share sources, mirrors and namespaces with several *",
		},
		"comparisons of annotations": {
			nil, annotations(150, 175), annotations(150, 176),
			"p:4:50: services[0].annotations.denied: comparing its patterns with the keys of required takes more than 26,300 comparisons, " +
				"which is the limit for their number: write fewer patterns with *",
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits := fileLimits()
			if test.limits != nil {
				test.limits(&limits)
			}
			if _, err := LoadWithin(t.Context(), limits, policyFile("p", test.at)); err != nil {
				t.Errorf("at the limit: %v", err)
			}
			_, err := LoadWithin(t.Context(), limits, policyFile("p", test.beyond))
			if err == nil || err.Error() != test.want {
				t.Errorf("beyond the limit\ngot  %v\nwant %s", err, test.want)
			}
		})
	}
}

// The limits apply to all files together.
func TestLimitsOfAllFiles(t *testing.T) {
	file := func(name string) File { return policyFile(name, "services:\n"+fmt.Sprintf(aService, len(name))) }
	for name, set := range map[string]func(*Limits, int){
		"20 values":  func(l *Limits, n int) { l.Values = 20 * n },
		"1 entries":  func(l *Limits, n int) { l.Entries = n },
		"1 patterns": func(l *Limits, n int) { l.Patterns = n },
	} {
		for n, want := range map[int]string{1: "the policy has more than " + name, 2: ""} {
			limits := fileLimits()
			set(&limits, n)
			_, err := LoadWithin(t.Context(), limits, file("p"), file("pp"))
			if got := fmt.Sprint(err); (err != nil) != (want != "") || !strings.Contains(got, want) {
				t.Errorf("%s for each of %d files: %v, want %s", name, n, err, want)
			}
		}
	}
}

func TestLimitOnFiles(t *testing.T) {
	var files []File
	for i := range 257 {
		files = append(files, policyFile(fmt.Sprintf("%03d", i), ""))
	}
	if _, err := Load(files[:256]...); err != nil {
		t.Error(err)
	}
	if _, err := Load(files...); err == nil || err.Error() != "256:1:1: the policy has 257 files, at most 256 are read" {
		t.Errorf("got %v", err)
	}
}

// The largest realistic policies of a platform team are within the limits.
func TestLargePoliciesLoad(t *testing.T) {
	var rules strings.Builder
	for i := range 1000 {
		fmt.Fprintf(&rules, "- {name: r%d, mode: enforce, match: {namespaces: [team-%[1]d]}, hosts: {allowed: ['**.example', '**.example.com']}, tls: {required: true}}\n", i)
	}
	for name, text := range map[string]string{
		"10,000 mirrors and 1,000 rules": costlyPolicies()["sources of many entries"](10_000) + "ingresses:\n" + rules.String(),
		"50,000 sources of one entry":    costlyPolicies()["sources of one entry"](50_000),
		"50,000 sources of 50,000":       costlyPolicies()["sources of many entries"](50_000),
		"10,000 tenants, fifty sources": lines(10_000, "- {name: a%[1]d, mode: enforce, sources: ["+list(2, "r%d.example")+
			"], mirror: 'm.example/t%[1]d/{registry}', match: {namespaces: [t%[1]d, t%[1]d-*]}}"),
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := Load(policyFile("p", text)); err != nil {
				t.Errorf("%.1000v", err)
			}
		})
	}
}

// Loading ends when the context is done, at any point.
func TestLoadIsStopped(t *testing.T) {
	cause := errors.New("time is up")
	for name, policy := range costlyPolicies() {
		ctx := &countedContext{Context: t.Context(), cause: cause}
		file := policyFile("p", policy(200))
		_, err := LoadWithin(ctx, fileLimits(), file)
		if errors.Is(err, cause) {
			t.Errorf("%s: %v before it was stopped", name, err)
		}
		polls := ctx.polls
		if polls < 200 && len(file.Data) > 4000 && err == nil {
			t.Errorf("%s: the context was polled %d times", name, polls)
		}
		for _, last := range []int{1, polls / 2, polls - 1} {
			ctx := &countedContext{Context: t.Context(), cause: cause, last: max(last, 1)}
			if p, err := LoadWithin(ctx, fileLimits(), file); p != nil || !errors.Is(err, cause) {
				t.Errorf("%s: stopped at poll %d of %d: %v", name, last, polls, err)
			}
			if more := ctx.polls - ctx.last; more > 20 {
				t.Errorf("%s: it was polled %d times after it was done", name, more)
			}
		}
	}
}

// When no comparisons of keys and patterns remain, a key costs at most one more.
func TestKeyPatterns(t *testing.T) {
	const n = 500
	p := newKeyPatterns(slices.Repeat([]match.Glob{"*x"}, n), n)
	for i := range n {
		if _, found := p.find("a"); found {
			t.Fatalf("key %d", i)
		}
	}
	if p.remaining >= 0 || p.remaining < -2*n {
		t.Errorf("%d comparisons too many", -p.remaining)
	}
}

// A policy that is too large is not parsed.
func TestTooLargeIsNotParsed(t *testing.T) {
	limits := fileLimits()
	limits.Bytes = 60
	_, err := LoadWithin(t.Context(), limits, File{Name: "p", Data: []byte(strings.Repeat("[", 61))})
	if err == nil || err.Error() != "p:1:1: the policy has 61 bytes, at most 60 (0 MiB) are read" {
		t.Errorf("got %v", err)
	}
}

// Compiling rules stops when the context is done.
func TestCompilingRulesIsStopped(t *testing.T) {
	done, cancel := context.WithCancel(t.Context())
	cancel()
	entries := make([]servicesEntry, 2)
	for ctx, want := range map[context.Context]int{t.Context(): 2, done: 0} {
		c := &compilation{Comparisons: rule.NewComparisons(ctx, 1000)}
		rules := rulesOf(entries, c, viewService, func(*servicesEntry) rule.Rule[serviceView] {
			return rule.New[serviceView](rule.RuleHeader{Header: rule.Header{Mode: Warn}}, nil)
		}, nil)
		if got := len(rules.Explain(object.Attributes{}, new(object.Service))); got != want {
			t.Errorf("%d rules, want %d", got, want)
		}
	}
}

// The steps after reading also poll the context, at least once for each element, because they can take long and nothing
// is read any more.
func TestCompilingIsStopped(t *testing.T) {
	const n = 100
	for name, least := range map[string]int{
		"sources of many entries":                             3 * n, // a mirrors entry, its source and its mirror
		"one name for all":                                    n,     // a rule
		"namespaces of two entries":                           2 * n, // a pattern, to find out whether it overlaps
		"globs and names that each covers but for the middle": n * n, // a comparison
	} {
		file := policyFile("p", costlyPolicies()[name](n))
		reading := &countedContext{Context: t.Context()}
		new(document).merge(strict.NewDecoder(reading, strict.Limits{Values: 1 << 20, Entries: 1 << 20, Texts: 1 << 20, Cost: 1 << 20}), file)
		all := &countedContext{Context: t.Context()}
		_, _ = LoadWithin(all, fileLimits(), file) // their mistakes do not matter
		if polls := all.polls - reading.polls; polls < least {
			t.Errorf("%s: the context was polled %d times, want at least %d", name, polls, least)
		}
	}
}

// countedContext is done after it has been polled last times.
type countedContext struct {
	context.Context
	cause       error
	polls, last int
}

func (c *countedContext) Err() error {
	if c.polls++; c.last > 0 && c.polls >= c.last {
		return c.cause
	}
	return nil
}

// An error has at most a hundred mistakes, and each is short, for all contents of the file.
func TestErrorsAreBounded(t *testing.T) {
	var text bytes.Buffer
	for i := range 2000 {
		fmt.Fprintf(&text, "zebra%d%s: []\n", i, strings.Repeat("~", 500))
	}
	_, err := Load(policyFile("p", text.String()))
	got := strings.Split(err.Error(), "\n")
	if len(got) != 101 || got[100] != "and 1900 more: fix these 100 first" {
		t.Errorf("%d lines, the last %.100s", len(got), got[len(got)-1])
	}
	for _, line := range got {
		if len(line) > 400 {
			t.Errorf("%d bytes: %.100s", len(line), line)
		}
	}
}
