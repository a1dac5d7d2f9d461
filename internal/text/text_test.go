package text

import (
	"runtime"
	"strings"
	"testing"
)

func TestQuote(t *testing.T) {
	long := strings.Repeat("x", Short)
	for s, want := range map[string]string{
		"":                              `""`,
		"a\"b\n":                        `"a\"b\n"`,
		long:                            `"` + long + `"`,
		long + "y":                      `"` + long + `"…`,
		long[1:] + "äy":                 `"` + long[1:] + `"…`,
		strings.Repeat("\x80", Short+1): `"` + strings.Repeat(`\x80`, Short) + `"…`,
	} {
		if got := Quote(s); got != want {
			t.Errorf("Quote(%q) = %s, want %s", s, got, want)
		}
		if got := Quote([]byte(s)); got != want {
			t.Errorf("Quote([]byte)(%q) = %s, want %s", s, got, want)
		}
	}
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		s    string
		max  int
		want string
	}{
		{"abc", 3, "abc"},
		{"abcd", 3, "…"},
		{"abcd", 0, "…"},
		{"abcde", 4, "a…"},
		{"aäbcde", 5, "a…"},
		{"aäbcde", 6, "aä…"},
		{"日本語", 4, "…"},
		{"日本語", 5, "…"},
		{"日本語", 6, "日…"},
		{"\x80\x80\x80\x80\x80", 4, "\x80…"},
	} {
		if got := Truncate(c.s, c.max); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.s, c.max, got, c.want)
		}
	}
}

func TestTruncateRunes(t *testing.T) {
	for s, want := range map[string]string{"": "", "äöü": "äöü", "äöüß": "äö…", "abcd": "ab…"} {
		if got := TruncateRunes(s, 3); got != want {
			t.Errorf("TruncateRunes(%q, 3) = %q, want %q", s, got, want)
		}
	}
}

func TestPrintable(t *testing.T) {
	if got, want := Printable("a\nb\x7fc\x80dä\u0085e", 100), "a b c\ufffddä e"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Printable(strings.Repeat("\n", 10), 6), "   …"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, n := range []int{5, 9, 10} {
		if got, want := Printable(strings.Repeat("\x80", n), 9), "\ufffd\ufffd…"; got != want {
			t.Errorf("of %d bytes: got %q, want %q", n, got, want)
		}
	}
}

func TestList(t *testing.T) {
	for n, want := range map[int]string{0: "", 1: "a", 5: "a, b, c, d, e", 7: "a, b, c, d, e and 2 more"} {
		if got := List(strings.Split("a b c d e f g", " ")[:n]); got != want {
			t.Errorf("%d: got %q, want %q", n, got, want)
		}
	}
}

// The length of the result and the memory for it are limited, however long the value is.
func TestCostIsBounded(t *testing.T) {
	long := strings.Repeat("\x7f", 4<<20)
	bytes := []byte(long)
	for name, f := range map[string]func() string{
		"Quote":         func() string { return Quote(long) },
		"Quote, bytes":  func() string { return Quote(bytes) },
		"Truncate":      func() string { return Truncate(long, 100) },
		"TruncateRunes": func() string { return TruncateRunes(long, 100) },
		"Printable":     func() string { return Printable(long, 100) },
	} {
		if got := len(f()); got > 4*Short+100 {
			t.Errorf("%s: %d bytes", name, got)
		}
		const runs = 100
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range runs {
			f()
		}
		runtime.ReadMemStats(&after)
		if bytes := (after.TotalAlloc - before.TotalAlloc) / runs; bytes > 4096 {
			t.Errorf("%s allocates %d bytes", name, bytes)
		}
	}
}

// A file name is shown unchanged, unless it could end a line, control a terminal or start a command.
func TestPath(t *testing.T) {
	for name, want := range map[string]string{
		"deploy/web app-ü.yaml":   "deploy/web app-ü.yaml",
		"a\n::error::b":           `"a\n::error::b"`,
		"::error::b":              `"::error::b"`,
		"a##vso[x]b":              `"a#\x23vso[x]b"`,
		"a\x1b[2Jb":               `"a\x1b[2Jb"`,
		"a\u009bb":                `"a\u009bb"`,
		"a\u202eb":                `"a\u202eb"`,
		"a\xffb":                  `"a\xffb"`,
		strings.Repeat("a", 4097): `"` + strings.Repeat("a", 4096) + `"…`,
	} {
		if got := Path(name); got != want {
			t.Errorf("Path(%q) = %.80s, want %.80s", name, got, want)
		}
	}
}

func TestEscape(t *testing.T) {
	for s, want := range map[string]string{
		"two\nlines, ü":     "two\nlines, ü",
		"a\r\t\x1bb\u009bc": `a\r\t\x1bb\u009bc`,
		"a\xffb\ufffdc":     "a\\xffb\ufffdc",
		"a###[error]b":      `a#\x23#[error]b`,
	} {
		if got := Escape(s); got != want {
			t.Errorf("Escape(%q) = %q, want %q", s, got, want)
		}
	}
	if got, want := Quote("a##[error]b"), `"a#\x23[error]b"`; got != want {
		t.Errorf("Quote: %s, want %s", got, want)
	}
	if got, want := Printable("a\u009b##[error]\u202eb", 100), "a # #[error] b"; got != want {
		t.Errorf("Printable: %q, want %q", got, want)
	}
}
