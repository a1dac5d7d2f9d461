package offline

import "bytes"

// hasAction reports whether a text contains a template action, {{, that is not in quotes, a comment or a block of text.
// Only such an action changes the YAML around it. Other actions are values, for example in alerts of Prometheus.
func hasAction(text []byte) bool {
	if !bytes.Contains(text, []byte("{{")) {
		return false
	}
	var quote byte // that is open
	block := -1    // the block of text that is open has lines with more spaces; -1 without a block
	for line := range bytes.Lines(text) {
		content := bytes.TrimSpace(line)
		if spaces := len(line) - len(bytes.TrimLeft(line, " ")); block >= 0 && (len(content) == 0 || spaces > block) {
			continue
		}
		var action bool
		if action, quote = scanLine(content, quote); action {
			return true
		}
		block = -1
		if last := content[bytes.LastIndexByte(content, ' ')+1:]; quote == 0 && isIndicator(last) {
			key := bytes.TrimLeft(line, "- ")
			if block = len(line) - len(key); key[0] == last[0] { // an element of a list
				block -= len("- ")
			}
		}
	}
	return false
}

// scanLine looks for an action in a line. It returns the quote that is open at the end of the line, or 0.
func scanLine(line []byte, quote byte) (action bool, open byte) {
	for i := 0; i < len(line); i++ {
		c := line[i]
		begins := i == 0 || bytes.IndexByte([]byte(" \t[{,:"), line[i-1]) >= 0 // a quote or a comment can begin here
		switch {
		case quote == '"' && c == '\\', quote == '\'' && bytes.HasPrefix(line[i:], []byte("''")):
			i++
		case c == quote:
			quote = 0
		case quote != 0:
		case begins && (c == '"' || c == '\''):
			quote = c
		case begins && c == '#':
			return false, 0
		case bytes.HasPrefix(line[i:], []byte("{{")):
			return true, 0
		}
	}
	return false, quote
}

// isIndicator reports whether the last word of a line begins a block of text: |, >- and so on.
func isIndicator(word []byte) bool {
	return len(word) > 0 && (word[0] == '|' || word[0] == '>') && len(bytes.Trim(word[1:], "+-0123456789")) == 0
}
