package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/policy"
)

// applyFlags are those of apply and rollback.
type applyFlags struct {
	yes     bool
	noPlan  bool
	wait    bool
	force   bool
	timeout time.Duration

	bestEffort  bool // of the backstop
	unrewritten bool
}

// defaultTimeout is more than the minute and a half that kubelet takes at most to show a ConfigMap unasked.
const defaultTimeout = 3 * time.Minute

func (f *applyFlags) define(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask when something would be newly denied")
	flags.BoolVar(&f.noPlan, "no-plan", false, "do not list the objects of the cluster to see what would change for them")
	flags.BoolVar(&f.wait, "wait", true, "wait until every replica reports the policy")
	flags.DurationVar(&f.timeout, "timeout", defaultTimeout, "how long to wait")
	flags.BoolVar(&f.bestEffort, "best-effort", false, "leave to the webhooks what a backstop cannot say")
	flags.BoolVar(&f.unrewritten, "deny-unrewritten", false,
		"have a backstop that does not rewrite say from: mirrors: it denies Pods that no webhook has rewritten")
	flags.BoolVar(&f.force, "force-conflicts", false, "take the policy over from another manager of server-side apply")
}

func newApply(a *app) *cobra.Command {
	var f applyFlags
	var file string
	c := &cobra.Command{
		Use:   "apply -f POLICY",
		Short: "Put a policy into force, and see that every replica has it",
		Long: `Apply checks the policy, says what it would change for the objects of the cluster, asks if something would be
newly denied, and replaces the policy by server-side apply. What was in force is kept as a revision: kubectl evergate
history. It then has kubelet show the change at once, by an annotation on the Pods of Evergate, and waits until every
replica reports the hash of the policy. Without the right to patch Pods it waits for kubelet, a minute or so.

Where the cluster has a backstop, native policies that evergate export has written, it is renewed with the policy. What
they cannot say is refused before anything is applied, unless --best-effort leaves it to the webhooks.

A ConfigMap that Argo CD or Flux manages is refused: they would undo the change.`,
		Example: `  kubectl evergate apply -f policy.yaml
  kubectl evergate apply -f policies/ --yes --timeout 30s`,
		Args: cobra.NoArgs,
		RunE: func(c *cobra.Command, _ []string) error {
			if file == "" {
				return errors.New("apply what? name a policy with -f FILE, -f DIRECTORY or -f - for stdin")
			}
			files, err := a.readPolicy(c.Context(), file)
			if err != nil {
				return err
			}
			return a.apply(c.Context(), &f, func(context.Context, *revise.Policies, *corev1.ConfigMap) (change, error) {
				return change{files: files}, nil
			})
		},
	}
	c.Flags().StringVarP(&file, "filename", "f", "", "`file` or directory of the policy, or - for stdin")
	f.define(c)
	return c
}

// change is a policy that is to be in force.
type change struct {
	files []policy.File
	note  string // for the history
}

// apply puts into force the policy that find returns, which is told the one in force.
func (a *app) apply(
	ctx context.Context, f *applyFlags,
	find func(context.Context, *revise.Policies, *corev1.ConfigMap) (change, error),
) error {
	c, err := a.cluster(ctx)
	if err != nil {
		return err
	}
	replicas, err := c.Replicas(ctx)
	if err != nil {
		return err
	}
	p := policies(c, replicas)
	current, err := p.Current(ctx)
	if err != nil {
		return err
	}
	if err := revise.ManagedBy(current); err != nil {
		return &foundError{err}
	}
	to, err := find(ctx, p, current)
	if err != nil {
		return err
	}
	to.files = revise.Keyed(to.files, current)
	is, err := a.load(to.files)
	if err != nil {
		return err
	}
	native, err := a.renewal(ctx, f, c, current, to.files, is.Hash())
	if err != nil {
		return err
	}
	if revise.Same(current, to.files) {
		fmt.Fprintf(a.stdout, "policy %s is applied already\n", is.Hash())
	} else {
		if !f.noPlan {
			if err := a.confirm(ctx, f, c, current, is); err != nil {
				return err
			}
		}
		if err := a.replace(ctx, f, p, current, to, is.Hash()); err != nil {
			return err
		}
	}
	// At once, and not when all replicas have the policy: the backstop is for when they do not answer.
	if err := a.renew(ctx, native, is.Hash()); err != nil {
		return err
	}
	if !f.wait {
		return nil
	}
	return a.await(ctx, f, c, p, is.Hash())
}

// confirm says what a policy would change, and asks whether it may if that denies anything.
func (a *app) confirm(
	ctx context.Context, f *applyFlags, c *live.Cluster, current *corev1.ConfigMap, is *policy.Policy,
) error {
	was, err := policy.Load(revise.Files(current)...)
	if err != nil {
		a.say("the policy that is applied now does not load, so that nothing can be compared with it")
		was = nil
	}
	report, err := a.plan(ctx, c, &planFlags{limit: shownBeforeApply}, was, is)
	if err != nil {
		return err
	}
	why := ""
	switch {
	case report.Denies():
		why = "objects would be newly denied"
	case was != nil && enforces(was) && !enforces(is):
		why = "the policy enforces nothing any more"
	case report.Summary.Errors > 0:
		why = "not all objects could be judged"
	}
	if f.yes || why == "" {
		return nil
	}
	if file, ok := a.stdin.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return &foundError{errors.New(why + ", and there is no terminal to ask at: add --yes")}
	}
	return a.ask(ctx, why)
}

// enforces reports whether any entry of a policy does, in a rule set or outside of all.
func enforces(p *policy.Policy) bool {
	var blocks []string
	for block := range p.Counts().All() {
		blocks = append(blocks, block)
	}
	enforced := p.Strictest().Max() == policy.Enforce
	for _, set := range p.Sets() {
		if in := p.In(set, blocks...); in != nil {
			enforced = enforced || in.Strictest().Max() == policy.Enforce
		}
	}
	return enforced
}

// ask asks whether the policy is to be applied. The error says that it is not.
func (a *app) ask(ctx context.Context, why string) error {
	fmt.Fprintf(a.stderr, "evergate: %s. Apply the policy? [y/N] ", why)
	line, err := a.read(ctx, func(in io.Reader) ([]byte, error) { return bufio.NewReader(in).ReadBytes('\n') })
	if answer := strings.ToLower(strings.TrimSpace(string(line))); answer != "y" && answer != "yes" {
		return &foundError{errors.Join(errors.New("nothing was applied"), err)}
	}
	return nil
}

// replace writes the policy, and keeps it and the one before as revisions.
func (a *app) replace(
	ctx context.Context, f *applyFlags, p *revise.Policies, current *corev1.ConfigMap, to change, hash string,
) error {
	if err := adopt(ctx, p, current); err != nil {
		return err
	}
	if err := p.Replace(ctx, current, to.files, f.force); err != nil {
		return err
	}
	fmt.Fprintf(a.stdout, "policy %s is applied to the ConfigMap %s\n", hash, p.Name)
	n, err := p.Record(ctx, to.files, hash, p.WhoAmI(ctx), to.note)
	if err != nil {
		return fmt.Errorf("the policy is applied, but not in the history: %w", err)
	}
	fmt.Fprintf(a.stdout, "revision %d\n", n)
	return nil
}
