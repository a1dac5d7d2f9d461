package policy

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
)

const aService = "- {name: s%[1]d, mode: enforce, types: {allowed: [ClusterIP]}}\n"

// A policy at a limit loads, and one beyond it is refused by a sentence that names the limit.
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
			entry("a", "x.example", "m.example/a", "'*-*', '*_*'") + entry("b", "x.example", "m.example/b", "a, b"),
			"p:4:3: mirrors[0]: to tell the entries of mirrors apart takes more than 14 comparisons, which is the limit: let fewer of them " +
				"share sources, mirrors and namespaces with several *",
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits := FileLimits()
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

// What a platform team may write is far from the limits.
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

// A context that is done ends the work, wherever it is.
func TestLoadIsStopped(t *testing.T) {
	cause := errors.New("time is up")
	for name, policy := range costlyPolicies() {
		ctx := &countedContext{Context: t.Context(), cause: cause}
		file := policyFile("p", policy(200))
		_, err := LoadWithin(ctx, FileLimits(), file)
		if errors.Is(err, cause) {
			t.Errorf("%s: %v before it was stopped", name, err)
		}
		asked := ctx.asked
		if asked < 200 && len(file.Data) > 4000 && err == nil {
			t.Errorf("%s: the context was asked %d times", name, asked)
		}
		for _, last := range []int{1, asked / 2, asked - 1} {
			ctx := &countedContext{Context: t.Context(), cause: cause, last: max(last, 1)}
			if p, err := LoadWithin(ctx, FileLimits(), file); p != nil || !errors.Is(err, cause) {
				t.Errorf("%s: stopped when asked for the %d. time of %d: %v", name, last, asked, err)
			}
			if more := ctx.asked - ctx.last; more > 20 {
				t.Errorf("%s: it was asked %d times after it was done", name, more)
			}
		}
	}
}

// countedContext is done when it has been asked often enough.
type countedContext struct {
	context.Context
	cause       error
	asked, last int
}

func (c *countedContext) Err() error {
	if c.asked++; c.last > 0 && c.asked >= c.last {
		return c.cause
	}
	return nil
}

// There are never more than a hundred errors, and each is short, whatever the file holds.
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
