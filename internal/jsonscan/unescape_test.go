package jsonscan

import (
	"bytes"
	"runtime"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Texts that are longer than one step of unescaping have the same result as short texts, and no rune is split.
func TestUnescapeLong(t *testing.T) {
	for name, unit := range map[string]string{
		"plain": "abcdefg", "runes": "aé€😀", "not UTF-8": "\x80\xff",
		"no beginning of a rune": "\x80", "escapes": `\u003c\n\\`, "pairs": `\ud83d\ude00`, "halves": `\ud83d`,
		"mixed": `é\ude00\ud83d\u0041` + "\xc3",
	} {
		t.Run(name, func(t *testing.T) {
			content := []byte(strings.Repeat(unit, 3*maxRun/len(unit)))
			want, _ := jsontext.AppendUnquote(nil, []byte(`"`+string(content)+`"`))
			if got := New(nil, testLimits()).unescape(content, testLimits().Text); !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d", len(got), len(want))
			}
		})
	}
}

// A text that is longer than the limit is not unescaped completely.
func TestUnescapeIsBounded(t *testing.T) {
	for _, unit := range []string{"x", "\xff", `\u003c`, `\uffff`} {
		// The escape at the end prevents the content from being taken in one step.
		content := []byte(strings.Repeat(unit, 4*testLimits().Text/len(unit)) + `\n`)
		r := New(nil, testLimits())
		limit := testLimits().Text
		if got := len(r.unescape(content, limit)); got <= limit && len(unit) == 1 || got > limit+3*maxRun {
			t.Errorf("%q: %d bytes", unit, got)
		}
		if room := cap(r.scratch); room > 2*testLimits().Text {
			t.Errorf("%q: room for %d bytes", unit, room)
		}
		was := r.scratch
		if again := r.unescape([]byte(`a\n`), testLimits().Text); len(was) == 0 || &again[0] != &was[0] {
			t.Errorf("%q: the room is not used again", unit)
		}
	}
}

func FuzzUnescape(f *testing.F) {
	for _, s := range []string{"", "abc", `\u00e9\n`, `\ud83d\ude00`, `\ud83d\ud83d\ude00`, "\xff\xc3", `\/\b\f\r\t\"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, content []byte) {
		text := []byte(`"` + string(content) + `"`)
		if end, _ := skipString(text, 0); end != len(text) {
			return // not one string
		}
		want, _ := jsontext.AppendUnquote(nil, text)
		if got := New(nil, testLimits()).unescape(content, testLimits().Text); string(got) != string(want) {
			t.Errorf("%q: got %q, want %q", content, got, want)
		}
	})
}

// A short string with an escape does not increase the cost of long strings.
func TestUnescapeAfterAShortOne(t *testing.T) {
	long := []byte(strings.Repeat("é", testLimits().Text/2))
	cost := func(before string) uint64 {
		r := New(nil, testLimits())
		var from, to runtime.MemStats
		runtime.ReadMemStats(&from)
		r.unescape([]byte(before), testLimits().Text)
		r.unescape(long, testLimits().Text)
		runtime.ReadMemStats(&to)
		return to.TotalAlloc - from.TotalAlloc
	}
	if alone, after := cost(""), cost(`\n`); after > alone+alone/4 {
		t.Errorf("%d bytes are allocated after a short string, %d without one", after, alone)
	}
}
