package main

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/internal/output"
	"github.com/evergate/evergate/policy"
)

func newHistory(a *app) *cobra.Command {
	var format output.Flag
	c := &cobra.Command{
		Use:   "history",
		Short: "List the last ten policies",
		Long: `History lists the policies that were applied with kubectl evergate, the newest first: at most ten, each an
immutable ConfigMap beside the policy's own. The one with a star is in the ConfigMap now. If another client has applied
that, history keeps it as a revision too.`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return a.history(c.Context(), format.Format()) },
	}
	formatFlag(c, &format, "the revisions")
	return c
}

// revision is a row of the history. Its JSON is an interface.
type revision struct {
	Revision int       `json:"revision"`
	Policy   string    `json:"policy"` // its hash
	Applied  time.Time `json:"applied"`
	By       string    `json:"by,omitempty"`
	Note     string    `json:"note,omitempty"`
	Current  bool      `json:"current"` // it is in the ConfigMap
}

func (a *app) history(ctx context.Context, format output.Format) error {
	c, err := a.cluster(ctx)
	if err != nil {
		return err
	}
	replicas, err := c.Replicas(ctx)
	if err != nil {
		a.say("%v", err) // the name of the ConfigMap is then the kit's
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
	rows := []revision{}
	found := false
	for _, r := range all {
		is := !found && revise.Same(current, r.Files) // an older one may be the same policy
		found = found || is
		rows = append(rows, revision{r.Number, r.Hash, r.At.UTC(), r.By, r.Note, is})
	}
	if format != output.Text {
		return output.Encode(a.stdout, format, rows)
	}
	return writeHistory(a.stdout, rows)
}

func writeHistory(to io.Writer, rows []revision) error {
	if len(rows) == 0 {
		_, err := fmt.Fprintln(to, "there is no revision: kubectl evergate apply writes them")
		return err
	}
	w := tabwriter.NewWriter(to, 0, 0, 3, ' ', 0)
	fmt.Fprintln(w, "\tREVISION\tPOLICY\tAPPLIED\tBY\tNOTE")
	for _, r := range rows {
		star := ""
		if r.Current {
			star = "*"
		}
		fmt.Fprintf(w, "%s\t%d\t%s\t%s\t%s\t%s\n", star, r.Revision, r.Policy, r.Applied.Format(time.RFC3339), dash(r.By),
			dash(r.Note))
	}
	return w.Flush()
}

// adopt keeps the policy of the ConfigMap as a revision if another client has applied it. A rollback can then restore
// it. A policy that does not load is not kept.
func adopt(ctx context.Context, p *revise.Policies, current *corev1.ConfigMap) error {
	files := revise.Files(current)
	loaded, err := policy.Load(files...)
	if len(files) == 0 || err != nil {
		return nil //nolint:nilerr // status reports it
	}
	_, err = p.Record(ctx, files, loaded.Hash(), "", "found in force")
	return err
}

// dash stands for what is empty, in a table.
func dash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func newRollback(a *app) *cobra.Command {
	var f applyFlags
	c := &cobra.Command{
		Use:   "rollback [REVISION]",
		Short: "Put a policy into force that was in force before",
		Long: `Rollback applies a revision, as kubectl evergate apply does a file: it says what that would change, asks if
something would be newly denied, and waits until every replica has it. Without a number it takes the newest whose policy
is not in force.`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: a.completions(revisionNames),
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

// revision returns the policy of a revision, by its number or 0.
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
		return change{}, &foundError{err}
	}
	return change{r.Files, fmt.Sprintf("rollback to %d", r.Number)}, nil
}
