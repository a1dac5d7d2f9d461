// Package linediff compares two texts line by line and shows the difference in the format of diff -u.
package linediff

import (
	"fmt"
	"slices"
	"strings"
)

// context is the number of lines that are shown around a difference, like in diff -u.
const context = 3

// maxCells limits the table of a comparison. If the differing parts have too many lines for the table, the whole
// parts are shown as different.
const maxCells = 4 << 20

// Unified returns the difference of two texts in the unified format, with their names. It returns an empty string if
// they are equal.
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

// linesOf returns the lines of a text, including their line ends. A missing line end at the end of the text is marked
// like in diff.
func linesOf(text []byte) []string {
	lines := strings.SplitAfter(string(text), "\n")
	if last := len(lines) - 1; lines[last] == "" {
		lines = lines[:last]
	} else {
		lines[last] += "\n\\ No newline at end of file\n"
	}
	return lines
}

// edit is a line that is in both texts (' '), only in the first ('-') or only in the second ('+').
type edit struct {
	op   byte
	line string
	a, b int // the number of lines of each text before it
}

// editsOf returns the lines of both texts. It skips the common beginning and the common end, and computes a longest
// common subsequence of the rest.
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

// commonOf returns a table. The element at i, j is the length of the longest common subsequence of a[i:] and b[j:].
// It returns nil if the table would exceed maxCells.
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

// hunk is a group of edits with the lines around them.
type hunk []edit

func hunksOf(edits []edit) []hunk {
	var hunks []hunk
	begin, end := 0, -1 // of the current hunk
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

// span returns the first line and the number of lines of a range.
func span(before, n int) string {
	if n == 0 {
		return fmt.Sprintf("%d,0", before)
	}
	return fmt.Sprintf("%d,%d", before+1, n)
}
