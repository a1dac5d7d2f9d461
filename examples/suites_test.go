package examples_test

import (
	"bytes"
	"testing"

	"github.com/evergate/evergate/offline/suiterunner"
)

// TestSuites runs the test suites of the policies. They reach every entry.
func TestSuites(t *testing.T) {
	files := must(suiterunner.Find([]string{"policies"}))
	report := suiterunner.Run(files, nil)
	if report.Passed && report.Covered() && len(report.Coverage) == len(policies(t)) {
		return
	}
	var text bytes.Buffer
	if err := report.WriteText(&text, suiterunner.TextOptions{OnlyFailures: true}); err != nil {
		t.Fatal(err)
	}
	t.Errorf("%v\n%s%d policies of %d have a suite", report.Errors, text.String(), len(report.Coverage), len(policies(t)))
}
