package strict

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// Document is one YAML document of a file, not decoded yet.
type Document struct{ root *yaml.Node }

// Text returns the text of a field of the document, and where the value is in its source. The text is empty if the
// document has no such field, or the value is not a text.
func (d Document) Text(field string) (string, Pos) {
	if d.root.Kind != yaml.MappingNode {
		return "", Pos{}
	}
	for i := 0; i+1 < len(d.root.Content); i += 2 {
		if value := d.root.Content[i+1]; d.root.Content[i].Value == field && value.Kind == yaml.ScalarNode {
			return value.Value, Pos{Line: value.Line, Column: value.Column}
		}
	}
	return "", Pos{}
}

// Decoder decodes files, within limits for all of them together, and collects errors.
type Decoder struct {
	ctx     context.Context
	limits  Limits
	errs    Collector
	over    bool  // a limit is exceeded
	stopped error // the cause of the context that is done

	values, elements, texts, cost int // counted so far, for the limits

	source Source
	path   []segment // of the value that is being decoded

	suggested []string // for the struct that is decoded next: see Suggester
}

// segment is a field, or the index of an element.
type segment struct {
	name  string
	index int // negative for a field
}

func fieldSegment(name string) segment { return segment{name, -1} }

// NewDecoder returns a Decoder that stops when ctx is done.
func NewDecoder(ctx context.Context, limits Limits) *Decoder {
	return &Decoder{ctx: ctx, limits: limits}
}

// Decode fills the struct that into points to and reports whether there was no error.
func (d *Decoder) Decode(doc Document, into any) bool {
	before := d.errs.Len()
	d.value(doc.root, reflect.ValueOf(into).Elem())
	return d.errs.Len() == before && !d.Stopped()
}

// Errors returns the collector of errors.
func (d *Decoder) Errors() *Collector { return &d.errs }

// Stopped reports whether decoding has ended: a limit is exceeded, or the context is done.
func (d *Decoder) Stopped() bool { return d.over || d.stopped != nil }

// Err returns the cause of the context that stopped the Decoder; nil when it did not.
func (d *Decoder) Err() error { return d.stopped }

// exceed files an error about an exceeded limit.
func (d *Decoder) exceed(p Pos, limit limitError) {
	d.over = true
	d.errs.Errorf(p, "%s", limit)
}

// maxPath bounds the bytes of the path of a field, which is long only for unknown fields.
const maxPath = 256

func (d *Decoder) pos(n *yaml.Node) Pos {
	var path strings.Builder
	for i, s := range d.path {
		switch {
		case s.index >= 0:
			fmt.Fprintf(&path, "[%d]", s.index)
		case i > 0:
			path.WriteByte('.')
			fallthrough
		default:
			path.WriteString(text.Printable(s.name, text.Short))
		}
	}
	p := d.source.Pos(n.Line, n.Column)
	p.Path = text.Truncate(path.String(), maxPath)
	return p
}

func (d *Decoder) fail(n *yaml.Node, format string, args ...any) {
	if d.errs.TryAdd() {
		d.errs.Add(d.pos(n).Errorf(format, args...))
	}
}

// at decodes a value below the one that is being decoded.
func (d *Decoder) at(s segment, decode func()) {
	d.path = append(d.path, s)
	decode()
	d.path = d.path[:len(d.path)-1]
}
