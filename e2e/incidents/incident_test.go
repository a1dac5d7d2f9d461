// Package incidents is the catalogue. It contains one test for each outage that a webhook has caused, with the names in
// docs/guarantees.md. Each test installs the product as users do, adds load if necessary, makes the incident happen,
// and compares the results with Evergate's guarantees. It then repeats this without the countermeasure, which must
// break the guarantee, because a test that cannot fail proves nothing.
//
//	make e2e RUN=I6      # one of them
//	make e2e             # all, short
//	make e2e SHORT=1     # the incidents of the gate: without long ones, variants and controls
//	make e2e-long        # all, as long as the incidents were
package incidents

import (
	"fmt"
	"os"
	"testing"
	"time"

	"github.com/evergate/evergate/e2e/internal/cluster"
	"github.com/evergate/evergate/e2e/internal/report"
)

// incident is one row of the catalogue.
type incident struct {
	id    string // such as I1
	what  string // the event, for the report
	guard string // the feature that prevents it
	// product is installed for the incident: the manifests, with changes that make a short run faster.
	product cluster.Product
	// happen makes the incident happen, under load if necessary, and returns the results. A control run may stop when
	// the guarantee is broken.
	happen func(t *testing.T, l *lab, control bool) outcome
	// lacking describes what the control run removes, and without removes it. A variant has neither, because another
	// test of the incident has its control run. go test -short skips variants, control runs and long incidents.
	lacking string
	without func(t *testing.T, l *lab)
	// controls means that happen runs the control itself, next to the incident.
	controls bool
	// long means that only the complete run includes the incident, because it takes minutes and is about the quality of
	// a working service. docs/guarantees.md lists these incidents.
	long bool
}

// outcome contains the results of a run.
type outcome struct {
	figures []report.Figure
	broken  []string // violations of the guarantee; empty if it held
}

// figure records a counted or measured value.
func (o *outcome) figure(name, format string, args ...any) {
	o.figures = append(o.figures, report.Figure{Name: name, Value: fmt.Sprintf(format, args...)})
}

// breaks records a violation of the guarantee.
func (o *outcome) breaks(format string, args ...any) {
	o.broken = append(o.broken, fmt.Sprintf(format, args...))
}

// add appends another outcome.
func (o *outcome) add(other outcome) {
	o.figures = append(o.figures, other.figures...)
	o.broken = append(o.broken, other.broken...)
}

// try runs an incident and its control run.
func try(t *testing.T, in incident) {
	if testing.Short() && (in.long || in.without == nil && !in.controls) {
		t.Skip("-short skips variants and long incidents")
	}
	l := open(t)
	t.Run("holds", func(t *testing.T) {
		l.install(t, in.product)
		o := in.run(t, l, false)
		for _, why := range o.broken {
			t.Error(why)
		}
	})
	if in.without == nil || testing.Short() {
		return
	}
	t.Run("control", func(t *testing.T) {
		l.install(t, in.product)
		in.without(t, l)
		if o := in.run(t, l, true); len(o.broken) == 0 && !t.Failed() {
			t.Errorf("%s, and nothing broke: the test above cannot detect this failure", in.lacking)
		}
	})
}

// run makes the incident happen once and records the results.
func (in incident) run(t *testing.T, l *lab, control bool) outcome {
	t.Helper()
	begun := time.Now()
	o := in.happen(t, l, control)
	row := report.Row{
		Incident: in.id, What: in.what, Guard: in.guard, Control: control,
		Figures: o.figures, Broken: o.broken, Took: time.Since(begun),
	}
	if control {
		row.Guard = in.lacking
	}
	for _, f := range o.figures {
		t.Logf("%s: %s", f.Name, f.Value)
	}
	if control {
		for _, why := range o.broken {
			t.Logf("seen: %s", why)
		}
	}
	book.Add(row)
	return o
}

// control records a control run next to the incident itself, and fails the test if the guarantee was not broken.
func (in incident) control(t *testing.T, lacking string, o outcome, took time.Duration) {
	t.Helper()
	row := report.Row{
		Incident: in.id, What: in.what, Guard: lacking, Control: true, Figures: o.figures, Broken: o.broken, Took: took,
	}
	book.Add(row)
	t.Logf("control: %s: %v %v", lacking, o.figures, o.broken)
	if !row.Right() {
		t.Errorf("%s, and nothing broke: this test cannot detect this failure", lacking)
	}
}

// long reports whether incidents last as long as they originally did, instead of a few minutes each.
func long() bool { return os.Getenv("EVERGATE_E2E_LONG") != "" }

// lasting returns how long something lasts in this run.
func lasting(short, whole time.Duration) time.Duration {
	if long() {
		return whole
	}
	return short
}

// book contains the results of the whole run for TestMain. It is the only object that all tests share.
var book = new(report.Report)

// TestMain runs the tests and, if EVERGATE_E2E_REPORT is set, writes the report to that file.
func TestMain(m *testing.M) {
	begun, revision := time.Now(), revision()
	code := m.Run()
	if file := os.Getenv("EVERGATE_E2E_REPORT"); file != "" && !book.Empty() {
		if err := writeReport(file, begun, revision); err != nil {
			fmt.Fprintln(os.Stderr, err)
			code = 1
		}
	}
	os.Exit(code)
}

func writeReport(file string, begun time.Time, revision string) error {
	f, err := os.Create(file)
	if err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	describeRun(begun, revision)
	if err := book.Write(f); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return f.Close()
}
