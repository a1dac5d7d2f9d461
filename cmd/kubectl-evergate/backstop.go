package main

import (
	"context"
	"errors"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/backstop"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/export"
	"github.com/evergate/evergate/policy"
)

// renewal returns what makes the backstop of a cluster that of a policy, and has the API server check it; nil where
// there is none, or where it is of the policy already. The error says that the policy must not be applied.
func (a *app) renewal(
	ctx context.Context, f *applyFlags, c *live.Cluster, current *corev1.ConfigMap, files []policy.File, hash string,
) (*backstop.Renewal, error) {
	is, err := policy.Describe(files...)
	if err != nil {
		return nil, err
	}
	b, err := backstop.Read(ctx, c.Dynamic)
	if apierrors.IsForbidden(err) {
		a.say("you may not list native policies, so that a backstop, where there is one, stays as it is: the component " +
			"backstop of the kit has a ClusterRole")
		return nil, a.refuseUncalled(ctx, c, usesOfFiles(ctx, c, is))
	}
	if err != nil {
		return nil, err
	}
	if b.Empty() {
		return nil, a.refuseUncalled(ctx, c, usesOfFiles(ctx, c, is))
	}
	for _, o := range b.Objects() {
		if err := revise.ObjectManagedBy(o.GetKind(), &o); err != nil {
			return nil, &foundError{err}
		}
	}
	was, err := policy.Describe(revise.Files(current)...)
	if err != nil {
		was = policy.Document{} // the one in force does not load
	}
	exempt := export.ExemptNamespaces()
	exempt[0] = c.Namespace
	r, err := b.Renew(was, is, backstop.Options{Hash: hash, Exempt: exempt, DenyUnrewritten: f.unrewritten})
	if err != nil {
		return nil, err
	}
	if err := a.refuse(ctx, f, c, r); err != nil {
		return nil, err
	}
	if r.Done() {
		return nil, nil
	}
	return r, r.Try(ctx)
}

// refuse returns an error if a part of the policy would be enforced by nothing: it is not native, and the user has not
// agreed that only webhooks judge it; or no webhook is called for it.
func (a *app) refuse(ctx context.Context, f *applyFlags, c *live.Cluster, r *backstop.Renewal) error {
	var refusals []error
	for _, refusal := range r.Refusals {
		if f.bestEffort {
			a.say("not in the backstop: %s", refusal)
			continue
		}
		refusals = append(refusals, errors.New(refusal.String()))
	}
	if len(refusals) > 0 {
		refusals = append(refusals, errors.New("nothing was applied: the backstop cannot say all of the policy; to leave "+
			"that to the webhooks add --best-effort"))
		return &foundError{errors.Join(refusals...)}
	}
	return a.refuseUncalled(ctx, c, r.Uses)
}

// usesOfFiles returns which webhooks have to be called where no backstop is seen but files of the API server, if those
// say that they are there.
func usesOfFiles(ctx context.Context, c *live.Cluster, doc policy.Document) []export.WebhookUse {
	uses := export.WebhookUses(doc, export.Options{
		Targets: []export.Target{export.Static}, Exempt: export.ExemptNamespaces(),
	})
	if hash, err := backstop.Files(ctx, c.Client, c.Namespace); err == nil && hash != "" {
		return uses
	}
	for i := range uses {
		uses[i].Called = "no native policy is seen that does its work"
	}
	return uses
}

// refuseUncalled returns an error if a webhook is never called that has to be.
func (a *app) refuseUncalled(ctx context.Context, c *live.Cluster, uses []export.WebhookUse) error {
	hooks, err := readHooks(ctx, c)
	if err != nil {
		a.say("whether webhooks are called may not be read: %v", err)
	}
	for i := range hooks {
		if why := uncalled(&hooks[i], uses); why != "" {
			return &foundError{fmt.Errorf("nothing was applied: the webhook %s is never called, by its matchCondition %s, and "+
				"has to be under this policy: %s: take the condition out first", hooks[i].name, hooks[i].never, why)}
		}
	}
	return nil
}

// uncalled returns why a webhook has to be called that never is.
func uncalled(h *hook, uses []export.WebhookUse) string {
	if h.never == "" {
		return ""
	}
	i := slices.IndexFunc(uses, func(u export.WebhookUse) bool { return u.Path == h.path })
	if i < 0 {
		return "no native policy does its work"
	}
	return uses[i].Called
}

// renew makes the backstop that of the policy, and says what it did.
func (a *app) renew(ctx context.Context, r *backstop.Renewal, hash string) error {
	if r == nil {
		return nil
	}
	if err := r.Write(ctx); err != nil {
		return fmt.Errorf("the policy is applied, and the backstop is not of it yet: apply it again: %w", err)
	}
	renewed, added, removed := r.Counts()
	fmt.Fprintf(a.stdout, "the backstop is of policy %s: %d native policies renewed, %d added, %d removed\n", hash,
		renewed, added, removed)
	if renewed+added == 0 {
		a.say("nothing of the policy is native, so that there is no backstop any more: evergate export makes another one")
	}
	return nil
}
