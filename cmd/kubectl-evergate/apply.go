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

// applyFlags are the flags of apply and rollback.
type applyFlags struct {
	yes     bool
	noPlan  bool
	wait    bool
	force   bool
	timeout time.Duration

	bestEffort  bool // of the backstop
	unrewritten bool
}

// defaultTimeout is longer than the minute and a half after which kubelet updates a mounted ConfigMap at the latest.
const defaultTimeout = 3 * time.Minute

func (f *applyFlags) define(c *cobra.Command) {
	flags := c.Flags()
	flags.BoolVarP(&f.yes, "yes", "y", false, "do not ask for confirmation")
	flags.BoolVar(&f.noPlan, "no-plan", false, "do not compare the decisions about the objects in the cluster")
	flags.BoolVar(&f.wait, "wait", true, "wait until every replica reports the policy")
	flags.DurationVar(&f.timeout, "timeout", defaultTimeout, "maximum time to wait")
	flags.BoolVar(&f.bestEffort, "best-effort", false,
		"leave parts of the policy that a backstop cannot enforce to the webhooks, if there are any")
	flags.BoolVar(&f.unrewritten, "deny-unrewritten", false,
		"export from: mirrors to a backstop that does not rewrite. It denies Pods that no webhook has rewritten")
	flags.BoolVar(&f.force, "force-conflicts", false, "take over the policy from another server-side apply manager")
}

func newApply(a *app) *cobra.Command {
	var f applyFlags
	var file string
	c := &cobra.Command{
		Use:   "apply POLICY",
		Short: "Apply a policy and wait until every replica uses it",
		Long: `Apply checks the policy and reports the changes for the objects in the cluster. It asks for confirmation if
objects would be newly denied. It replaces the policy with server-side apply, and keeps the previous policy as a
revision (see kubectl evergate history). It then changes an annotation on Evergate's Pods, so that kubelet updates the
policy immediately, and waits until every replica reports the hash of the new policy. Without permission to patch Pods,
this takes up to two minutes.

If the cluster has a backstop (native policies from evergate export), apply renews it with the policy. If the native
policies cannot enforce a part of the policy, apply does not change anything, unless --best-effort leaves this part to
the webhooks. Without webhooks, nothing enforces this part, so --best-effort asks for confirmation.

If the policy needs webhooks that are off, apply prints a warning and asks for confirmation. It does not change webhook
configurations.

If the cluster has native policies and neither webhooks nor a Deployment of replicas, apply does not wait for replicas.
Apply does not change anything if the webhooks call another namespace than --evergate-namespace.

Apply does not change a ConfigMap that Argo CD or Flux manages, because they would undo the change.`,
		Example: `  kubectl evergate apply policy.yaml
  kubectl evergate apply policies/ --yes --timeout 30s`,
		Args: cobra.ArbitraryArgs,
		RunE: func(c *cobra.Command, args []string) error {
			files, err := a.readPolicy(c.Context(), append(args, file)...)
			if err != nil {
				return err
			}
			return a.apply(c.Context(), &f, func(context.Context, *revise.Policies, *corev1.ConfigMap) (change, error) {
				return change{files: files}, nil
			})
		},
	}
	c.Flags().StringVarP(&file, "filename", "f", "", "`file` or directory of the policy, or - (stdin)")
	f.define(c)
	return c
}

// change is a policy to apply.
type change struct {
	files []policy.File
	note  string // for the history
}

