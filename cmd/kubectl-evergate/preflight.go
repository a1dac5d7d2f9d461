package main

import (
	"context"
	"encoding/json"
	"io"
	"iter"
	"strings"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/offline/output"
)

func newPreflight(a *app) *cobra.Command {
	var format output.Flag
	c := &cobra.Command{
		Use:   "preflight",
		Short: "Find mistakes in the installation that would break the cluster",
		Long: `Preflight checks the running installation for mistakes that would break the cluster, like evergate preflight
does with the output of deploy/collect.sh. It also creates a Pod of the Deployment and an object for each webhook as dry
runs, and reports the answers. It doesn't change the cluster. docs/preflight.md lists all findings. Objects that you may
not read are left out and listed, and findings that need them are not made. Preflight keeps only the certificates from
Secrets.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.preflight(c.Context(), format.Format()) },
	}
	formatFlag(c, &format, "the report")
	return c
}

// formatFlag defines the flag --output of a command.
func formatFlag(c *cobra.Command, format *output.Flag, what string) {
	*format = output.NewFlag(output.Values()...)
	c.Flags().VarP(format, "output", "o", format.Usage(what))
	words := cobra.FixedCompletions(strings.Split(format.Type(), "|"), cobra.ShellCompDirectiveNoFileComp)
	_ = c.RegisterFlagCompletionFunc("output", words) // fails only if the flag already has one
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
		} else if hash != "" && !yield(filesStatus(hash)) {
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

// filesStatus returns the answer of the API server to the probe, in the form of deploy/collect.sh, because no object
// contains it.
func filesStatus(hash string) (offline.Object, error) {
	data, err := json.Marshal(metav1.Status{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}, Status: metav1.StatusFailure,
		Message: export.ProbePolicy + ": exported from [policy " + hash + "]",
	})
	return offline.Object{
		Origin: offline.Origin{File: "files of the API server"}, APIVersion: "v1", Kind: "Status", JSON: data,
	}, err
}
