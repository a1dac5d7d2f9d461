package offline

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/text"
)

// hasAction reports whether a text contains a template action, {{, that is not in quotes, a comment or a block of text.
// Only such an action changes the YAML around it. Other actions are values, for example in alerts of Prometheus.
func hasAction(data []byte) bool {
	if !bytes.Contains(data, []byte("{{")) {
		return false
	}
	var quote byte // that is open
	block := -1    // the block of text that is open has lines with more spaces; -1 without a block
	for line := range bytes.Lines(data) {
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

// Unrendered returns an error if a field or an annotation with an image or a host contains a template action. Objects
// from a cluster may contain such text.
func (o Object) Unrendered() error {
	if uid, _ := field(o.JSON, "metadata", "uid"); uid != nil || !bytes.Contains(o.JSON, []byte("{{")) {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(o.JSON))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil // the end, or an error that other code returns
		}
		_, action, found := strings.Cut(token.String(), "{{")
		if inside, n := dec.StackIndex(dec.StackDepth()); !found || inside == '{' && n%2 == 1 { // the name of a field
			continue
		}
		if path, ok := imageOrHost(dec.StackPointer()); ok {
			action, _, _ = strings.Cut(action, "}}")
			return o.failed(fmt.Errorf("%s contains the template action %s: render it first, for example with helm template",
				path, text.Quote("{{"+action+"}}")))
		}
	}
}

// imageOrHost returns the path of a field. It reports whether the field contains an image or a host.
func imageOrHost(pointer jsontext.Pointer) (path string, ok bool) {
	name := ""
	for token := range pointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil || path == "metadata.annotations" {
			path += "[" + text.Name(token) + "]"
			continue
		}
		name, path = token, strings.TrimPrefix(path+"."+text.Name(token), ".")
	}
	if key, ok := strings.CutPrefix(path, "metadata.annotations["); ok {
		return path, slices.ContainsFunc([]string{"host", "name", "domain", "dns", "alias", "fqdn"}, func(word string) bool {
			return strings.Contains(key, word)
		})
	}
	return path, !strings.HasPrefix(path, "metadata.") && slices.Contains([]string{
		"image", "reference", "host", "hosts", "hostname", "hostnames", "subdomain", "externalName", "dnsName", "dnsNames",
		"commonName", "literalSubject", "uris", "targets",
	}, name)
}
