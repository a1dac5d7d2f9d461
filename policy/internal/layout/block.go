package layout

import (
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// step is the indentation of a level.
const step = 2

// formatter writes the lines of one document.
type formatter struct {
	segment
	out []written
	err error // the first one
}

func (f *formatter) fail(line int, format string, args ...any) {
	if f.err == nil {
		f.err = lineError(f.first+line, format, args...)
	}
}

func (f *formatter) write(indent int, text string) {
	if text = strings.TrimRight(text, " \t"); text != "" {
		text = strings.Repeat(" ", indent) + text
	}
	f.out = append(f.out, written{text: text})
}

// trivia writes blank lines and comments.
func (f *formatter) trivia(from, to, indent int) {
	for _, line := range f.lines[from:to] {
		f.write(indent, strings.TrimSpace(line))
	}
}

// above returns where the blank lines and comments begin that stand above a line and belong to it, or to what follows:
// those that are indented no deeper than column, and lie below floor.
func (f *formatter) above(line, floor, column int) int {
	for line-1 > floor {
		l := f.lines[line-1]
		if !isBlank(l) && (!isComment(l) || indentOf(l) > column) {
			break
		}
		line--
	}
	return line
}

// entry is a field of a mapping, or an element of a list, with its lines.
type entry struct {
	name      string
	key       *yaml.Node // nil in a list
	value     *yaml.Node
	from      int // where its comments begin
	line, end int // its own lines
}

// entriesOf fills in which lines belong to which entry, and returns where those begin that follow the last one.
// Comments above the first entry are its own.
func (f *formatter) entriesOf(entries []entry, from, to, column int) (rest int) {
	for i := range entries {
		entries[i].from = from
		if i > 0 {
			entries[i].from = f.above(entries[i].line, entries[i-1].line, column)
			entries[i-1].end = entries[i].from
		}
	}
	last := &entries[len(entries)-1]
	last.end = f.above(to, last.line, column)
	return last.end
}

// document writes the mapping that a document is. What stands above its first field stays there.
func (f *formatter) document(n *yaml.Node, order *Order) {
	first := n.Content[0].Line - 1
	f.trivia(0, first, 0)
	f.mapping(n, first, len(f.lines), 0, order)
}

// mapping writes a mapping whose lines are those from one to another.
func (f *formatter) mapping(n *yaml.Node, from, to, indent int, order *Order) {
	column := n.Content[0].Column - 1
	var entries []entry
	for i := 0; i+1 < len(n.Content); i += 2 {
		key := n.Content[i]
		line := key.Line - 1
		if key.Column-1 != column || line < from || line >= to || indentOf(f.lines[line]) != column {
			f.fail(line, "this field does not begin its line")
			return
		}
		entries = append(entries, entry{name: key.Value, key: key, value: n.Content[i+1], line: line})
	}
	rest := f.entriesOf(entries, from, to, column)
	slices.SortStableFunc(entries, func(a, b entry) int { return order.rank(a.name) - order.rank(b.name) })
	for i := range entries {
		f.trivia(entries[i].from, entries[i].line, indent)
		f.field(&entries[i], indent, order.of(entries[i].name))
	}
	f.trivia(rest, to, indent)
}

// field writes a field of a mapping.
func (f *formatter) field(e *entry, indent int, order *Order) {
	line := f.lines[e.line][e.key.Column-1:] // what stands before is spaces
	key := keyText(line)
	after, ok := strings.CutPrefix(strings.TrimLeft(line[len(key):], " \t"), ":")
	if key == "" || !ok {
		f.fail(e.line, "the colon of this field is not in its line")
		return
	}
	head := written{text: strings.Repeat(" ", indent) + key + ":"}
	comment := strings.TrimRight(after, " \t")
	if isBlank(after) || isComment(after) {
		head.text += comment
	}
	switch {
	case isBlock(e.value, yaml.MappingNode) && head.hasOnly(comment, after):
		f.out = append(f.out, head)
		f.mapping(e.value, e.line+1, e.end, indent+step, order)
	case isBlock(e.value, yaml.SequenceNode) && head.hasOnly(comment, after):
		f.out = append(f.out, head)
		f.list(e.value, e.line+1, e.end, indent, order)
	case isBlock(e.value, e.value.Kind) && e.value.Kind != yaml.ScalarNode:
		f.fail(e.line, "the value of this field begins in its line")
	default:
		f.value(e, head.text, after, indent, indent-(e.key.Column-1), order)
	}
}

// hasOnly reports whether a line has no more than a key and a comment.
func (w written) hasOnly(comment, after string) bool {
	return isBlank(after) || isComment(after) && strings.HasSuffix(w.text, comment)
}

// list writes a list whose lines are those from one to another.
func (f *formatter) list(n *yaml.Node, from, to, indent int, order *Order) {
	column := n.Column - 1
	var entries []entry
	for _, item := range n.Content {
		floor := from - 1
		if len(entries) > 0 {
			floor = entries[len(entries)-1].line
		}
		line := item.Line - 1
		for line > floor && !isItem(f.lines[line], column) {
			line--
		}
		if line <= floor {
			f.fail(item.Line-1, "the hyphen of this element is not where the others are")
			return
		}
		entries = append(entries, entry{value: item, line: line})
	}
	rest := f.entriesOf(entries, from, to, column)
	for i := range entries {
		f.trivia(entries[i].from, entries[i].line, indent)
		f.item(&entries[i], column, indent, order)
	}
	f.trivia(rest, to, indent+step)
}

// isItem reports whether a line begins an element of a list at a column.
func isItem(line string, column int) bool {
	return indentOf(line) == column && len(line) > column && line[column] == '-' &&
		(len(line) == column+1 || line[column+1] == ' ')
}

// item writes an element of a list.
func (f *formatter) item(e *entry, column, indent int, order *Order) {
	head := strings.Repeat(" ", indent) + "-"
	if !isBlock(e.value, e.value.Kind) || e.value.Kind == yaml.ScalarNode {
		after := f.lines[e.line][column+1:]
		shift := indent - column
		if e.value.Line-1 == e.line {
			shift = indent + step - (e.value.Column - 1)
		}
		f.value(e, head, after, indent+step, shift, order)
		return
	}
	if e.value.Kind == yaml.SequenceNode {
		f.fail(e.line, "a list in a list is not formatted")
		return
	}
	// Without its hyphen the element is a mapping like others.
	f.lines[e.line] = strings.Repeat(" ", column+1) + f.lines[e.line][column+1:]
	from := e.line
	if isBlank(f.lines[from]) {
		from++ // the hyphen stood alone
	}
	begin := len(f.out)
	f.mapping(e.value, from, e.end, indent+step, order)
	for begin < len(f.out) && f.out[begin].text == "" && !f.out[begin].fixed {
		f.out = slices.Delete(f.out, begin, begin+1)
	}
	if begin < len(f.out) {
		f.out[begin].text = head + " " + strings.TrimLeft(f.out[begin].text, " ")
	}
}

// value writes a value that is written as it stands: a scalar, or what is in brackets. head stands before it, after is
// the rest of its line; further lines are shifted.
func (f *formatter) value(e *entry, head, after string, indent, shift int, order *Order) {
	trimmed := strings.TrimSpace(after)
	block := e.value.Style&(yaml.LiteralStyle|yaml.FoldedStyle) != 0
	switch flow, rest, ok := formatFlow(trimmed, order); {
	case ok && e.value.Kind != yaml.ScalarNode && e.value.Line-1 == e.line && (rest == "" || isComment(rest)):
		f.out = append(f.out, written{text: head + " " + flow + rest})
	case isBlank(after) || isComment(after):
		f.out = append(f.out, written{text: head + strings.TrimRight(after, " \t")})
	default:
		f.out = append(f.out, written{text: head + " " + trimmed})
	}
	if header, _, _ := strings.Cut(trimmed, "#"); block && strings.Contains(header, "+") {
		f.fail(e.line, "a block that keeps the blank lines at its end (+) is not formatted")
		return
	}
	end := f.endOf(e, block)
	for i := e.line + 1; i < end; i++ {
		f.out = append(f.out, written{text: shifted(f.lines[i], shift), fixed: true})
	}
	f.trivia(end, e.end, indent)
}

// endOf returns where the lines of a value end, and comments that follow it begin. In a block what is indented as deep
// as its text is text.
func (f *formatter) endOf(e *entry, block bool) int {
	deepest := -1
	if block {
		for i := e.line + 1; i < e.end && deepest < 0; i++ {
			if !isBlank(f.lines[i]) {
				deepest = indentOf(f.lines[i])
			}
		}
	}
	end := e.end
	for end-1 > e.line {
		l := f.lines[end-1]
		if !isBlank(l) && (!isComment(l) || block && indentOf(l) >= deepest) {
			break
		}
		end--
	}
	return end
}

// shifted returns a line that is indented by more spaces, or by less.
func shifted(line string, by int) string {
	switch {
	case isBlank(line) && by <= 0:
		return strings.Repeat(" ", max(0, len(line)+by))
	case line == "":
		return ""
	case by >= 0:
		return strings.Repeat(" ", by) + line
	}
	return line[min(-by, indentOf(line)):]
}
