package handlers

import (
	"strconv"
	"strings"
)

// few keeps the first sentences of many, and counts them all.
type few struct {
	kept  []string
	total int
}

// room counts one more and says whether it is to be kept, so that a sentence nobody reads is never made.
func (f *few) room() bool {
	f.total++
	return f.total <= shown
}

func (f *few) add(s string) { f.kept = append(f.kept, s) }

// more is how many were counted and not kept.
func (f *few) more() int { return max(0, f.total-shown) }

// listing is a list in one line that is never longer than maxAnnotation: what no longer fits is counted.
type listing struct {
	expected int // how many elements there will be at most, if that is known
	text     strings.Builder
	more     int
}

// restBytes is room for ", and N more", whatever N.
const restBytes = 32

// add adds an element, which is what its parts make together.
func (l *listing) add(parts ...string) {
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
func (l *listing) String() string {
	switch {
	case l.more == 0:
		return l.text.String()
	case l.text.Len() == 0:
		return strconv.Itoa(l.more) + " that are too long to be told"
	}
	return l.text.String() + ", and " + strconv.Itoa(l.more) + " more"
}
