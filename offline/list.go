package offline

import (
	"bytes"
	"io"
	"iter"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/text"
)

// List is one page of a List from an API server. It is read object by object.
type List struct{ *jsonStream }

// NewList returns the List in r. Errors use name for it.
func NewList(name string, r io.Reader) *List {
	return &List{newJSONStream(r, Origin{File: name})}
}

// Objects returns the objects. After an error it continues with the next object if it can.
func (l *List) Objects() iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		if l.each(yield) && l.documents() == 0 {
			yield(Object{}, &inputError{Origin: Origin{File: l.at.File}, Err: errEmpty})
		}
	}
}

// Continue returns the continue token for the next page, or an empty string after the last page. The token is valid
// after all objects have been read.
func (l *List) Continue() string { return l.continued }

// NotServedError reports that an API server does not serve a resource, so the resource has no objects to validate. A
// report lists the resource, but not as an error.
type NotServedError struct {
	Resource string // certificates.cert-manager.io
}

func (e *NotServedError) Error() string { return text.Name(e.Resource) + " is not served" }

// jsonList reads a document that may be a List.
type jsonList struct {
	*jsonStream
	begin  Origin
	head   typeMeta
	isList bool       // it has items
	held   []heldItem // items that cannot be read before the kind is known
	size   int        // of held, in bytes
}

// heldItem is an item that is read when the kind of its List is known.
type heldItem struct {
	at    Origin
	value jsontext.Value
}

// read reads the document. It yields the items of a List, or one object.
func (l *jsonList) read(yield yieldFunc) error {
	l.pos++
	members := []byte{'{'} // without the items of a List
	for first := true; ; first = false {
		more, err := l.more(first, '}')
		if err != nil {
			return err
		}
		if !more {
			return l.end(append(members[:max(1, len(members)-1)], '}'), yield)
		}
		if l.peek() != '"' {
			return l.unexpected("a name")
		}
		quoted, err := l.value()
		if err != nil {
			return err
		}
		name, start := unquote(quoted), len(members)
		members = append(append(members, quoted...), ':')
		if l.peek() != ':' {
			return l.unexpected("a colon")
		}
		l.pos++
		if items := l.peek(); name == "items" && l.mayBeList(items) {
			l.isList, members = true, members[:start]
			if err := l.items(yield); err != nil {
				return err
			}
			continue
		}
		value, err := l.value()
		if err != nil {
			return err
		}
		switch {
		case value.Kind() != '"':
		case name == "kind":
			l.head.Kind = unquote(value)
		case name == "apiVersion":
			l.head.APIVersion = unquote(value)
		}
		members = append(append(members, value...), ',')
	}
}

// mayBeList reports whether the member items, which begins with a byte, makes the document a List. As in kubectl, the
// kind of a List need not end in List, and may follow the items.
func (l *jsonList) mayBeList(items byte) bool {
	return items == '[' && (l.head.Kind == "" || isKind(l.head.Kind)) || items == 'n' && isList(l.head.Kind)
}

// end yields the object in a document, or the items that were held.
func (l *jsonList) end(members jsontext.Value, yield yieldFunc) error {
	if !l.isList && l.head == (typeMeta{"v1", "List"}) { // a List without items
		return nil
	}
	if !l.isList || !isList(l.head.Kind) {
		if object, err := newObject(l.begin, members, typeMeta{}); !l.isList || err != nil {
			return send(yield, object, err)
		}
	}
	l.continued = continueOf(members)
	for _, item := range l.held {
		if err := l.item(item.at, item.value, yield); err != nil {
			return err
		}
	}
	return nil
}

// continueOf returns metadata.continue of a List. The items are not part of list.
func continueOf(list jsontext.Value) string {
	value, err := field(list, "metadata", "continue")
	if err != nil || value.Kind() != '"' {
		return ""
	}
	return unquote(value)
}

// items reads the items of a List, or null.
func (l *jsonList) items(yield yieldFunc) error {
	if l.peek() == 'n' {
		_, err := l.value()
		return err
	}
	l.pos++
	for first := true; ; first = false {
		more, err := l.more(first, ']')
		if err != nil || !more {
			l.at.Item = 0
			return err
		}
		l.peek()
		l.at.Item++
		l.mark()
		value, err := l.value()
		if err != nil {
			return err
		}
		if err := l.item(l.at, bytes.Clone(value), yield); err != nil {
			return err
		}
	}
}

// item yields an item. The items of a nested List are not searched, so a nested List is an error. An item that is not
// an object is held until the kind of the List is known.
func (l *jsonList) item(at Origin, value jsontext.Value, yield yieldFunc) error {
	object, err := newObject(at, value, l.head.item())
	switch {
	case err != nil && l.head.Kind == "":
		l.held = append(l.held, heldItem{at, value})
		const record = 128 // bytes of a heldItem and its allocation
		if l.size += len(value) + record; l.size > maxJSON {
			return &inputError{Origin: at, Err: errLongJSON}
		}
		return nil
	case err == nil && isList(object.Kind):
		if items, _ := member(value, "items"); items != nil {
			err = at.Errorf("a %s within a List: move its items to the outer List", text.Name(object.Kind))
		}
	}
	return send(yield, object, err)
}

// isList reports whether a kind is the kind of a list, such as List or PodList.
func isList(kind string) bool { return isKind(kind) && strings.HasSuffix(kind, "List") }

// item returns the type of the items of a list such as PodList, for items without a type. Items of kubectl's List have
// types, so they get no kind.
func (t typeMeta) item() typeMeta { return typeMeta{t.APIVersion, strings.TrimSuffix(t.Kind, "List")} }

func unquote(value jsontext.Value) string {
	text, _ := jsontext.AppendUnquote(nil, value) // it has been checked
	return string(text)
}
