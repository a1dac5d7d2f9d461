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

// reparser parses a text that does not parse again, and beginnings of it, to learn where the parser fails.
type reparser struct {
	ctx    context.Context
	data   []byte
	msg    string // the parser's, without its line
	budget int    // bytes that may still be parsed
}

// fails parses a text and returns the parser's error, without its line, and the line; an empty error when there is
// none.
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

// needed returns how many bytes the parser reads until it fails, a few characters and tokens behind the mistake.
func (r *reparser) needed() int {
	read := &singleBytes{data: r.data, ctx: r.ctx}
	r.budget -= len(r.data)
	r.fails(read)
	return read.given
}

// contextLine returns the line at which the collection or the scalar of the error begins. The parser counts lines from
// 0 in errors of its scanner, for which plus is 1, and says none for the first: so the text begins with an empty line.
func (r *reparser) contextLine(plus int) int {
	_, line := r.fails(io.MultiReader(strings.NewReader("\n"), bytes.NewReader(r.data)))
	return line - plus
}

// inLine returns the offset that find returns for the line at which the scalar of the error begins.
func (r *reparser) inLine(find func(line []byte) int) (int, bool) {
	line := r.contextLine(1)
	if line < 1 {
		return 0, false
	}
	begin, end := lineBounds(r.data, line)
	return begin + find(r.data[begin:end]), true
}

// firstToken returns the offset of the last token at or before end that makes the parser fail when the text ends with
// its first character, and does not when it ends before it. It finds none where the budget is spent before that.
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

// sameError reports whether the beginning of a text fails as all of it does, also where brackets are closed at its end,
// which would be missing only because the text was cut. It is not ok when the budget is spent.
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

// singleBytes is a reader that counts what is read of it. It returns a byte at a time, so that the parser reads no
// further than it has to.
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

// splitError returns what the parser says of an error, and its line; 0 where it says none.
func splitError(err error) (msg string, line int) {
	match := yamlLine.FindStringSubmatch(err.Error())
	if match == nil {
		return err.Error(), 0
	}
	line, _ = strconv.Atoi(match[1])
	return match[2], line
}
