package cmd

import (
	"fmt"
	"io"
	"os"

	"github.com/evergate/evergate/internal/output"
)

// writeReport writes what a command has found in a format other than text: value as JSON or YAML, otherwise its cases.
func writeReport(w io.Writer, f output.Format, value any, report output.Report, cases func() []output.Case) error {
	err := output.Write(w, f, value, func() *output.Report {
		report.Version, report.Cases = thisBuild().Version, cases()
		report.Dir, _ = os.Getwd() // where it is not known, files are written as they were named
		return &report
	})
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}
