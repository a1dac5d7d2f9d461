package main

import (
	"context"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/internal/output"
)

func newPreflight(a *app) *cobra.Command {
	format := output.NewFlag(output.Values()...)
	c := &cobra.Command{
		Use:   "preflight",
		Short: "Say what of this cluster would break it",
		Long: `Preflight looks at what runs in the cluster and says what would break it, as evergate preflight does of what
deploy/collect.sh prints. docs/preflight.md lists all findings. What you may not read is left out, and said: findings
that need it are not made. Of Secrets only certificates are kept.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.preflight(c.Context(), format.Format()) },
	}
	c.Flags().VarP(&format, "output", "o", format.Usage("the report"))
	words := cobra.FixedCompletions(strings.Split(format.Type(), "|"), cobra.ShellCompDirectiveNoFileComp)
	_ = c.RegisterFlagCompletionFunc("output", words) // fails for a flag that has one
	return c
}

func (a *app) preflight(ctx context.Context, format output.Format) error {
	c, err := a.cluster()
	if err != nil {
		return err
	}
	inv, err := deploy.Read(c.Collect(ctx, func(what string, err error) {
		if live.NotServed(err) {
			a.say("not served: %s", what)
			return
		}
		a.say("left out: %s: %v", what, err)
	}))
	if err != nil {
		return err
	}
	report, err := deploy.Check(inv, deploy.Options{Now: a.now()})
	if err != nil {
		return err
	}
	if format != output.Text {
		err = output.Encode(a.stdout, format, report)
	} else {
		_, err = io.WriteString(a.stdout, report.Text())
	}
	if err == nil && report.Summary.Errors > 0 {
		err = &foundError{}
	}
	return err
}
