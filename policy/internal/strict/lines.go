package strict

import (
	"bytes"
	"strings"
	"unicode/utf8"
)

// openQuote returns the index of the quote that begins a scalar and is not closed in the same line. Without such a
// quote, it returns the index of the first word.
func openQuote(line []byte) int {
	for i := 0; i < len(line); i++ {
		quote := line[i]
		if quote != '"' && quote != '\'' || i > 0 && strings.IndexByte(" \t[{,:-", line[i-1]) < 0 {
			continue
		}
		begin := i
		for i++; i < len(line) && line[i] != quote; i++ {
			if quote == '"' && line[i] == '\\' {
				i++
			}
		}
		if i >= len(line) {
			return begin
		}
	}
	return firstWord(line)
}

// firstWord returns the index of the first byte after the indentation and the hyphens of a line.
func firstWord(line []byte) int {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '-' && i+1 < len(line) && line[i+1] == ' ') {
		i++
	}
	return i
}

// lineAt returns the line of the byte at offset i.
func lineAt(data []byte, i int) int { return 1 + bytes.Count(data[:i], []byte("\n")) }

// lineBounds returns the offsets at which a line begins and ends.
func lineBounds(data []byte, line int) (begin, end int) {
	for ; line > 1; line-- {
		next := bytes.IndexByte(data[begin:], '\n')
		if next < 0 {
			break
		}
		begin += next + 1
	}
	end = len(data)
	if n := bytes.IndexByte(data[begin:], '\n'); n >= 0 {
		end = begin + n
	}
	return begin, end
}

// columnAt returns the column of the byte at offset i. Columns count characters, as in the parser.
func columnAt(data []byte, i int) int {
	begin := 1 + bytes.LastIndexByte(data[:i], '\n')
	return 1 + utf8.RuneCount(bytes.TrimPrefix(data[begin:i], []byte("\ufeff")))
}
