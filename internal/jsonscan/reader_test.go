package jsonscan

import (
	"fmt"
	"strings"
	"testing"
)

// A field is found at any position in the object, and with any escapes in its name. Other fields are skipped.
func TestFields(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":1,"image":2}`:                      "a=1 image=2",
		`{"image":2,"a":1}`:                      "image=2 a=1",
		`{ "a" : 1 , "im\u0061ge" : 2 }`:         "a=1 image=2",
		`{"b":{"a":5},"a":1,"":0,"c":["a"]}`:     "a=1",
		`{"A":0,"a":` + "\n" + `1,"imag":0}`:     "a=1",
		`{"b":1,"b":2,"a":3}`:                    "a=3",
		`{}`:                                     "",
		`null`:                                   "",
		`{"a":1,"a":2}`:                          "a: duplicate key",
		`{"a":1,"\u0061":2}`:                     "a: duplicate key",
		`{"\u0061":1,"x":"\u0062","\u0061":2}`:   "a: duplicate key",
		`{"x":{"a":1}}`:                          "x: want a string, got an object",
		`{"a":"1"}`:                              "a: want a number, got a string",
		`{"a":1}}`:                               "something follows the end of the JSON at byte 7",
		`[]`:                                     "want an object, got a list",
		`{"a":1,}`:                               "jsontext: ",
		strings.Repeat("[", MaxDepth+1):          "nested too deep",
		`{"b":` + strings.Repeat("[", MaxDepth):  "nested too deep",
		`{"a":21474836470000000000000000000000}`: "a: want a whole number of 32 bits, got 21474836470000000000",
	} {
		t.Run(text[:min(len(text), 40)], func(t *testing.T) {
			if got := fieldsOf(text); got != want && (want != "jsontext: " || !strings.HasPrefix(got, want)) {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

// fieldsOf returns the fields a, image and x of an object, which are numbers, or the error.
func fieldsOf(text string) string {
	r := New([]byte(text), testLimits())
	var found []string
	for name := range r.Fields {
		switch string(name) {
		case "a", "image":
			found = append(found, fmt.Sprintf("%s=%d", name, r.Int32()))
		case "x":
			_ = r.String()
		}
	}
	if err := r.End(); err != nil {
		return err.Error()
	}
	return strings.Join(found, " ")
}

// A text that ends within an object is not JSON, even after the field that contains the object has been read. The names
// of the object are still known then: none of them is duplicated, and none starts at the end of the text.
func TestTextBreaksOff(t *testing.T) {
	for _, text := range []string{
		`{"a":{"a":1,`, `{"a":{"a":{"a":1,`, `{"a":{"b":1,"a":2, `, `{"a":[{"a":1,`, `{"a":{"a":1,"`, `{"a":{"a":1`,
		`{"a":{"a":1}`,
	} {
		r := New([]byte(text), testLimits())
		readNested(r)
		if err := r.End(); err == nil || strings.Contains(err.Error(), "twice") {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// readNested reads all objects and lists of a value.
func readNested(r *Reader) {
	switch {
	case r.IsObject():
		for range r.Fields {
			readNested(r)
		}
	case r.IsList():
		for range r.Items {
			readNested(r)
		}
	default:
		r.skip()
	}
}

// A name is a duplicate only within the same object.
func TestSameNameWithin(t *testing.T) {
	for text, want := range map[string]bool{
		`{"b":1,"a":{"b":1}}`: true, `{"a":{"b":1},"b":1}`: true, `{"a":[{"b":1},{"b":1}]}`: true,
		`{"b":1,"a":{"c":1},"b":1}`: false, `{"a":{"b":1,"b":1}}`: false,
	} {
		r := New([]byte(text), testLimits())
		readNested(r)
		if err := r.End(); (err == nil) != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// The amount of text that is kept is limited.
func TestTextLimit(t *testing.T) {
	for limit, want := range map[int]bool{3: true, 2: false} {
		r := New([]byte(`["ab","c"]`), Limits{Elements: 2, Text: limit})
		_ = r.Strings()
		if err := r.End(); (err == nil) != want {
			t.Errorf("%d bytes: %v", limit, err)
		}
	}
}

// An error contains the path of the value, also if names in the path are escaped, long or not printable.
func TestPath(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":{"b":[{},{"c":true}]}}`:                            "a.b[1].c: want a string, got true or false",
		`{"a":{"b":[[],{"\u0063":true}]}}`:                       "a.b[1].c: want a string, got true or false",
		`{"\u0061":{"x.io/\u0062":[{"y":"\u0063"},{"c":true}]}}`: "a[x.io/b][1].c: want a string, got true or false",
		`{"` + strings.Repeat("k", 100) + `":{"c":1}}`: strings.Repeat("k", 57) +
			"….c: want a string, got a number",
		`{"a\u0000b":{"c":1}}`: "a b.c: want a string, got a number",
	} {
		r := New([]byte(text), testLimits())
		var walk func()
		walk = func() {
			if c, _ := peek(r.data, r.pos); c == '[' {
				for range r.Items {
					walk()
				}
				return
			}
			for name := range r.Fields {
				switch string(name) {
				case "c", "y":
					_ = r.String()
				default:
					walk()
				}
			}
		}
		walk()
		if err := r.Err(); err == nil || err.Error() != want {
			t.Errorf("%s: got %v, want %s", text, err, want)
		}
	}
}

// The limit on kept text applies to each part separately.
func TestApart(t *testing.T) {
	r := New([]byte(`{"a":["1","2"],"b":["3","4"],"c":["5"]}`), Limits{Elements: 2, Text: 100})
	for name := range r.Fields {
		if string(name) == "c" {
			_ = r.Strings()
			continue
		}
		r.Apart(func() { _ = r.Strings() })
	}
	if err := r.End(); err != nil {
		t.Error(err)
	}
	r = New([]byte(`["1","2","3"]`), Limits{Elements: 2, Text: 100})
	_ = r.Strings()
	want := "[2]: too large: at most 2 list elements and map entries of an object are evaluated"
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A name that is longer than every relevant name is not unescaped, and does not count as text.
func TestLongNames(t *testing.T) {
	long := strings.Repeat(`\u003c`, 1<<20)
	r := New([]byte(`{"`+long+`":1,"a":{"`+long+`":1,"b":5}}`), testLimits())
	for name := range r.Fields {
		if string(name) == "a" {
			for name := range r.Fields {
				if string(name) != "b" {
					_ = r.Bool()
				}
			}
		}
	}
	if room := cap(r.scratch); room > 2*replacement*maxRun {
		t.Errorf("room for %d bytes", room)
	}
	want := "a." + strings.Repeat("<", 57) + "…: want true or false, got a number"
	if err := r.Err(); err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

// The entries of a map count. Their names are found with any escapes, and must be unique.
func TestEntries(t *testing.T) {
	for text, want := range map[string]string{
		`{}`:                             "",
		`null`:                           "",
		`{"a":1,"\u0062":[],"":{"a":1}}`: "a b  ",
		`{"a":"x","b":[],"\u0061":1}`:    "a: duplicate key",
		`{"a":1,"b":1,"c":1,"d":1}`: "d: too large: at most 3 list elements and map entries of an object " +
			"are evaluated",
		`[]`:       "want an object, got a list",
		`{"a":1,}`: "jsontext: ",
	} {
		r := New([]byte(text), Limits{Elements: 3, Text: 100})
		var found strings.Builder
		for name := range r.Entries {
			found.WriteString(string(name) + " ")
			if r.IsString() {
				_ = r.String()
			}
		}
		got := strings.TrimSuffix(found.String(), " ")
		if err := r.End(); err != nil {
			got = err.Error()
		}
		if strings.TrimSuffix(want, " ") != got && (want != "jsontext: " || !strings.HasPrefix(got, want)) {
			t.Errorf("%s: got %q, want %q", text, got, want)
		}
	}
}

// The first byte determines the type of the next value.
func TestKinds(t *testing.T) {
	for text, want := range map[string][3]bool{
		` {"a":1}`: {true, false, false}, `[1]`: {false, true, false}, `"{"`: {false, false, true}, `1`: {}, ``: {},
	} {
		r := New([]byte(text), testLimits())
		if got := [3]bool{r.IsObject(), r.IsList(), r.IsString()}; got != want {
			t.Errorf("%q: %v, want %v", text, got, want)
		}
	}
}

func TestRejectCollection(t *testing.T) {
	for text, want := range map[string]string{
		`{"a":"x"}`: "a: want an object or a list, got a string", `{"a":-1}`: "a: want an object or a list, got a number",
		`{"a":x}`: "jsontext: invalid character 'x' at start of value within \"/a\" after offset 5",
	} {
		r := New([]byte(text), testLimits())
		for range r.Fields {
			r.RejectCollection()
		}
		if err := r.End(); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

// RawOf returns what read reads, without the space around it.
func TestRawOf(t *testing.T) {
	for text, want := range map[string]string{
		`{"a": {"b": "c", "d": [1]} }`: `{"b": "c", "d": [1]}`,
		`{"a": null}`:                  `null`,
		`{"a": 5}`:                     ``,
		`{"a": {"b": 5}}`:              ``,
	} {
		r, got := New([]byte(text), testLimits()), ""
		for name := range r.Fields {
			if string(name) == "a" {
				got = string(r.RawOf(func() {
					for name := range r.Fields {
						if string(name) == "b" {
							_ = r.String()
						}
					}
				}))
			}
		}
		if got != want || (r.End() == nil) != (want != "") {
			t.Errorf("%s: got %q, %v, want %q", text, got, r.End(), want)
		}
	}
}
