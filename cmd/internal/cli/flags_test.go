package cli

import (
	"testing"

	"github.com/spf13/pflag"
)

func TestFormat(t *testing.T) {
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	NewReport(nil, "error").Define(flags, "the report", "")
	f := flags.Lookup("output")
	if want := "how to write the report: text, json, yaml, junit, sarif or github"; f.Usage != want {
		t.Error(f.Usage)
	}
	if f.Value.String() != "text" || f.Value.Type() != "text|json|yaml|junit|sarif|github" {
		t.Error(f.Value, f.Value.Type())
	}
	if err := f.Value.Set("sarif"); err != nil || f.Value.String() != "sarif" {
		t.Error(err, f.Value)
	}
	format := DefineFormat(pflag.NewFlagSet("", pflag.ContinueOnError), "the version")
	if *format != "text" {
		t.Error(*format)
	}
	c := NewChoice(values()...)
	if err := c.Set("sarif"); err == nil || err.Error() != `"sarif" is not known: write text, json or yaml` {
		t.Error(err)
	}
}
