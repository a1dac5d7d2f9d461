package cmd

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/telemetry"
)

// countFlags select the destination of the counts of an audit.
type countFlags struct {
	pushURL string
	file    string
}

func (f *countFlags) define(flags *pflag.FlagSet) {
	flags.StringVar(&f.pushURL, "metrics-push-url", "",
		"`URL` of a Pushgateway that receives the counts of --as-existing, such as http://pushgateway.monitoring:9091")
	flags.StringVar(&f.file, "metrics-file", "", "`file` for the counts of --as-existing, in the Prometheus text format")
}

func (f *countFlags) wanted() bool { return f.pushURL != "" || f.file != "" }

// export writes and pushes the counts of a report. If one fails, it still does the other.
func (f *countFlags) export(ctx context.Context, r *offline.Report, now time.Time) error {
	if !f.wanted() {
		return nil
	}
	a := audited(r, now)
	var errs []error
	if f.file != "" {
		errs = append(errs, a.WriteFile(f.file))
	}
	if f.pushURL != "" {
		errs = append(errs, a.Push(ctx, f.pushURL))
	}
	return errors.Join(errs...)
}

// audited returns the counts of a report as metrics.
func audited(r *offline.Report, now time.Time) *telemetry.Audit {
	a := telemetry.NewAudit()
	for k, n := range r.Counts.Objects {
		a.Objects(k.Kind, k.Decision, n)
	}
	for k, n := range r.Counts.Findings {
		a.Findings(k.Namespace, k.Rule, k.Check, k.Mode, n)
	}
	for k, n := range r.Counts.Images {
		a.Images(k.Namespace, k.Entry, k.Outcome, n)
	}
	a.Ended(now, r.Policy.Hash, r.Summary.Errors)
	return a
}
