package output

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

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
