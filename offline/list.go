package offline

import (
	"errors"
	"io"
	"iter"

	"github.com/evergate/evergate/internal/text"
)

// List is a List of Kubernetes objects as an API server prints one page of it, which is read object by object.
type List struct {
	stream *jsonStream
	at     Origin
}

// NewList returns the List in r. name is what errors call it.
func NewList(name string, r io.Reader) *List {
	at := Origin{File: name}
	return &List{newJSONStream(r, at), at}
}

// Objects returns the objects. An error leaves out one of them, or all that follow.
func (l *List) Objects() iter.Seq2[Object, error] {
	return func(yield func(Object, error) bool) {
		for {
			object, err := l.stream.next()
			if errors.Is(err, io.EOF) {
				break
			}
			if !yield(object, err) {
				return
			}
		}
		if l.stream.documents() == 0 {
			yield(Object{}, &inputError{Origin: l.at, Err: errEmpty})
		}
	}
}

// Continue returns what the API server wants to be asked for the next page; empty after the last one. It is known when
// all objects have been read.
func (l *List) Continue() string { return l.stream.continued }

// NotServedError says that an API server does not serve a resource: there is nothing to judge, which a report tells
// without calling it an error.
type NotServedError struct {
	Resource string // certificates.cert-manager.io
}

func (e *NotServedError) Error() string { return text.Name(e.Resource) + " is not served" }
