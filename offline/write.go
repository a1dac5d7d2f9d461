package offline

import (
	"encoding/json"
	"fmt"
	"io"

	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/internal/text"
)

// Format is how a report is written.
type Format string

// The formats.
const (
	Text Format = "text" // for users; may change
	JSON Format = "json" // for programs, as Report documents it
	YAML Format = "yaml" // the same
)

// Set accepts the names of the formats. Together with String and Type it makes Format a flag of a command line.
func (f *Format) Set(name string) error {
	switch format := Format(name); format {
	case Text, JSON, YAML:
		*f = format
		return nil
	}
	return fmt.Errorf("%s is not a format: write text, json or yaml", text.Quote(name))
}

// String returns the name.
func (f *Format) String() string { return string(*f) }

// Type is what stands for a value in the help.
func (f *Format) Type() string { return "text|json|yaml" }

// Write writes the report in one piece. What could not be understood is not in the text: it belongs on stderr.
func (r *Report) Write(w io.Writer, f Format) error {
	if f == Text {
		return r.WriteText(w, TextOptions{})
	}
	return Encode(w, f, r)
}

// Encode writes a value as one JSON or YAML document.
func Encode(w io.Writer, f Format, value any) error {
	if f == YAML {
		data, err := yaml.Marshal(value)
		if err != nil {
			return err
		}
		_, err = w.Write(data)
		return err
	}
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false) // no browser reads it, and <none> should be readable
	encoder.SetIndent("", "  ")
	return encoder.Encode(value)
}
