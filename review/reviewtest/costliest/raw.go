package costliest

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// hole is a placeholder for a long content. Body inserts the content last, and so copies it only once.
const hole raw = `"\u0001"`

// raw is JSON. Its fields keep their order.
type raw string

// with returns the object with a value at a path such as spec.rules[].host. Each list in the path then has one element:
// its first, or a new one.
func (o raw) with(path string, value raw) raw {
	if !strings.HasPrefix(string(o), "{") {
		o = "{}"
	}
	field, rest, deeper := strings.Cut(path, ".")
	name, isList := strings.CutSuffix(field, "[]")
	start, end := o.find(name)
	if deeper {
		inner := o[start:end]
		if isList {
			inner = inner.first()
		}
		value = inner.with(rest, value)
	}
	if isList {
		value = "[" + value + "]"
	}
	switch {
	case end > 0:
		return o[:start] + value + o[end:]
	case o == "{}":
		return "{" + quote(name) + ":" + value + "}"
	}
	return o[:strings.LastIndexByte(string(o), '}')] + "," + quote(name) + ":" + value + "}"
}

// get returns the value of a field, or an empty value if it is absent.
func (o raw) get(name string) raw {
	start, end := o.find(name)
	return o[start:end]
}

// find returns the first offset of the value of a field and the offset after it, or twice 0 if it is absent.
func (o raw) find(name string) (start, end int) {
	d := jsontext.NewDecoder(bytes.NewBuffer([]byte(o)))
	_, _ = d.ReadToken() // the contents of this package are JSON
	for d.PeekKind() == '"' {
		field, _ := d.ReadToken()
		found := field.String() == name
		value, _ := d.ReadValue()
		if end = int(d.InputOffset()); found {
			return end - len(value), end
		}
	}
	return 0, 0
}

// first returns the first element of a list, or an empty value.
func (o raw) first() raw {
	d := jsontext.NewDecoder(bytes.NewBuffer([]byte(o)))
	if token, err := d.ReadToken(); err != nil || token.Kind() != '[' || d.PeekKind() == ']' {
		return ""
	}
	value, _ := d.ReadValue()
	return raw(value)
}

// join returns a list or an object with some elements, until more returns false for the number of elements and bytes.
func join(brackets string, more func(elements, size int) bool, of func(i int) raw) raw {
	b := bytes.NewBufferString(brackets[:1])
	for i := 0; more(i, b.Len()); i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(string(of(i)))
	}
	return raw(b.String() + brackets[1:])
}

// quote encodes a string as JSON in the same way as Go.
func quote(s string) raw {
	text, err := json.Marshal(s)
	if err != nil {
		panic("costliest: " + err.Error())
	}
	return raw(text)
}
