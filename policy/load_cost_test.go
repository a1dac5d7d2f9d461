package policy

import (
	"fmt"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"time"
)

// costlyPolicy returns the text of a policy file after its header, with n elements.
type costlyPolicy func(n int) string

// costlyPolicies are policies whose cost could grow faster than their text, or that cost much for each byte.
func costlyPolicies() map[string]costlyPolicy {
	return map[string]costlyPolicy{
		"sources of one entry": func(n int) string { return entry("a", list(n, "r%d.example"), "m.example/{registry}") },
		"sources of many entries": func(n int) string {
			return lines(n, "- {name: a%[1]d, mode: enforce, sources: [r%[1]d.example], mirror: m.example/r%[1]d}")
		},
		"wrong sources": func(n int) string {
			return "mirrors:\n- {name: a, mode: enforce, mirror: m.example, sources: [" + repeat("a", n) + "]}\n"
		},
		"namespaces of two entries": func(n int) string {
			return entry("a", "x.example", "m.example/a", list(n, "team-%d")) + entry("b", "x.example", "m.example/b", list(n, "other-%d"))
		},
		"globs with one head": func(n int) string {
			return entry("a", "x.example", "m.example/a", list(n, "'a*%[1]dx'")) + entry("b", "x.example", "m.example/b", list(n, "'a*%[1]dy'"))
		},
		"globs with one tail": func(n int) string {
			return entry("a", "x.example", "m.example/a", list(n, "'x%d*a'")) + entry("b", "x.example", "m.example/b", list(n, "'y%d*a'"))
		},
		"globs that nest": func(n int) string {
			var a []string
			for i := range n {
				a = append(a, fmt.Sprintf("'%s*%s%d-x'", strings.Repeat("h", i%30), strings.Repeat("t", i%29), i))
			}
			x := strings.Join(a, ", ")
			return entry("a", "x.example", "m.example/a", x) + entry("b", "x.example", "m.example/b", strings.ReplaceAll(x, "-x", "-y"))
		},
		"globs and names with their tails": func(n int) string {
			return entry("a", "x.example", "m.example/a", list(n, "'*-%d'")) + entry("b", "x.example", "m.example/b", list(n, "b%dx"))
		},
		"globs and names that each covers but for the middle": func(n int) string {
			return entry("a", "x.example", "m.example/a", list(n, "'*-%d-*'")) + entry("b", "x.example", "m.example/b", list(n, "b%dx"))
		},
		"globs that overlap": func(n int) string {
			return entry("a", "x.example", "m.example/a", list(n, "'a*%d'")) + entry("b", "x.example", "m.example/b", list(n, "'a*%d'"))
		},
		"namespaces by sources": func(n int) string {
			return entry("a", list(n, "r%d.example"), "m.example/{registry}", list(n, "team-%d"))
		},
		"namespaces by sources, each with another entry": func(n int) string {
			return entry("all", list(n, "r%d.example"), "m.example/{registry}", list(n, "team-%d")) +
				lines(n, "- {name: b%[1]d, mode: enforce, sources: [r%[1]d.example], mirror: n.example/r%[1]d, match: {namespaces: [other]}}")[len("mirrors:\n"):]
		},
		"mirrors below their sources, spared": func(n int) string {
			return lines(n, "- {name: a%[1]d, mode: enforce, sources: [x.example], mirror: x.example/m/a%[1]d, match: {namespaces: [t%[1]d]}, "+
				"exclude: {images: [x.example/m]}}")
		},
		"loops": func(n int) string {
			return lines(n, "- {name: a%[1]d, mode: enforce, sources: [x.example], mirror: x.example/m/a%[1]d, match: {namespaces: [t%[1]d]}}")
		},
		"mirrors that collide": func(n int) string {
			return entry("a", list(n, "r%d.example"), "m.example") + entry("b", list(n, "s%d.example"), "m.example")
		},
		"mirrors that collide but for what is spared": func(n int) string {
			return strings.Replace(entry("a", list(n, "r%d.example"), "m.example"), "}\n", ", exclude: {images: ["+list(n, "r%d.example")+"]}}\n", 1) +
				entry("b", list(n, "s%d.example"), "m.example")
		},
		"one name for all": func(n int) string {
			return "services:\n" + strings.Repeat("- {name: a, mode: enforce, types: {allowed: []}}\n", n)
		},
		"regular expressions": func(n int) string {
			return "ingresses:\n- {name: a, mode: enforce, paths: {deniedPatterns: [" + list(n, "'/%d[a-z0-9]{1,63}'") + "]}}\n"
		},
		"regular expressions of a thousand steps": func(n int) string {
			return "ingresses:\n- {name: a, mode: enforce, paths: {deniedPatterns: [" + repeat("'/.{1000}'", n) + "]}}\n"
		},
		"regular expressions of many classes": func(n int) string {
			return "ingresses:\n- {name: a, mode: enforce, paths: {deniedPatterns: [" + repeat(`'/\pL\pL\pL\pL'`, n) + "]}}\n"
		},
		"denied annotations, and required ones": func(n int) string {
			return "services:\n- {name: a, mode: enforce, annotations: {denied: [" + list(n, "'*-%d-*'") + "], required: [" +
				list(n, "{key: a/b%d}") + "]}}\n"
		},
		"ranges": func(n int) string {
			return "services:\n- {name: a, mode: enforce, externalIPs: {allowed: [" + list(n, "'2001:db8::%x'") + "]}}\n"
		},
		"hosts": func(n int) string {
			return "ingresses:\n- {name: a, mode: enforce, hosts: {allowed: [" + list(n, "h%d.example") + "]}}\n"
		},
		"hosts of namespaces": func(n int) string {
			return "ingresses:\n- {name: a, mode: enforce, hosts: {allowed: [" + list(n, "'*.{namespace}.h%d.example'") + "]}}\n"
		},
		"hosts of namespaces that could overlap": func(n int) string {
			return "ingresses:\n- {name: a, mode: enforce, hosts: {allowed: [" + list(n, "'b%d.y.{namespace}.x'") + ", " +
				list(n, "'{namespace}.z.a%d.x'") + "]}}\n"
		},
		"denied hosts": func(n int) string {
			return "ingresses:\n- {name: a, mode: enforce, hosts: {denied: ['**'], allowed: [" + list(n, "h%d.example") + "]}}\n"
		},
		"entries of no kind":   func(n int) string { return "services: [" + repeat("a", n) + "]\n" },
		"unknown fields":       func(n int) string { return lines(n, "x%d: 1")[len("mirrors:\n"):] },
		"a long unknown field": func(n int) string { return "? " + strings.Repeat("x", 10*n) + "\n: a\n" },
		"a long name": func(n int) string {
			return "services:\n- {name: " + strings.Repeat("x", 10*n) + ", mode: " + strings.Repeat("y", 10*n) + "}\n"
		},
		"documents":            func(n int) string { return strings.Repeat("---\n", n) },
		"documents of a word":  func(n int) string { return strings.Repeat("--- a\n", n) },
		"nulls":                func(n int) string { return "services: {" + repeat("a", n) + "}\n" },
		"aliases":              func(n int) string { return "services:\n- &a b\n" + strings.Repeat("- *a\n", n) },
		"an unknown anchor":    func(n int) string { return "services:\n" + strings.Repeat("- a\n", n) + "- *b\n" },
		"a mistake at the end": func(n int) string { return "services:\n" + strings.Repeat("- a\n", n) + "- {a: b} c\n" },
		"a mistake at the end of a list": func(n int) string {
			return "services: [" + repeat("a", n) + strings.Repeat(" a", 100) + ": b: c]\n"
		},
		"a control character": func(n int) string { return "services:\n" + strings.Repeat("- a\n", n) + "\x01\n" },
		"a bomb": func(n int) string {
			b := "services:\n- &a0 [a]\n"
			for i := range 30 {
				b += fmt.Sprintf("- &a%d [%s]\n", i+1, repeat(fmt.Sprintf("*a%d", i), max(1, n/100)))
			}
			return b
		},
		"lists in lists":  func(n int) string { return "services: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n" },
		"lists not ended": func(n int) string { return "services: " + strings.Repeat("[", n) },
		"steps":           func(n int) string { return "services:\n" + strings.Repeat("- ", n) + "a\n" },
		"comments":        func(n int) string { return strings.Repeat("#\n", n) },
		"directives": func(n int) string {
			return "...\n" + lines(n, "%%TAG !a%d! b")[len("mirrors:\n"):] + "---\na: b\n"
		},
	}
}

