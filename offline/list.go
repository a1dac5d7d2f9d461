package offline

import (
	"io"
	"iter"

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
