package review

import (
	"bytes"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"
)

// Texts that are longer than what is taken at once are unescaped as short ones are, and no rune is split.
func TestUnescapeLong(t *testing.T) {
	for name, unit := range map[string]string{
		"plain": "abcdefg", "runes": "aé€😀", "not UTF-8": "\x80\xff", "no beginning of a rune": "\x80", "escapes": `\u003c\n\\`, "pairs": `\ud83d\ude00`, "halves": `\ud83d`,
		"mixed": `é\ude00\ud83d\u0041` + "\xc3",
	} {
		t.Run(name, func(t *testing.T) {
			content := []byte(strings.Repeat(unit, 3*maxRun/len(unit)))
			want, _ := jsontext.AppendUnquote(nil, []byte(`"`+string(content)+`"`))
			if got := newReader(nil).unescape(content); !bytes.Equal(got, want) {
				t.Errorf("%d bytes, want %d", len(got), len(want))
			}
		})
	}
}

// What is longer than may be kept is not unescaped to its end.
func TestUnescapeIsBounded(t *testing.T) {
	for _, unit := range []string{"x", "\xff", `\u003c`, `\uffff`} {
		content := []byte(strings.Repeat(unit, 4*maxText/len(unit)) + `\n`) // what ends with an escape is not taken at once
		r := newReader(nil)
		if got := len(r.unescape(content)); got <= maxText && len(unit) == 1 || got > maxText+3*maxRun {
			t.Errorf("%q: %d bytes", unit, got)
		}
		if room := cap(r.scratch); room > 2*maxText {
			t.Errorf("%q: room for %d bytes", unit, room)
		}
		was := r.scratch
		if again := r.unescape([]byte(`a\n`)); len(was) == 0 || &again[0] != &was[0] {
			t.Errorf("%q: the room is not used again", unit)
		}
	}
}

// What stands for U+FFFD takes three times the room, but no more of it than may be kept.
func TestKeptTextIsBounded(t *testing.T) {
	object := `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", maxText-1) + `"}}}` // and its key
	if _, err := ParsePod([]byte(object)); err != nil {
		t.Errorf("at the limit: %v", err)
	}
	object = `{"metadata":{"annotations":{"a":"` + strings.Repeat("\xff", maxText/3+1) + `"}}}`
	_, err := ParsePod([]byte(object))
	if want := "metadata.annotations.a: " + tooMuchText; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// What is kept is counted for each object, and for what is around them.
func TestEachObjectHasItsLimit(t *testing.T) {
	annotations := `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", maxText-1000) + `"}}}`
	body := strings.Replace(creation("pods", annotations), `"object"`, `"userInfo":{"groups":["g"]},"oldObject":`+annotations+`,"object"`, 1)
	if _, err := DecodePod([]byte(body)); err != nil {
		t.Error(err)
	}
	// Two thirds of what may be kept are in the object, and as much is before or after it.
	text := strings.Repeat("x", 2*maxText/3)
	object, users := `"object":{"metadata":{"annotations":{"a":"`+text+`"}}}`, `"userInfo":{"groups":["`+text+`"]}`
	for _, members := range []string{object + "," + users, users + "," + object} {
		body := strings.Replace(creation("pods", "{}"), `"object":{}`, members, 1)
		if _, err := DecodePod([]byte(body)); err != nil {
			t.Errorf("%.10s first: %v", members, err)
		}
	}
	groups := strings.Repeat(`"g",`, maxElements) + `"g"`
	body = strings.Replace(creation("pods", `{}`), `"object"`, `"userInfo":{"groups":[`+groups+`]},"object"`, 1)
	_, err := DecodePod([]byte(body))
	wantContentError(t, err, "u-1", "userInfo.groups[10000]: "+tooManyElements)
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
		if got := newReader(nil).unescape(content); string(got) != string(want) {
			t.Errorf("%q: got %q, want %q", content, got, want)
		}
	})
}
