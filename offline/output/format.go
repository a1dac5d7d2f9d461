package output

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"

	"sigs.k8s.io/yaml"
)

// Format is the format of a report.
type Format string

// The formats.
const (
	Text   Format = "text"   // for users; may change
	JSON   Format = "json"   // for programs; documented by the type of the value
	YAML   Format = "yaml"   // for programs; has the same fields as JSON
	JUnit  Format = "junit"  // for test reports in CI
	SARIF  Format = "sarif"  // for code scanning
	GitHub Format = "github" // workflow commands of GitHub Actions
)

// Write writes a report in a format. For JUnit, SARIF and GitHub, the report must be a CaseReport.
func Write(w io.Writer, f Format, r Report, o Options) error {
	cases := func() *findings { return &findings{o, r.(CaseReport).Cases()} }
	switch f {
	case Text:
		p := Printer{Options: o}
		r.WriteText(&p)
		_, err := w.Write(p.Bytes())
		return err
	case JUnit:
		return cases().writeJUnit(w)
	case SARIF:
		return cases().writeSARIF(w)
	case GitHub:
		return cases().writeGitHub(w)
	default:
		return Encode(w, f, r)
	}
}

// Encode writes a value as one JSON or YAML document. If a string in it could control a terminal or a CI runner, YAML
// is written in flow style, which has the escapes of JSON.
func Encode(w io.Writer, f Format, value any) error {
	data, err := encode(value)
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

// encode does not escape HTML characters. Browsers do not read the output, and text such as <none> should be
// readable.
func encode(value any) ([]byte, error) {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	err := encoder.Encode(value)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// escape escapes, in JSON, unprintable characters above ASCII, DEL, and the second of two number signs. These occur
// only in strings. A character above U+FFFF has two escapes in JSON and one in YAML.
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

// beginsCommand reports whether a string in JSON, or a line in a string, begins with two colons.
func beginsCommand(data []byte) bool {
	for {
		before, after, found := bytes.Cut(data, []byte("::"))
		if !found {
			return false
		}
		before = bytes.TrimRight(before, " ")
		if n := len(before); n > 0 && before[n-1] == '"' || n > 1 && before[n-2] == '\\' {
			return true // a quote, or an escape such as the escape of a newline
		}
		data = after
	}
}
