package cmd

import (
	"fmt"
	"io"
	"os"

	"github.com/evergate/evergate/offline/output"
)

// writeReport writes a report in a format other than text. JSON and YAML contain value, and the other formats contain
// the cases.
func writeReport(w io.Writer, f output.Format, value any, report output.Report, cases func() []output.Case) error {
	err := output.Write(w, f, value, func() *output.Report {
		report.Version, report.Cases = thisBuild().Version, cases()
		report.Dir, _ = os.Getwd() // if the directory is unknown, paths are written unchanged
		return &report
	})
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}
