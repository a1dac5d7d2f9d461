package strict

import (
	"cmp"
	"context"
	"encoding"
	"io"
	"strconv"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// Limits bound the cost of a Decoder. Each limit applies to all files together. An error contains the exceeded limit.
type Limits struct {
	Of      string // subject of the error messages; empty for the policy
	Values  int    // YAML values: scalars, lists and mappings, counted by their separators
	Entries int    // elements of the lists at the top level of documents
	Texts   int    // list elements that are encoding.TextUnmarshalers
	Cost    int    // total cost of the texts that are Costly
}

// MaxText is the maximum number of bytes in a text. The longest texts that users write are regular expressions with
// many alternatives. All other texts are names.
const MaxText = 4096

// maxDirectives is the maximum number of lines in a file that begin with a percent sign. The parser compares each
// directive with all earlier directives of the document.
const maxDirectives = 100

// Costly is implemented by texts whose cost of decoding or keeping is not bounded by their length.
type Costly interface {
	// Cost returns the cost of a text, which may be invalid.
	Cost(text []byte) int
}

// limitError is the error for a file that exceeds a limit. Decoding stops at this error.
type limitError string

func (e limitError) Error() string { return string(e) }

func (l *Limits) tooMany(n int, what string) limitError {
	return limitError(cmp.Or(l.Of, "the policy") + " has more than " + text.Thousands(n) + " " + what +
		", which is the limit")
}

// meter is the reader from which a file is parsed. It stops parsing when the context is done or when the file has too
// many values. Each Read returns at most one line, so the parser is in the last line that was read.
type meter struct {
	ctx    context.Context
	data   []byte
	given  int // bytes that Read has returned
	values *int
	limits *Limits
	err    error // why parsing was stopped
	bol    bool  // whether the next byte is at the beginning of a line

	directives int
}

// Read implements io.Reader.
func (m *meter) Read(p []byte) (int, error) {
	rest := m.data[m.given:]
	if len(rest) == 0 {
		return 0, io.EOF
	}
	if m.err = m.ctx.Err(); m.err != nil {
		return 0, m.err
	}
	n := 0
	for n < len(p) && n < len(rest) {
		n++
		if m.count(m.given + n - 1); m.err != nil {
			return 0, m.err
		}
		if rest[n-1] == '\n' {
			break
		}
	}
	copy(p, rest[:n])
	m.given += n
	return n, nil
}

// count counts the values that the byte at i may begin or end. It counts every value. In comments and quotes, it also
// counts some bytes that do not belong to any value.
func (m *meter) count(i int) {
	begins := m.bol
	m.bol = false
	switch c := m.data[i]; c {
	case '\n':
		m.bol = true
		if i+1 == len(m.data) || m.data[i+1] == '\n' || m.data[i+1] == '#' {
			return // an empty line, or a comment
		}
	case '[', '{', ',':
	case '%':
		if !begins {
			return
		}
		if m.directives++; m.directives > maxDirectives {
			m.err = limitError("a file has more than " + strconv.Itoa(maxDirectives) + " directives, which is the limit")
		}
		return
	case '-', '?', ':':
		quoted := c == ':' && i > 0 && (m.data[i-1] == '"' || m.data[i-1] == '\'')
		if i+1 < len(m.data) && wordByte(m.data[i+1]) && !quoted {
			return
		}
	default:
		return
	}
	if *m.values++; *m.values > m.limits.Values {
		m.err = m.limits.tooMany(m.limits.Values, "values")
	}
}

// wordByte reports whether a byte after a colon or a hyphen makes it part of a word, as in registry:5000 or a-b.
func wordByte(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '/' || c >= 0x80
}

// affords counts a text and reports whether it is within the limits. If it is not, affords adds an error.
func (d *Decoder) affords(n *yaml.Node, u encoding.TextUnmarshaler) bool {
	if len(n.Value) > MaxText {
		d.fail(n, "it has %s bytes, at most %s are read", text.Thousands(len(n.Value)), text.Thousands(MaxText))
		return false
	}
	if last := len(d.path) - 1; last >= 0 && d.path[last].index >= 0 {
		if d.texts++; d.texts > d.limits.Texts {
			d.exceed(d.pos(n), d.limits.tooMany(d.limits.Texts, "patterns"))
			return false
		}
	}
	if costly, ok := u.(Costly); ok {
		if d.cost += costly.Cost([]byte(n.Value)); d.cost > d.limits.Cost {
			d.exceed(d.pos(n), limitError("the regular expressions of the policy have more than "+text.Thousands(d.limits.Cost)+
				" steps together, which is the limit"))
			return false
		}
	}
	return true
}
