package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/offline/native"
	"github.com/evergate/evergate/policy"
)

// renewal returns the changes that renew the backstop of a cluster for a policy, after the API server has checked them
// in a dry run. They are nil if the cluster does not have a backstop or if the backstop is already up to date. renewal
// also returns the webhooks that the policy needs besides the native policies. It returns an error if the policy must
// not be applied.
func (a *app) renewal(
	ctx context.Context, f *applyFlags, c *live.Cluster, current *corev1.ConfigMap, files []policy.File, hash string,
) (*native.Renewal, *needs, error) {
	is, err := policy.Describe(files...)
	if err != nil {
		return nil, nil, err
	}
	installed, targets, err := c.Native(ctx)
	if apierrors.IsForbidden(err) {
		a.say("you may not list native policies, so an existing backstop is not renewed: the ClusterRole in the component " +
			"backstop allows this")
		n := needsOfFiles(ctx, c, is, a.now())
		n.unread = true
		return nil, n, nil
	}
	if err != nil {
		return nil, nil, err
	}
	if len(installed) == 0 {
		return nil, needsOfFiles(ctx, c, is, a.now()), nil
	}
	for _, o := range installed {
		if err := revise.ObjectManagedBy(o.GetKind(), o); err != nil {
			return nil, nil, &foundError{err}
		}
	}
	was, err := policy.Describe(revise.Files(current)...)
	if err != nil {
		was = policy.Document{} // the current policy does not load
	}
	exempt := export.ExemptNamespaces()
	exempt[0] = c.Namespace
	r, err := installed.Renew(was, is, export.Options{
		Targets: targets, Hash: hash, Exempt: exempt, DenyUnrewritten: f.unrewritten, Now: a.now(),
	})
	if err != nil {
		return nil, nil, err
	}
	if err := a.requireNative(ctx, f, c, r); err != nil {
		return nil, nil, err
	}
	n := &needs{policy: is, uses: r.Uses, native: r.Coverage, agreed: true}
	if r.Done() {
		return nil, n, nil
	}
	return r, n, c.Renew(ctx, r, revise.Manager, true)
}

// requireNative returns an error if a part of the policy is not native, unless the user has agreed to leave this part
// to the webhooks. In a cluster without webhooks, the user must agree that nothing enforces this part.
func (a *app) requireNative(ctx context.Context, f *applyFlags, c *live.Cluster, r *native.Renewal) error {
	var omissions []error
	for _, omission := range r.Omissions {
		if f.bestEffort {
			a.say("not in the backstop: %s", omission)
			continue
		}
		omissions = append(omissions, errors.New(omission.String()))
	}
	alone := len(r.Omissions) > 0 && noWebhooks(ctx, c)
	if len(omissions) > 0 {
		rest := "to leave the rest to the webhooks, add --best-effort"
		if alone {
			rest = "without webhooks, nothing would enforce the rest; to apply the policy nevertheless, add --best-effort"
		}
		omissions = append(omissions, errors.New("nothing was applied: the backstop cannot enforce the whole policy; "+rest))
		return &foundError{errors.Join(omissions...)}
	}
	if alone {
		const why = "there are no webhooks, so nothing would enforce the parts that are not in the backstop"
		if err := a.agree(ctx, f, why); err != nil {
			return err
		}
	}
	return nil
}

// renew renews the backstop and prints the result.
func (a *app) renew(ctx context.Context, c *live.Cluster, r *native.Renewal, hash string) error {
	if r == nil {
		return nil
	}
	if err := c.Renew(ctx, r, revise.Manager, false); err != nil {
		return fmt.Errorf("the policy is applied, but the backstop is not up to date: apply the policy again: %w", err)
	}
	renewed, added, removed := r.Counts()
	fmt.Fprintf(a.stdout, "the backstop now enforces policy %s: %d native policies renewed, %d added, %d removed\n", hash,
		renewed, added, removed)
	if renewed+added == 0 {
		a.say("no part of the policy is native, so the backstop was removed: to create it again, use evergate export")
	}
	return nil
}
