// Package linediff compares two texts line by line, and shows the difference as diff -u does.
package linediff

import (
	"fmt"
	"slices"
	"strings"
)

// context is how many lines are shown around a difference, as diff -u shows them.
const context = 3

// maxCells bounds the table of a comparison. Of texts whose differing parts have more lines, the whole parts are shown
// as different.
const maxCells = 4 << 20

// Unified returns the difference of two texts in the unified format, with their names; empty where they are equal.
func Unified(fromName, toName string, from, to []byte) string {
	a, b := linesOf(from), linesOf(to)
	edits := editsOf(a, b)
	var out strings.Builder
	for _, h := range hunksOf(edits) {
		if out.Len() == 0 {
			fmt.Fprintf(&out, "--- %s\n+++ %s\n", fromName, toName)
		}
		h.write(&out)
	}
	return out.String()
}

// linesOf returns the lines of a text, with their ends. A last line without an end says so, as diff does.
func linesOf(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += "\n\\ No newline at end of file\n"
	}
	return lines
}

// edit is a line that both texts have (' '), or only the first ('-') or the second ('+').
type edit struct {
	op   byte
	line string
	a, b int // lines of each text before it
}

// editsOf returns the lines of both texts, by a longest common subsequence of what differs between a common beginning
// and a common end.
func editsOf(a, b []string) []edit {
	var edits []edit
	i, j := 0, 0
	add := func(op byte, line string) {
		edits = append(edits, edit{op, line, i, j})
		if op != '+' {
			i++
		}
		if op != '-' {
			j++
		}
	}
	for i < len(a) && j < len(b) && a[i] == b[j] {
		add(' ', a[i])
	}
	endA, endB := len(a), len(b)
	for endA > i && endB > j && a[endA-1] == b[endB-1] {
		endA, endB = endA-1, endB-1
	}
	common := commonOf(a[i:endA], b[j:endB])
	beginA, beginB := i, j
	for i < endA || j < endB {
		switch {
		case i < endA && j < endB && a[i] == b[j] && common != nil:
			add(' ', a[i])
		case i < endA && (j == endB || common == nil || common[i-beginA+1][j-beginB] >= common[i-beginA][j-beginB+1]):
			add('-', a[i])
		default:
			add('+', b[j])
		}
	}
	for i < len(a) {
		add(' ', a[i])
	}
	return edits
}

// commonOf returns how many lines the ends of two texts have in common, by where they begin; nil where that is too much
// to compute.
func commonOf(a, b []string) [][]int32 {
	if (len(a)+1)*(len(b)+1) > maxCells {
		return nil
	}
	common := make([][]int32, len(a)+1)
	for i := range common {
		common[i] = make([]int32, len(b)+1)
	}
	for i, line := range slices.Backward(a) {
		for j := len(b) - 1; j >= 0; j-- {
			if line == b[j] {
				common[i][j] = common[i+1][j+1] + 1
			} else {
				common[i][j] = max(common[i+1][j], common[i][j+1])
			}
		}
	}
	return common
}

// hunk is edits with the lines around them.
type hunk []edit

func hunksOf(edits []edit) []hunk {
	var hunks []hunk
	begin, end := 0, -1 // of the hunk so far
	for i, e := range edits {
		if e.op == ' ' {
			continue
		}
		if from := max(0, i-context); end < 0 || from > end {
			if end >= 0 {
				hunks = append(hunks, edits[begin:end])
			}
			begin = from
		}
		end = min(len(edits), i+1+context)
	}
	if end >= 0 {
		hunks = append(hunks, edits[begin:end])
	}
	return hunks
}

func (h hunk) write(out *strings.Builder) {
	a, b := 0, 0
	for _, e := range h {
		if e.op != '+' {
			a++
		}
		if e.op != '-' {
			b++
		}
	}
	fmt.Fprintf(out, "@@ -%s +%s @@\n", span(h[0].a, a), span(h[0].b, b))
	for _, e := range h {
		out.WriteByte(e.op)
		out.WriteString(e.line)
	}
}

// span writes where lines begin, and how many they are.
func span(before, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}