func entry(name, sources, mirror string, namespaces ...string) string {
	s := "- {name: " + name + ", mode: enforce, sources: [" + sources + "], mirror: '" + mirror + "'"
	for _, list := range namespaces {
		s += ", match: {namespaces: [" + list + "]}"
	}
	if name == "b" {
		return s + "}\n"
	}
	return "mirrors:\n" + s + "}\n"
}

// list returns elements formatted with their indexes.
func list(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format+", ", i)
	}
	return strings.TrimSuffix(b.String(), ", ")
}

func repeat(s string, n int) string { return strings.TrimSuffix(strings.Repeat(s+", ", n), ", ") }

// lines returns mirrors entries formatted with their indexes.
func lines(n int, format string) string {
	var b strings.Builder
	b.WriteString("mirrors:\n")
	for i := range n {
		fmt.Fprintf(&b, format+"\n", i)
	}
	return b.String()
}

// Loading any policy takes memory in proportion to its text. BenchmarkLoad measures the time.
func TestLoadCost(t *testing.T) {
	const (
		most      = 100 << 10 // bytes of text
		exhausted = 110 << 20 // what all the comparisons, or the steps of regular expressions, can take that there may be
		small     = 8 << 20   // what does not grow, or grows in steps
		each      = 400       // for a byte of text: of {a,a,…} each two bytes are two values of 160 bytes, which garbage doubles
	)
	for name, policy := range costlyPolicies() {
		t.Run(name, func(t *testing.T) {
			n := 250
			for len(policy(2*n)) <= most {
				n *= 2
			}
			half, _ := loadCost(t, policy(n/2))
			whole, err := loadCost(t, policy(n))
			// The cost of this policy grows with the square of its length until the comparisons are exhausted.
			square := name == "namespaces by sources, each with another entry"
			if !square && whole > small && float64(whole) > 2.3*float64(half) {
				t.Errorf("%d elements take %d bytes, half of them %d", n, whole, half)
			}
			if err != nil && strings.Contains(err.Error(), "comparisons, which is the limit") || square || strings.HasPrefix(name, "regular") {
				whole -= min(whole, exhausted)
			}
			if mem := uint64(small + each*len(policy(n))); whole > mem {
				t.Errorf("%d elements take %d bytes, want at most %d", n, whole, mem)
			}
			if err == nil {
				return
			}
			if length, lines := len(err.Error()), strings.Count(err.Error(), "\n"); length > 200<<10 || lines > 100 {
				t.Errorf("the errors have %d bytes in %d lines", length, lines)
			}
		})
	}
}

