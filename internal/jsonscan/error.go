package jsonscan

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/text"
)

// ErrTooDeep is a text that is nested deeper than MaxDepth.
var ErrTooDeep = errors.New("nested too deep")

// ValueError is a value of the wrong type, a field that stands twice, or more than the limits allow.
type ValueError struct {
	Path  string // from the root of the text, as users write it: request.object.spec.containers[0].image
	Msg   string
	Limit Limit // that was exceeded, which content may cause wherever it stands
}

// Limit is one of Limits.
type Limit int

// NoLimit is that of an error about something else.
const (
	NoLimit Limit = iota
	ElementsLimit
	TextLimit
)

func (e *ValueError) Error() string {
	if e.Path == "" {
		return e.Msg
	}
	return e.Path + ": " + e.Msg
}

// Fail ends reading with an error, unless there was one before.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Reject fails with a ValueError for the value that was read last, unless there was an error before.
func (r *Reader) Reject(msg string) {
	if r.err == nil { // after an error there may be no name where the path looks for one
		r.err = &ValueError{Path: r.pathHere(), Msg: msg}
	}
}

// exceed is Reject for what is over a limit.
func (r *Reader) exceed(limit Limit) {
	if r.err != nil {
		return
	}
	msg := fmt.Sprintf("too large: an object has at most %d list elements and map entries that are judged",
		r.limits.Elements)
	if limit == TextLimit {
		msg = fmt.Sprintf("too large: an object has at most %d MiB of text that is judged", r.limits.Text>>20)
	}
	r.err = &ValueError{Path: r.pathHere(), Msg: msg, Limit: limit}
}

// malformed fails with what jsontext says of the text.
func (r *Reader) malformed() {
	if r.err == nil {
		r.err = syntaxError(r.data)
	}
}

// newDecoder returns the decoder that the scanner agrees with.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data),
		// Names that stand twice are looked for by Fields, only where something is read.
		jsontext.AllowDuplicateNames(true),
		// Invalid UTF-8 is read as the API server reads it, as U+FFFD: content must not make a call fail.
		jsontext.AllowInvalidUTF8(true),
	)
}

// syntaxError says what is wrong with a text that the scanner rejects. kube-apiserver sends only JSON, so a long text
// is not read again for a better sentence.
func syntaxError(data []byte) error {
	const most = 1 << 20
	if len(data) > most {
		return errNotJSON
	}
	for dec := newDecoder(data); ; {
		_, err := dec.ReadToken()
		if errors.Is(err, io.EOF) && dec.InputOffset() > 0 {
			return errNotJSON // jsontext takes it: no text is known of which that is true
		}
		if err != nil {
			return err
		}
	}
}

var errNotJSON = errors.New("not JSON")

// pathHere names what is read, as users write it: spec.containers[0].image, metadata.labels[example.com/team].
func (r *Reader) pathHere() string {
	var path strings.Builder
	for i, l := range r.path[:min(r.depth, maxPath)] {
		if l.index >= 0 {
			fmt.Fprintf(&path, "[%d]", l.index)
			continue
		}
		name := r.nameAt(l.name)
		switch {
		case strings.ContainsAny(name, "./[]"):
			path.WriteString("[" + name + "]")
		case i > 0:
			path.WriteString("." + name)
		default:
			path.WriteString(name)
		}
	}
	return path.String()
}

// nameAt returns the name of a field that was read from pos on, as much as is shown of it.
func (r *Reader) nameAt(pos int) string {
	_, start := peek(r.data, pos)
	again := New(r.data, r.limits)
	name, plain := again.quoted(start)
	if !plain {
		name = again.unescape(name, text.Short)
	}
	return text.Printable(string(name[:min(len(name), text.Short+1)]), text.Short)
}
