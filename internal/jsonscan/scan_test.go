package jsonscan

import (
	"errors"
	"io"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/review/reviewtest"
)

// testLimits are the limits of a review.
func testLimits() Limits { return Limits{Elements: 10_000, Text: 3 << 20} }

// FuzzScan compares the scanner with jsontext: the same texts are JSON, and the same strings do not need unquoting.
func FuzzScan(f *testing.F) {
	for _, b := range reviewtest.Bodies() {
		if len(b.Data) < 8<<10 { // larger ones tell the fuzzer nothing more
			f.Add(b.Data)
		}
	}
	for _, text := range scanTexts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		end := skip(text, 0, MaxDepth)
		ok := end >= 0 && Space(text, end) == len(text)
		if want := isJSON(text); ok != want {
			t.Fatalf("%q: the scanner says %t, jsontext says %t", text, ok, want)
		}
		if !ok || text[Space(text, 0)] != '"' {
			return
		}
		start := Space(text, 0)
		raw := text[start:end]
		want, _ := jsontext.AppendUnquote(nil, raw) // its error is about bytes that are not UTF-8
		if got := New(nil, testLimits()).unescape(raw[1:len(raw)-1], testLimits().Text); string(got) != string(want) {
			t.Errorf("%q: unescaped to %q, want %q", raw, got, want)
		}
		if _, plain := skipString(text, start); plain && string(want) != string(raw[1:len(raw)-1]) {
			t.Errorf("%q is not plain", raw)
		}
	})
}

// isJSON returns the result of jsontext, token by token.
func isJSON(text []byte) bool {
	dec := newDecoder(text)
	for {
		if _, err := dec.ReadToken(); err != nil {
			return errors.Is(err, io.EOF) && dec.InputOffset() > 0 && complete(dec)
		}
		if complete(dec) {
			_, err := dec.ReadToken()
			return errors.Is(err, io.EOF) // nothing follows
		}
	}
}

func complete(dec *jsontext.Decoder) bool { return dec.StackDepth() == 0 }

func scanTexts() []string {
	texts := []string{
		``, ` `, `0`, `-0`, `00`, `-`, `1.`, `1.5e+3`, `1e`, `.5`, `1E5x`, `-1.25E-7`,
		`true`, `tru`, `truex`, `false`, `null`, `nul`, `trux`, `falsx`, `[nulx]`,
		`""`, `"`, `"a`, `"\`, `"\u12`, `"\u12g4"`, `"\ud800"`, `"\x"`, "\"\x1f\"", "\"\x7f\"", "\"\xff\xfe\"",
		`"é"`, "\"1234567\t\"", `"12345678\n"`,
		`{}`, `{ }`, `[]`, `[ ]`, `[1,]`, `[,1]`, `[1 2]`, `{"a"}`, `{"a":}`, `{"a":1,}`, `{,}`,
		`{"a":1 "b":2}`, `{a:1}`, `{"a",1}`, `{"a"1}`, `{"a"}1}`, `{"a";1}`, `{"a" : 1 , "b":[ ] }`,
		`[}`, `{]`, `[1}`, `{"a":1]`, `[[[`, `]`, `}`, `[]]`, `1 2`, "\ufeff1", "\v1",
		`[true,false,null,{"a":[{}]}]`, `"\\"`, `"\\\""`, `{"a\"":1}`,
		`{"x":"` + strings.Repeat("0123456789", 5) + `\"é"}`,
	}
	for _, depth := range []int{63, 64, 65, 128, 129, MaxDepth, MaxDepth + 1} {
		texts = append(texts,
			strings.Repeat("[", depth)+strings.Repeat("]", depth),
			strings.Repeat("[", depth)+strings.Repeat("]", depth-1)+"}",
			strings.Repeat(`{"a":`, depth)+`1`+strings.Repeat("}", depth),
			strings.Repeat(`{"a":[0,`, depth/2)+`1`+strings.Repeat(`],"b":2}`, depth/2),
		)
	}
	return texts
}

// The end of a string is found for every position of its start. The scanner reads eight bytes at a time.
func TestScanStrings(t *testing.T) {
	for _, content := range []string{"", "a", `\"`, `\\`, `é`, "\x7f", `\u0041`, "a\x80"} {
		for before := range 20 {
			for after := range 20 {
				text := strings.Repeat("x", before) + content + strings.Repeat("y", after)
				data := []byte(`"` + text + `"` + strings.Repeat(`"`, 8+after))
				end, plain := skipString(data, 0)
				if want := len(text) + 2; end != want {
					t.Fatalf("%q ends at %d, not %d", data, want, end)
				}
				if want := strings.Trim(content, "a\x7f") == ""; plain != want {
					t.Fatalf("%q: plain is %t", data, plain)
				}
			}
		}
	}
}

// A value that is nested too deeply at its position is not valid.
func TestScanDepth(t *testing.T) {
	text := []byte(strings.Repeat("[", 9) + `{"a":1}` + strings.Repeat("]", 9))
	for room := range 20 {
		if end, want := skip(text, 0, room), room >= 10; end >= 0 != want {
			t.Errorf("%d levels in a place for %d: ends at %d", 10, room, end)
		}
	}
}
