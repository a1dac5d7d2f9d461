package admission

import (
	"strconv"
	"strings"
)

// cappedList keeps the first Shown sentences of a list, and counts them all.
type cappedList struct {
	kept  []string
	total int
}

// tryAdd counts a sentence and reports whether it is below the cap, so that callers format only what is shown.
func (l *cappedList) tryAdd() bool {
	l.total++
	return l.total <= Shown
}

func (l *cappedList) add(s string) { l.kept = append(l.kept, s) }

// more is how many were counted and not kept.
func (l *cappedList) more() int { return max(0, l.total-Shown) }

// cappedText is a list in one line that is never longer than maxAnnotation. It counts the elements that no longer fit.
type cappedText struct {
	expected int // how many elements there will be at most, if that is known
	text     strings.Builder
	more     int
}

// restBytes is room for ", and N more", whatever N.
const restBytes = 32

// add adds an element, which is what its parts make together.
func (l *cappedText) add(parts ...string) {
	n := 0
	for _, part := range parts {
		n += len(part)
	}
	if l.more > 0 || l.text.Len()+n+2 > maxAnnotation-restBytes {
		l.more++
		return
	}
	if l.text.Len() > 0 {
		l.text.WriteString(", ")
	} else {
		l.text.Grow(min(l.expected*(n+2), maxAnnotation)) // the others are about as long
	}
	for _, part := range parts {
		l.text.WriteString(part)
	}
}

// String returns the list.
func (l *cappedText) String() string {
	switch {
	case l.more == 0:
		return l.text.String()
	case l.text.Len() == 0:
		return strconv.Itoa(l.more) + " that are too long to be told"
	}
	return l.text.String() + ", and " + strconv.Itoa(l.more) + " more"
}
