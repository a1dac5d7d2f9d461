package strict

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// maxLocated is the size of the longest text, in bytes, whose syntax error is looked for: half of locateBudget, so that
// it is parsed twice. Of an error in a longer one only the line is known, and not always exactly.
const maxLocated = 128 << 10

// locateBudget bounds the bytes that are parsed to find one error: a dozen times those of a policy of six hundred lines,
// as many as the few tokens before the mistake take.
const locateBudget = 256 << 10

// locator finds the position of a syntax error. The parser says no column, and for most errors the line at which the
// collection around the mistake begins. The locator parses the text again, and beginnings of it: the error is at the
// token whose first character makes the parser fail.
type locator struct {
	ctx    context.Context
	source Source
	data   []byte // of source
	msg    string // the parser's, without its line
	budget int    // bytes that may still be parsed
}

// place is an offset in a text, and the sentence about the error there.
type place struct {
	offset int
	msg    string
}

// locate returns the place of a syntax error. The parser has read a number of bytes when it fails, and says a line, or 0.
func locate(ctx context.Context, s Source, msg string, line, read int) place {
	l := &locator{ctx, s, s.Data, msg, locateBudget}
	if strings.Contains(msg, "UTF-8") || strings.Contains(msg, "control characters") {
		return place{firstRefused(s.Data), msg}
	}
	known := len(s.Data) <= maxLocated && utf8.Valid(s.Data)
	if known {
		read = l.needed()
	}
	if name, ok := strings.CutPrefix(msg, "unknown anchor '"); ok {
		name, _, _ = strings.Cut(name, "'")
		i := max(0, bytes.LastIndex(s.Data[:read], []byte("*"+name)))
		return place{i, msg + quoteHint(s.Data, i)}
	}
	if known {
		if at, ok := l.find(read); ok {
			return at
		}
	}
	switch msg {
	case msgNoKey, msgNoHyphen, msgList, msgMapping, msgNode:
		line = 0 // it is that of the collection around the mistake, or the one before it
	}
	if line == 0 {
		line = lineAt(s.Data, len(bytes.TrimSpace(s.Data[:read])))
	}
	begin, end := lineBounds(s.Data, line)
	return place{begin + firstWord(s.Data[begin:end]), msg}
}

// What the parser says of mistakes that the locator treats on their own.
const (
	msgEndOfStream = "found unexpected end of stream"
	msgIndicator   = "found unexpected document indicator"
	msgNoColon     = "could not find expected ':'"
	msgEscape      = "found unknown escape character"
	msgValue       = "mapping values are not allowed in this context"
	msgNoToken     = "found character that cannot start any token"
	msgNoAlias     = "did not find expected alphabetic or numeric character"
	msgDepth       = "exceeded max depth"
	msgNoKey       = "did not find expected key"
	msgNoHyphen    = "did not find expected '-' indicator"
	msgList        = "did not find expected ',' or ']'"
	msgNode        = "did not find expected node content"
	msgMapping     = "did not find expected ',' or '}'"
)

// find returns the place of an error for which the parser needs to read a number of bytes.
func (l *locator) find(needed int) (place, bool) {
	if strings.HasPrefix(l.msg, msgDepth) {
		return place{needed - 1, l.msg}, true
	}
	switch l.msg {
	case msgEndOfStream, msgIndicator:
		i, ok := l.inLine(openQuote)
		return place{i, "the quote that begins here is not closed"}, ok
	case msgNoColon:
		i, ok := l.inLine(firstWord)
		return place{i, l.msg}, ok
	case msgEscape:
		i := bytes.LastIndexByte(l.data[:needed], '\\')
		return place{i, l.msg + `: in single quotes a \ has no meaning`}, i >= 0
	}
	if i, ok := l.firstToken(needed); ok {
		return l.explained(i), true
	}
	if l.budget < 0 || needed < len(l.data) {
		return place{}, false
	}
	return l.unclosed()
}

// firstRefused returns the offset of the first character that YAML refuses; 0 when there is none.
func firstRefused(data []byte) int {
	for i := 0; i < len(data); {
		r, size := utf8.DecodeRune(data[i:])
		switch {
		case r == '\t', r == '\n', r == '\r', r == 0x85:
		case r < ' ', 0x7f <= r && r < 0xa0, r == 0xfffe, r == 0xffff, r == utf8.RuneError && size < 2:
			return i
		}
		i += size
	}
	return 0
}

// explained returns the place of an error at a token, with what the parser does not say.
func (l *locator) explained(i int) place {
	begin := 1 + bytes.LastIndexByte(l.data[:i], '\n')
	if before := l.data[begin : i+1]; string(before) == "---" || string(before) == "..." {
		return place{begin, l.msg}
	}
	word := begin + firstWord(l.data[begin:])
	switch c := l.data[i]; {
	case c == '\t':
		return place{i, "a tab cannot indent: write spaces"}
	case l.msg == msgNoToken, l.msg == msgNoAlias:
		return place{i, l.msg + quoteHint(l.data, i)}
	case l.msg == msgValue && bytes.Contains(l.data[begin:i], []byte(": ")):
		return place{i, l.msg + `: quote the value, which holds ": "`}
	case l.msg == msgValue:
		return place{i, l.msg + ": is this line indented too far, or does a line above lack the space after its colon?"}
	}
	if quote, ok := l.quoteBefore(i); ok {
		return place{quote, fmt.Sprintf("the quote that begins here ends in line %d, and more follows: close it earlier",
			l.source.line(lineAt(l.data, i)))}
	}
	if l.msg == msgNoKey || l.msg == msgNoHyphen {
		if l.data[i] == ':' {
			i = word
		}
		if (i == word || l.data[i] == '-') && !strings.ContainsRune("]}", rune(l.data[i])) {
			return place{i, l.msg + ": indent this line as its neighbours are"}
		}
	}
	if bracket, line := l.bracket(); bracket != "" && line != lineAt(l.data, i) {
		return place{i, fmt.Sprintf("%s: the %s in line %d is not closed", l.msg, bracket, l.source.line(line))}
	}
	return place{i, l.msg}
}

