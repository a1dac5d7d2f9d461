package main

import (
	"context"
	"iter"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/offline/output"
)

func newPreflight(a *app) *cobra.Command {
	var format *output.Format
	c := &cobra.Command{
		Use:   "preflight",
		Short: "Find mistakes in the installation that would break the cluster",
		Long: `Preflight checks the running installation for mistakes that would break the cluster, like evergate preflight
does with the output of deploy/collect.sh. It also creates a Pod of the Deployment and an object for each webhook as dry
runs, and reports the answers. It doesn't change the cluster. docs/preflight.md lists all findings. Objects that you may
not read are left out and listed, and findings that need them are not made. Preflight keeps only the certificates from
Secrets.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.preflight(c.Context(), *format) },
	}
	format = cli.DefineFormat(c.Flags(), "the report")
	return c
}

func (a *app) preflight(ctx context.Context, format output.Format) error {
	c, err := a.cluster(ctx)
	if err != nil {
		return err
	}
	objects, err := install.Read(a.collect(ctx, c))
	if err != nil {
		return err
	}
	joined, err := install.Join(objects)
	if err != nil {
		return err
	}
	report, err := deploy.Check(objects, deploy.Options{
		Now: a.now(), DryRuns: a.dryRuns(ctx, c, joined), Answers: c.Hello(ctx, joined),
	})
	if err != nil {
		return err
	}
	if err := cli.Write(a.stdout, format, report, output.Options{}); err != nil || report.Summary.Errors == 0 {
		return err
	}
	return cli.Exit(cli.Found)
}

// dryRuns creates a Pod of each Deployment that runs evergate serve, as a dry run.
func (a *app) dryRuns(ctx context.Context, c *live.Cluster, i *install.Install) map[string]deploy.DryRun {
	all := map[string]deploy.DryRun{}
	for _, s := range i.Servers {
		run, err := c.DryRunPod(ctx, s.Deployment)
		if err != nil {
			a.say("left out: a dry run of a Pod of %s: %v", s.Ref, err)
		}
		all[s.Name] = run
	}
	return all
}

// collect yields the input of preflight: the objects in the cluster, and the answer of its API server to the probe.
func (a *app) collect(ctx context.Context, c *live.Cluster) iter.Seq2[offline.Object, error] {
	return func(yield func(offline.Object, error) bool) {
		if hash, err := c.NativeFiles(ctx); err != nil {
			a.say("left out: files of the API server: %v", err)
		} else if hash != "" && !yield(live.Status("files of the API server", "",
			export.ProbePolicy+": exported from [policy "+hash+"]")) {
			return
		}
		var f forbidden
		var notServed []string
		objects := c.Collect(ctx, func(what string, err error) {
			switch {
			case live.NotServed(err):
				notServed = append(notServed, what)
			case !f.add(what, err):
				a.say("left out: %s: %v", what, err)
			}
		})
		objects(yield)
		if len(notServed) > 0 {
			a.say("not served: %s", text.ListUpTo(len(notServed), notServed))
		}
		if err := f.err(); err != nil {
			a.say("%v", err)
		}
	}
}
