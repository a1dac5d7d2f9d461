package examples_test

import (
	"testing"

	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/offline/suiterunner"
)

// TestSuites runs the test suites of the policies. They reach every entry.
func TestSuites(t *testing.T) {
	files := must(suiterunner.Find([]string{"policies"}))
	report := suiterunner.Run(files, nil)
	if report.Passed && report.Covered() && len(report.Coverage) == len(policies(t)) {
		return
	}
	text := output.Printer{Options: output.Options{OnlyFailures: true}}
	report.WriteText(&text)
	t.Errorf("%v\n%s%d policies of %d have a suite", report.Errors, &text, len(report.Coverage), len(policies(t)))
}
