package strict

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/evergate/evergate/internal/text"
)

// maxLocated is the maximum size, in bytes, of a text in which a syntax error is located. It is half of locateBudget,
// so the text can be parsed twice. In a longer text, only the line of the error is known, and it is not always exact.
const maxLocated = 128 << 10

// locateBudget is the maximum number of bytes that are parsed to find one error. It is about twelve times the size of a
// policy of six hundred lines, which is enough to try the few tokens before the point at which the parser fails.
const locateBudget = 256 << 10

// locator finds the position of a syntax error. The parser does not report a column. For most errors, it reports the
// line at which the collection around the mistake begins. The locator therefore parses the text again, and then
// beginnings of the text. The error is at the token whose first character makes the parser fail.
type locator struct {
	reparser
	source Source
}

// place is an offset in a text, and the message of the error there.
type place struct {
	offset int
	msg    string
}

// locate returns the place of a syntax error. read is the number of bytes that the parser had read when it failed. line
// is the line that the parser reported, or 0.
func locate(ctx context.Context, s Source, msg string, line, read int) place {
	l := &locator{reparser{ctx, s.Data, msg, locateBudget}, s}
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
		line = 0 // it is the line of the collection around the mistake, or the line before it
	}
	if line == 0 {
		line = lineAt(s.Data, len(bytes.TrimSpace(s.Data[:read])))
	}
	begin, end := lineBounds(s.Data, line)
	return place{begin + firstWord(s.Data[begin:end]), msg}
}

// These messages of the parser need special treatment.
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

// find returns the place of an error. needed is the number of bytes that the parser has to read until it fails.
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

// firstRefused returns the offset of the first character that YAML does not allow, or 0 if YAML allows every character.
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

// explained returns the place of an error at the token at offset i. It adds an explanation to the parser's message if
// it knows the likely mistake.
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
		return place{i, l.msg + `: quote the value, which contains ": "`}
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

// unclosed returns the place of a bracket that is not closed when the text ends. It returns false if that is not the
// mistake.
func (l *locator) unclosed() (place, bool) {
	bracket, line := l.bracket()
	if bracket == "" {
		return place{}, false
	}
	begin, end := lineBounds(l.data, line)
	i := bytes.LastIndex(l.data[begin:end], []byte(bracket))
	return place{begin + i, "the " + bracket + " is not closed"}, i >= 0
}

// bracket returns the opening bracket of the list or mapping in which the parser failed, and its line. It returns an
// empty string for all other errors.
func (l *locator) bracket() (bracket string, line int) {
	switch l.msg {
	case msgList:
		return "[", l.contextLine(0)
	case msgMapping:
		return "{", l.contextLine(0)
	}
	return "", 0
}

// quoteBefore returns the offset of a quoted text that begins in an earlier line and ends right before i. If a closing
// quote is missing, the parser takes the next quote for it.
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

// quoteHint returns the advice to quote the value at offset i, which begins with a special character of YAML. It
// returns an empty string if i is negative.
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
