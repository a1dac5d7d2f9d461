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

// ErrTooDeep is returned for a text whose objects and lists are nested deeper than MaxDepth.
var ErrTooDeep = errors.New("nested too deep")

// ValueError reports a value of the wrong type, a duplicate field, or a text that exceeds one of the limits.
type ValueError struct {
	Path  string // from the root of the text, for example request.object.spec.containers[0].image
	Msg   string
	Limit Limit // the exceeded limit, or NoLimit. The content of any field can exceed a limit
}

// Limit identifies one of the Limits.
type Limit int

// NoLimit is the Limit of an error that is not about a limit.
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

// Fail stops the reader with err. It does nothing after an earlier error.
func (r *Reader) Fail(err error) {
	if r.err == nil {
		r.err = err
	}
}

// Reject stops the reader with a ValueError about the last value that was read. It does nothing after an earlier error.
func (r *Reader) Reject(msg string) {
	if r.err == nil { // after an error, the recorded path may not point to a field name
		r.err = &ValueError{Path: r.pathHere(), Msg: msg}
	}
}

// exceed stops the reader with a ValueError about the given limit. It does nothing after an earlier error.
func (r *Reader) exceed(limit Limit) {
	if r.err != nil {
		return
	}
	msg := fmt.Sprintf("too large: at most %d list elements and map entries of an object are evaluated",
		r.limits.Elements)
	if limit == TextLimit {
		msg = fmt.Sprintf("too large: at most %d MiB of text of an object are evaluated", r.limits.Text>>20)
	}
	r.err = &ValueError{Path: r.pathHere(), Msg: msg, Limit: limit}
}

// malformed stops the reader with the error of jsontext for the text. It does nothing after an earlier error.
func (r *Reader) malformed() {
	if r.err == nil {
		r.err = syntaxError(r.data)
	}
}

// newDecoder returns a jsontext decoder that accepts the same texts as the scanner.
func newDecoder(data []byte) *jsontext.Decoder {
	return jsontext.NewDecoder(bytes.NewBuffer(data),
		// Reader.Fields rejects duplicate names, but only of fields that its caller reads.
		jsontext.AllowDuplicateNames(true),
		// Like the API server, the scanner reads invalid UTF-8 as U+FFFD, because content must not make a call fail.
		jsontext.AllowInvalidUTF8(true),
	)
}

// syntaxError returns the error of jsontext for a text that the scanner rejects. It does not read a text above 1 MiB
// again only for a better message, because kube-apiserver always sends valid JSON.
func syntaxError(data []byte) error {
	const most = 1 << 20
	if len(data) > most {
		return errNotJSON
	}
	for dec := newDecoder(data); ; {
		_, err := dec.ReadToken()
		if errors.Is(err, io.EOF) && dec.InputOffset() > 0 {
			return errNotJSON // jsontext accepts a text that the scanner rejects; no such text is known
		}
		if err != nil {
			return err
		}
	}
}

var errNotJSON = errors.New("not JSON")

// pathHere returns the path of the current value as users write it, for example spec.containers[0].image or
// metadata.labels[example.com/team].
func (r *Reader) pathHere() string {
	var path strings.Builder
	for i, l := range r.path[:min(len(r.path), maxPath)] {
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

// nameAt returns the field name that starts at pos, unescaped and shortened for a message.
func (r *Reader) nameAt(pos int) string {
	_, start := peek(r.data, pos)
	again := New(r.data, r.limits)
	name, plain := again.quoted(start)
	if !plain {
		name = again.unescape(name, text.Short)
	}
	return text.Printable(string(name[:min(len(name), text.Short+1)]), text.Short)
}
