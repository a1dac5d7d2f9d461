package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/backstop"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// renewal returns the changes that renew the backstop of a cluster for a policy, after the API server has checked
// them in a dry run. It returns nil if the cluster does not have a backstop or if the backstop is already up to date.
// It returns an error if the policy must not be applied.
func (a *app) renewal(
	ctx context.Context, f *applyFlags, c *live.Cluster, current *corev1.ConfigMap, files []policy.File, hash string,
) (*backstop.Renewal, error) {
	is, err := policy.Describe(files...)
	if err != nil {
		return nil, err
	}
	b, err := backstop.Read(ctx, c.Dynamic)
	if apierrors.IsForbidden(err) {
		a.say("you may not list native policies, so an existing backstop is not renewed: the ClusterRole in the component " +
			"backstop allows this")
		return nil, a.requireCalled(ctx, c, usesOfFiles(ctx, c, is, a.now()))
	}
	if err != nil {
		return nil, err
	}
	if b.Empty() {
		return nil, a.requireCalled(ctx, c, usesOfFiles(ctx, c, is, a.now()))
	}
	for _, o := range b.Objects() {
		if err := revise.ObjectManagedBy(o.GetKind(), &o); err != nil {
			return nil, &foundError{err}
		}
	}
	was, err := policy.Describe(revise.Files(current)...)
	if err != nil {
		was = policy.Document{} // the current policy does not load
	}
	exempt := export.ExemptNamespaces()
	exempt[0] = c.Namespace
	r, err := b.Renew(was, is, backstop.Options{
		Hash: hash, Exempt: exempt, DenyUnrewritten: f.unrewritten, Now: a.now(),
	})
	if err != nil {
		return nil, err
	}
	if err := a.requireNative(ctx, f, c, r); err != nil {
		return nil, err
	}
	if r.Done() {
		return nil, nil
	}
	return r, r.Try(ctx)
}

// requireNative returns an error if a part of the policy would not be enforced: if it is not native and the user has
// not agreed to leave it to the webhooks, or to nothing if there are no webhooks, or if no webhook is called for it.
func (a *app) requireNative(ctx context.Context, f *applyFlags, c *live.Cluster, r *backstop.Renewal) error {
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
	return a.requireCalled(ctx, c, r.Uses)
}

// usesOfFiles returns the webhooks that have to be called if the cluster does not have a backstop. It considers
// policies in files if they answer the probe.
func usesOfFiles(ctx context.Context, c *live.Cluster, doc policy.Document, now time.Time) []export.WebhookUse {
	uses := export.WebhookUses(doc, export.Options{
		Targets: []export.Target{export.Static}, Exempt: export.ExemptNamespaces(), Now: now,
	})
	if hash, err := backstop.Files(ctx, c.Client, c.Namespace); err == nil && hash != "" {
		return uses
	}
	for i := range uses {
		uses[i].Called = "no native policy was found that replaces it"
	}
	return uses
}

// requireCalled returns an error if a webhook that has to be called is never called.
func (a *app) requireCalled(ctx context.Context, c *live.Cluster, uses []export.WebhookUse) error {
	hooks, err := readHooks(ctx, c)
	if err != nil {
		a.say("cannot read whether webhooks are called: %v", err)
	}
	for i := range hooks {
		if why := uncalled(&hooks[i], uses); why != "" {
			return &foundError{fmt.Errorf("nothing was applied: the matchCondition %[2]s disables the webhook %[1]s, but "+
				"this policy needs it: %[3]s: remove the condition first", hooks[i].name, hooks[i].never, why)}
		}
	}
	return nil
}

// uncalled returns the reason why a webhook that is never called has to be called, or an empty string.
func uncalled(h *hook, uses []export.WebhookUse) string {
	if h.never == "" {
		return ""
	}
	i := slices.IndexFunc(uses, func(u export.WebhookUse) bool { return u.Path == h.path })
	if i < 0 {
		return "no native policy replaces it"
	}
	return uses[i].Called
}

// renew renews the backstop and prints the result.
func (a *app) renew(ctx context.Context, r *backstop.Renewal, hash string) error {
	if r == nil {
		return nil
	}
	if err := r.Write(ctx); err != nil {
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