// apply applies the policy that find returns. find gets the current ConfigMap.
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
	if err := requireNamespace(ctx, c, replicas, current); err != nil {
		return err
	}
	native, required, err := a.renewal(ctx, f, c, current, to.files, is.Hash())
	if err != nil {
		return err
	}
	off, err := a.requireCalled(ctx, c, required)
	if err != nil {
		return err
	}
	if revise.Same(current, to.files) {
		fmt.Fprintf(a.stdout, "policy %s is already applied\n", is.Hash())
	} else {
		if err := a.confirm(ctx, f, c, current, is, off); err != nil {
			return err
		}
		if err := a.replace(ctx, f, p, current, to, is.Hash()); err != nil {
			return err
		}
	}
	noReplicas := f.wait && len(replicas) == 0 && a.nativeOnly(ctx, c) // before renew removes the last native policy
	// Renew the backstop immediately, and not after all replicas have the policy: the backstop is for the case that
	// they do not answer.
	if err := a.renew(ctx, c, native, is.Hash()); err != nil || !f.wait {
		return err
	}
	if noReplicas {
		if a.nativeOnly(ctx, c) {
			a.say("there are no webhooks and no replicas: only the native policies enforce the policy")
		}
		return nil
	}
	return a.await(ctx, f, c, p, is.Hash())
}

// confirm reports the changes of a policy, and asks for confirmation if there is a reason. off is true if the policy
// needs webhooks that are off.
func (a *app) confirm(
	ctx context.Context, f *applyFlags, c *live.Cluster, current *corev1.ConfigMap, is *policy.Policy, off bool,
) error {
	var reasons []string
	if !f.noPlan {
		why, err := a.risk(ctx, c, current, is)
		if err != nil {
			return err
		}
		if why != "" {
			reasons = append(reasons, why)
		}
	}
	if off {
		reasons = append(reasons, "a part of the policy would not be enforced")
	}
	if len(reasons) == 0 {
		return nil
	}
	return a.agree(ctx, f, strings.Join(reasons, ", and "))
}

// risk reports the changes of a policy. It returns a reason to ask for confirmation if objects would be newly denied,
// if the policy would no longer enforce anything, or if objects could not be validated. Otherwise it returns an empty
// string.
func (a *app) risk(
	ctx context.Context, c *live.Cluster, current *corev1.ConfigMap, is *policy.Policy,
) (string, error) {
	was, err := policy.Load(revise.Files(current)...)
	if err != nil {
		a.say("the current policy does not load, so there is no comparison")
		was = nil
	}
	report, err := a.plan(ctx, c, &planFlags{limit: shownBeforeApply}, was, is)
	switch {
	case err != nil:
		return "", err
	case report.Denies():
		return "objects would be newly denied", nil
	case was != nil && enforces(was) && !enforces(is):
		return "the policy would no longer enforce anything", nil
	case report.Summary.Errors > 0:
		return "some objects could not be validated", nil
	}
	return "", nil
}

// agree asks for confirmation, unless the user has agreed with --yes. Without a terminal, it returns an error.
func (a *app) agree(ctx context.Context, f *applyFlags, why string) error {
	if f.yes {
		return nil
	}
	if file, ok := a.stdin.(*os.File); !ok || !term.IsTerminal(int(file.Fd())) {
		return &foundError{errors.New(why + ", and there is no terminal for a confirmation: add --yes")}
	}
	return a.ask(ctx, why)
}

// enforces reports whether any entry of a policy is in mode enforce, in a rule set or outside of all rule sets.
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

// ask asks the user whether to apply the policy. It returns an error if the answer is no.
func (a *app) ask(ctx context.Context, why string) error {
	fmt.Fprintf(a.stderr, "evergate: %s. Apply the policy? [y/N] ", why)
	line, err := a.read(ctx, func(in io.Reader) ([]byte, error) { return bufio.NewReader(in).ReadBytes('\n') })
	if answer := strings.ToLower(strings.TrimSpace(string(line))); answer != "y" && answer != "yes" {
		return &foundError{errors.Join(errors.New("nothing was applied"), err)}
	}
	return nil
}

// replace writes the policy, and records it and the previous policy as revisions.
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
		return fmt.Errorf("the policy is applied, but could not be added to the history: %w", err)
	}
	fmt.Fprintf(a.stdout, "revision %d\n", n)
	return nil
}
