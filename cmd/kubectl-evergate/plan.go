package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/offline/plan"
	"github.com/evergate/evergate/policy"
)

const (
	shownBeforeApply = 10  // objects that apply lists: one screen
	shownByPlan      = 100 // objects that plan lists by default, as in evergate plan
)

// planFlags are the flags of plan. apply sets them itself.
type planFlags struct {
	file  string
	limit int
	all   bool

	format output.Format
}

func newPlan(a *app) *cobra.Command {
	var f planFlags
	var format *output.Format
	c := &cobra.Command{
		Use:   "plan POLICY",
		Short: "Show which objects in the cluster a policy would decide differently",
		Long: `Plan compares a policy with the policy in the ConfigMap, like evergate plan, for each object in the cluster of
a supported kind. It includes workloads with their Pod templates, but not the custom resources in the templates block of
a policy. It reports the objects that would be newly denied, newly allowed, newly warned about or rewritten differently
if they were created again.

Plan reads objects page by page. It leaves out objects in namespaces that no webhook matches or, in a cluster without
webhooks, no native policy. Rule sets apply to objects in the namespaces that their webhooks match. For Pods that were
rewritten, plan uses the original images in their annotation, which tenants may write.

Exit code 1 means that objects would be newly denied.`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			f.format = *format
			return a.planCommand(c.Context(), &f, args)
		},
	}
	flags := c.Flags()
	flags.StringVarP(&f.file, "filename", "f", "", "`file` or directory of the policy, or - (stdin)")
	flags.IntVar(&f.limit, "limit", shownByPlan, "maximum number of listed objects; 0 lists none")
	format = cli.DefineFormat(flags, "the plan")
	flags.BoolVar(&f.all, "all-namespaces", false, "include objects in namespaces that no webhook matches")
	return c
}

func (a *app) planCommand(ctx context.Context, f *planFlags, args []string) error {
	files, err := a.readPolicy(ctx, append(args, f.file)...)
	if err != nil {
		return err
	}
	is, err := a.load(files)
	if err != nil {
		return err
	}
	c, err := a.cluster(ctx)
	if err != nil {
		return err
	}
	replicas, err := c.Replicas(ctx)
	if err != nil {
		a.say("%v", err) // the default name of the ConfigMap is then used
	}
	current, err := policies(c, replicas).Current(ctx)
	if err != nil {
		return err
	}
	was, err := policy.Load(revise.Files(current)...)
	if err != nil {
		return fmt.Errorf("the current policy does not load: %w", err)
	}
	report, err := a.plan(ctx, c, f, was, is)
	switch {
	case err != nil:
		return err
	case report.Denies():
		return cli.Exit(cli.Found)
	case report.Summary.Errors > 0:
		return errors.New("some objects could not be validated")
	}
	return nil
}

// plan compares two policies on the objects in a cluster, and writes the changes. was may be nil.
func (a *app) plan(
	ctx context.Context, c *live.Cluster, f *planFlags, was, is *policy.Policy,
) (*plan.Report, error) {
	options := plan.Options{
		Old: was, New: is, Options: offline.Options{Now: a.now(), Recorded: true}, Limit: f.limit,
	}
	objects := grouped(c.Objects.Objects(ctx, true))
	in, err := readScope(ctx, c)
	switch {
	case err != nil:
		a.say("validating objects in all namespaces with all rule sets, because the webhooks or namespaces cannot be "+
			"read: %v", err)
		options.Sets = []string{"*"}
	case f.all:
		options.SetsOf = in.sets
	default:
		a.say("%s match %d of %d namespaces; objects in the others are left out", in.by, len(in.matched), len(in.labels))
		options.SetsOf, objects = in.sets, in.within(objects)
	}
	p := plan.New(options)
	p.AddAll(objects)
	report := p.Report()
	cli.Say(a.stderr, report.Errors...)
	return report, cli.Write(a.stdout, f.format, report, output.Options{})
}
