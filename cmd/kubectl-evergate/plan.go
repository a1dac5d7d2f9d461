package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/policy"
)

const (
	shownBeforeApply = 10  // objects that apply lists: a screen
	shownByPlan      = 100 // objects that plan lists unless told otherwise, as evergate plan does
)

func newPlan(a *app) *cobra.Command {
	var file string
	var limit int
	c := &cobra.Command{
		Use: "plan -f POLICY", Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error { return errors.New("not yet") },
	}
	c.Flags().StringVarP(&file, "filename", "f", "", "`file` or directory of the policy, or - for stdin")
	c.Flags().IntVar(&limit, "limit", shownByPlan, "how many objects to list, and 0 for none")
	return c
}

func (a *app) plan(ctx context.Context, c *live.Cluster, was, is *policy.Policy, limit int) (denies bool, err error) {
	return false, nil
}