// loadCost returns the number of bytes that loading a policy allocates.
func loadCost(t *testing.T, text string) (bytes uint64, err error) {
	t.Helper()
	file := policyFile("p", text)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	_, err = LoadWithin(t.Context(), ReviewLimits(), file)
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc, err
}

// BenchmarkLoad measures the time to load a policy. Twice the elements take at most 2.3 times as much processor time,
// which depends less on other processes than elapsed time.
func BenchmarkLoad(b *testing.B) {
	for name, policy := range costlyPolicies() {
		for _, n := range []int{4_000, 8_000, 16_000} {
			b.Run(fmt.Sprintf("%s/n=%d", strings.ReplaceAll(name, " ", "_"), n), func(b *testing.B) {
				file := policyFile("p", policy(n))
				b.SetBytes(int64(len(file.Data)))
				b.ReportAllocs()
				before := processorTime(b)
				for b.Loop() {
					_, _ = LoadWithin(b.Context(), fileLimits(), file)
				}
				b.ReportMetric(float64((processorTime(b)-before).Nanoseconds())/float64(b.N), "cpu-ns/op")
			})
		}
	}
}

// processorTime returns the processor time of this process.
func processorTime(b *testing.B) time.Duration {
	b.Helper()
	var used syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &used); err != nil {
		b.Fatal(err)
	}
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
