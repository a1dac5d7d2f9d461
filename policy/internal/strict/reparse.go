package strict

import (
	"bytes"
	"context"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// reparser parses a text that failed to parse, and beginnings of it, to find the position at which the parser fails.
type reparser struct {
	ctx    context.Context
	data   []byte
	msg    string // the message of the parser, without its line
	budget int    // how many more bytes may be parsed
}

// fails parses a text and returns the message of the parser's error, without its line, and the line. The message is
// empty if the text parses.
func (r *reparser) fails(text io.Reader) (msg string, line int) {
	dec := yaml.NewDecoder(text)
	for {
		var n yaml.Node
		err := dec.Decode(&n)
		if errors.Is(err, io.EOF) {
			return "", 0
		}
		if err != nil {
			return splitError(err)
		}
	}
}

// needed returns how many bytes the parser reads until it fails, which is a few characters and tokens after the
// mistake.
func (r *reparser) needed() int {
	read := &singleBytes{data: r.data, ctx: r.ctx}
	r.budget -= len(r.data)
	r.fails(read)
	return read.given
}

// contextLine returns the line at which the collection or the scalar of the error begins. The parser does not report
// the first line, so contextLine puts an empty line in front of the text. The parser counts lines from 1 in errors of
// its scanner, for which plus is 1, and from 0 in other errors, for which plus is 0.
func (r *reparser) contextLine(plus int) int {
	_, line := r.fails(io.MultiReader(strings.NewReader("\n"), bytes.NewReader(r.data)))
	return line - plus
}

// inLine calls find with the line at which the scalar of the error begins. It returns the result as an offset in the
// text.
func (r *reparser) inLine(find func(line []byte) int) (int, bool) {
	line := r.contextLine(1)
	if line < 1 {
		return 0, false
	}
	begin, end := lineBounds(r.data, line)
	return begin + find(r.data[begin:end]), true
}

// firstToken returns the offset of the last token at or before end that causes the error. The parser fails if the text
// ends with the first character of this token, but does not fail if the text ends before the token. firstToken returns
// false if it exhausts the budget.
func (r *reparser) firstToken(end int) (int, bool) {
	found := -1
	for i := end - 1; i >= 0; i-- {
		if !r.mayBegin(i) {
			continue
		}
		same, ok := r.sameError(r.data[:i+1])
		if !ok {
			return 0, false
		}
		if !same && found >= 0 {
			break
		}
		if same {
			found = i
		}
	}
	return found, found >= 0
}

// mayBegin reports whether a token can begin at i.
func (r *reparser) mayBegin(i int) bool {
	const blanks, indicators = " \t\r\n", "[]{},:-?'\"*&!%@`|>"
	c := r.data[i]
	if strings.IndexByte(" \r\n", c) >= 0 {
		return false
	}
	return i == 0 || c == '\t' || strings.IndexByte(blanks+indicators, r.data[i-1]) >= 0 ||
		strings.IndexByte(indicators, c) >= 0
}

// sameError reports whether the beginning of a text fails with the error of the whole text, even with a closing bracket
// appended. Without the bracket, the error may occur only because the text was cut. ok is false if the budget is
// exhausted.
func (r *reparser) sameError(beginning []byte) (same, ok bool) {
	for _, end := range []string{"", "\n]", "\n}"} {
		if r.budget -= len(beginning); r.budget < 0 || r.ctx.Err() != nil {
			return false, false
		}
		msg, _ := r.fails(io.MultiReader(bytes.NewReader(beginning), strings.NewReader(end)))
		if msg != r.msg {
			return false, true
		}
	}
	return true, true
}

// singleBytes is a reader that counts the bytes that were read. It returns one byte at a time to keep the parser from
// reading further than necessary.
type singleBytes struct {
	ctx   context.Context
	data  []byte
	given int
}

// Read implements io.Reader.
func (s *singleBytes) Read(p []byte) (int, error) {
	if s.given == len(s.data) || s.ctx.Err() != nil {
		return 0, io.EOF
	}
	p[0] = s.data[s.given]
	s.given++
	return 1, nil
}

var yamlLine = regexp.MustCompile(`^yaml: (?:line (\d+): )?(?s:(.*))$`)

// splitError returns the message of a parser error, and its line. The line is 0 if the error does not contain a line.
func splitError(err error) (msg string, line int) {
	match := yamlLine.FindStringSubmatch(err.Error())
	if match == nil {
		return err.Error(), 0
	}
	line, _ = strconv.Atoi(match[1])
	return match[2], line
}
