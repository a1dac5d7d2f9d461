package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/internal/text"
)

// Format is how a report is written.
type Format string

// The formats.
const (
	Text   Format = "text"   // for users; may change
	JSON   Format = "json"   // for programs, as the type of the value documents it
	YAML   Format = "yaml"   // the same
	JUnit  Format = "junit"  // for test reports of pipelines
	SARIF  Format = "sarif"  // for code scanning
	GitHub Format = "github" // commands of GitHub's workflows
)

// All returns all formats.
func All() []Format { return append(Values(), JUnit, SARIF, GitHub) }

// Values returns those of a command that has no cases: text, and a value for programs.
func Values() []Format { return []Format{Text, JSON, YAML} }

// Flag is the flag --output of a command. It is a pflag.Value.
type Flag struct {
	format Format
	known  []Format
}

// NewFlag returns a flag that accepts some formats, and is Text unless it is set.
func NewFlag(known ...Format) Flag { return Flag{Text, known} }

// Format returns what the flag says.
func (f *Flag) Format() Format { return f.format }

// Usage returns the help of the flag, for what is written.
func (f *Flag) Usage(what string) string { return "how to write " + what + ": " + f.names() }

func (f *Flag) names() string {
	last := len(f.known) - 1
	return join(f.known[:last], ", ") + " or " + string(f.known[last])
}

func join(formats []Format, separator string) string {
	names := make([]string, len(formats))
	for i, format := range formats {
		names[i] = string(format)
	}
	return strings.Join(names, separator)
}

// Set accepts the names of the formats.
func (f *Flag) Set(name string) error {
	if !slices.Contains(f.known, Format(name)) {
		return fmt.Errorf("%s is not a format: write %s", text.Quote(name), f.names())
	}
	f.format = Format(name)
	return nil
}

// String returns the name.
func (f *Flag) String() string { return string(f.format) }

// Type is what stands for a value in the help.
func (f *Flag) Type() string { return join(f.known, "|") }

// Write writes a value as JSON or YAML, and for other formats the report that is made of it.
func Write(w io.Writer, f Format, value any, report func() *Report) error {
	switch f {
	case JUnit:
		return report().writeJUnit(w)
	case SARIF:
		return report().writeSARIF(w)
	case GitHub:
		return report().writeGitHub(w)
	default:
		return Encode(w, f, value)
	}
}

// Encode writes a value as one JSON or YAML document. If a text in it could control a terminal or a runner of
// pipelines, YAML is written in its flow style, which has the escapes of JSON.
func Encode(w io.Writer, f Format, value any) error {
	data, err := encode(value, "  ")
	if err != nil {
		return err
	}
	escaped := escape(data, f)
	if f == YAML && len(escaped) == len(data) && !beginsCommand(data) {
		data, err = yaml.JSONToYAML(data)
	} else {
		data = append(escaped, '\n')
	}
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// JSONValue returns a value as JSON in one line, with the escapes of Encode.
func JSONValue(value any) ([]byte, error) {
	data, err := encode(value, "")
	return escape(data, JSON), err
}

// encode does not escape the characters of HTML: no browser reads it, and <none> should be readable.
func encode(value any, indent string) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", indent)
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// escape escapes in JSON the characters above ASCII that do not print, DEL, and the second of two number signs. Strings
// alone have these. A character above U+FFFF has two escapes in JSON and one in YAML.
func escape(data []byte, f Format) []byte {
	unprintable := func(c rune) bool { return c >= 0x7f && !unicode.IsPrint(c) }
	data = bytes.ReplaceAll(data, []byte("##"), []byte(`#\u0023`))
	if !bytes.ContainsFunc(data, unprintable) {
		return data
	}
	escaped := make([]byte, 0, len(data)+len(data)/8)
	for len(data) > 0 {
		c, size := utf8.DecodeRune(data)
		switch high, low := utf16.EncodeRune(c); {
		case !unprintable(c):
			escaped = append(escaped, data[:size]...)
		case c > 0xffff && f == YAML:
			escaped = fmt.Appendf(escaped, `\U%08x`, c)
		case c > 0xffff:
			escaped = fmt.Appendf(escaped, `\u%04x\u%04x`, high, low)
		default:
			escaped = fmt.Appendf(escaped, `\u%04x`, c)
		}
		data = data[size:]
	}
	return escaped
}

// beginsCommand reports whether a text in JSON, or a line of one, begins with two colons.
func beginsCommand(data []byte) bool {
	for {
		before, after, found := bytes.Cut(data, []byte("::"))
		if !found {
			return false
		}
		before = bytes.TrimRight(before, " ")
		if n := len(before); n > 0 && before[n-1] == '"' || n > 1 && before[n-2] == '\\' {
			return true // a quote, or an escape such as that of the end of a line
		}
		data = after
	}
}
