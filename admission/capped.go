package admission

import (
	"math"

	"github.com/evergate/evergate/internal/text"
)

// capped is a list that keeps its first elements and counts the others.
type capped struct {
	most int // elements that are kept
	room int // bytes that are left for them, each with a separator
	kept []string
	more int
}

// sentences are those of one answer: the first Shown.
func sentences() capped { return capped{most: Shown, room: math.MaxInt} }

// inOneLine is an audit annotation, of at most maxAnnotation bytes.
func inOneLine() capped {
	return capped{most: math.MaxInt, room: maxAnnotation - len(" and 1000000 more")}
}

// add adds an element, which it makes only where it may be kept. The list keeps its order: nothing follows what did not
// fit. The first element always fits, truncated if need be.
func (l *capped) add(element func() string) {
	if l.more > 0 || len(l.kept) == l.most {
		l.more++
		return
	}
	s := element()
	if len(l.kept) == 0 {
		s = text.Truncate(s, l.room)
	}
	if l.room -= len(s) + len(", "); l.room < -len(", ") {
		l.more++
		return
	}
	if l.kept == nil {
		l.kept = make([]string, 0, Shown)
	}
	l.kept = append(l.kept, s)
}

// String returns the list in one line: "a, b and 7 more".
func (l *capped) String() string { return text.AndMore(l.kept, l.more) }