// unclosed returns the place of a bracket that is not closed when the text ends, and whether that is the mistake.
func (l *locator) unclosed() (place, bool) {
	bracket, line := l.bracket()
	if bracket == "" {
		return place{}, false
	}
	begin, end := lineBounds(l.data, line)
	i := bytes.LastIndex(l.data[begin:end], []byte(bracket))
	return place{begin + i, "the " + bracket + " is not closed"}, i >= 0
}

// bracket returns the bracket of a list or mapping in which the parser failed, and its line.
func (l *locator) bracket() (bracket string, line int) {
	switch l.msg {
	case msgList:
		return "[", l.contextLine(0)
	case msgMapping:
		return "{", l.contextLine(0)
	}
	return "", 0
}

// quoteBefore returns the offset of a quote that begins in an earlier line and ends right before i, as where its end is
// missing.
func (l *locator) quoteBefore(i int) (int, bool) {
	before := bytes.TrimRight(l.data[:i], " ")
	if len(before) == 0 {
		return 0, false
	}
	quote := before[len(before)-1]
	if quote != '"' && quote != '\'' {
		return 0, false
	}
	begin := bytes.LastIndexByte(before[:len(before)-1], quote)
	return begin, begin >= 0 && bytes.IndexByte(before[begin:], '\n') >= 0
}

// quoteHint is the advice to quote the value at an offset, which begins with a character that has a meaning in YAML.
func quoteHint(data []byte, i int) string {
	if i < 0 {
		return ""
	}
	word := data[i:]
	if end := bytes.IndexAny(word, " \t\r\n,]}\"\\"); end >= 0 {
		word = word[:end]
	}
	return `; quote it: "` + text.Truncate(string(word), text.Short) + `"`
}

// fails parses a text and returns the parser's error, without its line, and the line; an empty error when there is none.
func (l *locator) fails(r io.Reader) (msg string, line int) {
	dec := yaml.NewDecoder(r)
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
func (l *locator) needed() int {
	r := &singleBytes{data: l.data, ctx: l.ctx}
	l.budget -= len(l.data)
	l.fails(r)
	return r.given
}

// contextLine returns the line at which the collection or the scalar of the error begins. The parser counts lines from 0
// in errors of its scanner, for which plus is 1, and says none for the first: so the text begins with an empty line.
func (l *locator) contextLine(plus int) int {
	_, line := l.fails(io.MultiReader(strings.NewReader("\n"), bytes.NewReader(l.data)))
	return line - plus
}

// inLine returns the offset that find returns for the line at which the scalar of the error begins.
func (l *locator) inLine(find func(line []byte) int) (int, bool) {
	line := l.contextLine(1)
	if line < 1 {
		return 0, false
	}
	begin, end := lineBounds(l.data, line)
	return begin + find(l.data[begin:end]), true
}

// firstToken returns the offset of the last token at or before end that makes the parser fail when the text ends with
// its first character, and does not when it ends before it. It finds none where the budget is
// spent before that.
func (l *locator) firstToken(end int) (int, bool) {
	found := -1
	for i := end - 1; i >= 0; i-- {
		if !l.mayBegin(i) {
			continue
		}
		same, ok := l.sameError(l.data[:i+1])
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
func (l *locator) mayBegin(i int) bool {
	const blanks, indicators = " \t\r\n", "[]{},:-?'\"*&!%@`|>"
	c := l.data[i]
	if strings.IndexByte(" \r\n", c) >= 0 {
		return false
	}
	return i == 0 || c == '\t' || strings.IndexByte(blanks+indicators, l.data[i-1]) >= 0 || strings.IndexByte(indicators, c) >= 0
}

// sameError reports whether the beginning of a text fails as all of it does, also where brackets are closed at its end,
// which would be missing only because the text was cut. It is not ok when the budget is spent.
func (l *locator) sameError(beginning []byte) (same, ok bool) {
	for _, end := range []string{"", "\n]", "\n}"} {
		if l.budget -= len(beginning); l.budget < 0 || l.ctx.Err() != nil {
			return false, false
		}
		msg, _ := l.fails(io.MultiReader(bytes.NewReader(beginning), strings.NewReader(end)))
		if msg != l.msg {
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

// openQuote returns the index of the quote in a line that begins a scalar and is not closed in that line.
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

// firstWord returns the index of what follows the indentation and the hyphens of a line.
func firstWord(line []byte) int {
	i := 0
	for i < len(line) && (line[i] == ' ' || line[i] == '-' && i+1 < len(line) && line[i+1] == ' ') {
		i++
	}
	return i
}

// lineBounds returns where a line begins and ends.
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

// columnAt returns the column of the byte at an offset, in characters, as the parser counts them.
func columnAt(data []byte, i int) int {
	begin := 1 + bytes.LastIndexByte(data[:i], '\n')
	return 1 + utf8.RuneCount(bytes.TrimPrefix(data[begin:i], []byte("\ufeff")))
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
