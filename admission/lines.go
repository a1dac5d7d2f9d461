package admission

import (
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// sentences contains the first Shown sentences of a response, and the number of the others.
type sentences struct {
	kept []string
	more int
}

// add adds a sentence. It calls the function only if the sentence is kept.
func (l *sentences) add(sentence func() string) {
	if len(l.kept) == Shown {
		l.more++
		return
	}
	l.kept = append(l.kept, sentence())
}

// line is the value of an audit annotation. It lists elements on one line, and then the number of elements that do not
// fit into maxAnnotation bytes.
type line struct {
	expected int // expected number of elements
	text     strings.Builder
	more     int
}

// add adds an element, which consists of parts. To keep the order, nothing is added after an element that did not fit.
// The first element always fits, and is truncated if necessary.
func (l *line) add(parts ...string) {
	size := 0
	for _, part := range parts {
		size += len(part)
	}
	switch room := maxAnnotation - len(" and 1000000 more") - l.text.Len(); {
	case l.text.Len() == 0 && size > room:
		for i := range parts {
			parts[i] = text.Truncate(parts[i], room)
		}
		l.text.WriteString(text.Truncate(strings.Join(parts, ""), room))
		return
	case l.more > 0 || len(", ")+size > room:
		l.more++
		return
	case l.text.Len() > 0:
		l.text.WriteString(", ")
	default:
		l.text.Grow(min(room, l.expected*(size+len(", ")))) // most elements have about the same length
	}
	for _, part := range parts {
		l.text.WriteString(part)
	}
}

// String returns the line, for example "a, b and 7 more".
func (l *line) String() string {
	if l.more > 0 {
		l.text.WriteString(" and " + strconv.Itoa(l.more) + " more")
	}
	return l.text.String()
}
