package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/internal/output"
	"github.com/evergate/evergate/plan"
	"github.com/evergate/evergate/policy"
)

const (
	shownBeforeApply = 10  // objects that apply lists: a screen
	shownByPlan      = 100 // objects that plan lists unless told otherwise, as evergate plan does
)

// planFlags are those of plan, and what apply has in their place.
type planFlags struct {
	file  string
	limit int
	all   bool

	output output.Flag
}

func newPlan(a *app) *cobra.Command {
	var f planFlags
	c := &cobra.Command{
		Use:   "plan -f POLICY",
		Short: "Say what a policy would change for the objects of the cluster",
		Long: `Plan compares a policy with the one in the ConfigMap, as evergate plan does, for each object of the cluster
of a kind that is judged, workloads with their templates too, but no custom resources of a policy's templates: what
would be newly denied, newly allowed, newly warned of and rewritten otherwise, if it were created anew. Objects are
read page by page. Those in namespaces that no webhook matches are left out. Rules of a set judge objects in the
namespaces that its webhook matches. Pods that were rewritten are judged by the original images in their records,
which tenants may write.

It exits with 1 if something would be newly denied.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.planCommand(c.Context(), &f) },
	}
	flags := c.Flags()
	flags.StringVarP(&f.file, "filename", "f", "", "`file` or directory of the policy, or - for stdin")
	flags.IntVar(&f.limit, "limit", shownByPlan, "how many objects to list, and 0 for none")
	formatFlag(c, &f.output, "the plan")
	flags.BoolVar(&f.all, "all-namespaces", false, "also objects in namespaces that no webhook matches")
	return c
}

func (a *app) planCommand(ctx context.Context, f *planFlags) error {
	if f.file == "" {
		return errors.New("plan what? name a policy with -f FILE, -f DIRECTORY or -f - for stdin")
	}
	files, err := a.readPolicy(ctx, f.file)
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
		a.say("%v", err) // the name of the ConfigMap is then the kit's
	}
	current, err := policies(c, replicas).Current(ctx)
	if err != nil {
		return err
	}
	was, err := policy.Load(revise.Files(current)...)
	if err != nil {
		return fmt.Errorf("the policy that is applied now does not load: %w", err)
	}
	report, err := a.plan(ctx, c, f, was, is)
	switch {
	case err != nil:
		return err
	case report.Denies():
		return &foundError{}
	case report.Summary.Errors > 0:
		return errors.New("not all objects could be judged")
	}
	return nil
}

// plan compares two policies for the objects of a cluster, and writes what would change. was may be nil.
func (a *app) plan(
	ctx context.Context, c *live.Cluster, f *planFlags, was, is *policy.Policy,
) (*plan.Report, error) {
	options := plan.Options{Old: was, New: is, Now: a.now(), FromRecord: true, Limit: f.limit}
	objects := grouped(c.Objects.Objects(ctx, true))
	in, err := readScope(ctx, c)
	switch {
	case err != nil:
		a.say("objects of all namespaces are judged, by the rules of all sets: which ones a webhook matches may not be "+
			"read: %v", err)
		options.Sets = []string{"*"}
	case f.all:
		options.SetsOf = in.sets
	default:
		a.say("%d of %d namespaces are matched; objects of the others are left out", len(in.matched), len(in.labels))
		options.SetsOf, objects = in.sets, in.within(objects)
	}
	p := plan.New(options)
	p.AddAll(objects)
	report := p.Report()
	for _, line := range report.Errors {
		a.say("%s", line)
	}
	if f.output.Format() == output.JSON || f.output.Format() == output.YAML {
		err = output.Encode(a.stdout, f.output.Format(), report)
	} else {
		err = report.WriteText(a.stdout, plan.TextOptions{})
	}
	if err != nil {
		return nil, fmt.Errorf("write the plan: %w", err)
	}
	return report, nil
}
