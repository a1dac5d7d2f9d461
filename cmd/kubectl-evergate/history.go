package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

func newHistory(a *app) *cobra.Command {
	var format *output.Format
	c := &cobra.Command{
		Use:   "history",
		Short: "List the last ten policies",
		Long: `History lists the policies that were applied with kubectl evergate, the newest first. It keeps at most ten
revisions, each in an immutable ConfigMap next to the ConfigMap with the policy. A star marks the policy that is in the
ConfigMap now. If another client has applied this policy, history adds it as a revision.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.history(c.Context(), *format) },
	}
	format = cli.DefineFormat(c.Flags(), "the revisions")
	return c
}

func (a *app) history(ctx context.Context, format output.Format) error {
	c, err := a.cluster(ctx)
	if err != nil {
		return err
	}
	replicas, err := c.Replicas(ctx)
	if err != nil {
		a.say("%v", err) // the default name of the ConfigMap is then used
	}
	p := policies(c, replicas)
	current, err := p.Current(ctx)
	if err != nil {
		return err
	}
	if err := adopt(ctx, p, current); err != nil {
		a.say("the policy in the ConfigMap is not in the history: %v", err)
	}
	all, err := p.Revisions(ctx)
	if err != nil {
		return err
	}
	// The newest revision first, because an older one may contain the same policy.
	if i := slices.IndexFunc(all, func(r revise.Revision) bool { return revise.Same(current, r.Files) }); i >= 0 {
		all[i].Current = true
	}
	return cli.Write(a.stdout, format, append(revisions{}, all...), output.Options{})
}

type revisions []revise.Revision

// WriteText writes a table of the revisions.
func (rs revisions) WriteText(p *output.Printer) {
	if len(rs) == 0 {
		p.Line("there are no revisions: kubectl evergate apply creates them")
		return
	}
	table := [][]output.Cell{row(" ", "REVISION", "POLICY", "APPLIED", "BY", "NOTE")}
	for _, r := range rs {
		star := " "
		if r.Current {
			star = "*"
		}
		table = append(table,
			row(star, strconv.Itoa(r.Number), r.Hash, r.At.Format(time.RFC3339), r.By, r.Note))
	}
	p.Table(table, nil)
}

// adopt records the policy in the ConfigMap as a revision if another client has applied it. A rollback can then
// restore it. It does not record a policy that does not load.
func adopt(ctx context.Context, p *revise.Policies, current *corev1.ConfigMap) error {
	files := revise.Files(current)
	loaded, err := policy.Load(files...)
	if len(files) == 0 || err != nil {
		return nil //nolint:nilerr // status reports it
	}
	_, err = p.Record(ctx, files, loaded.Hash(), "", "found in the ConfigMap")
	return err
}

func newRollback(a *app) *cobra.Command {
	var f applyFlags
	c := &cobra.Command{
		Use:   "rollback [REVISION]",
		Short: "Apply an earlier policy again",
		Long: `Rollback applies a revision in the same way as kubectl evergate apply. It reports the changes, asks for
confirmation if objects would be newly denied, and waits until every replica has the policy. Without a number, it
applies the newest revision that differs from the current policy.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completeRevisions,
		RunE: func(c *cobra.Command, args []string) error {
			number := 0
			if len(args) > 0 {
				var err error
				if number, err = strconv.Atoi(args[0]); err != nil || number < 1 {
					return fmt.Errorf("%q is not the number of a revision: kubectl evergate history lists them", args[0])
				}
			}
			return a.apply(c.Context(), &f,
				func(ctx context.Context, p *revise.Policies, current *corev1.ConfigMap) (change, error) {
					return a.revision(ctx, p, current, number)
				})
		},
	}
	f.define(c)
	return c
}

// revision returns the policy of a revision. number is 0 for the default revision.
func (a *app) revision(
	ctx context.Context, p *revise.Policies, current *corev1.ConfigMap, number int,
) (change, error) {
	all, err := p.Revisions(ctx)
	if err != nil {
		return change{}, err
	}
	inForce := ""
	if loaded, err := policy.Load(revise.Files(current)...); err == nil {
		inForce = loaded.Hash()
	}
	r, err := revise.Find(all, number, inForce)
	if err != nil {
		return change{}, cli.Problem(err)
	}
	return change{r.Files, fmt.Sprintf("rollback to %d", r.Number)}, nil
}
