package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/deploy"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

// needs describes which webhooks a policy needs besides the native policies in a cluster.
type needs struct {
	policy policy.Document
	uses   []export.WebhookUse // the webhooks that native policies can replace
	native []export.Coverage   // nil if native policies do not enforce the policy
	agreed bool                // the user has agreed to the parts that are not native
	unread bool                // the user may not list native policies
}

// needsOfFiles returns the needs if the cluster does not have a backstop. It considers policies in files if they answer
// the probe.
func needsOfFiles(ctx context.Context, c *live.Cluster, doc policy.Document, now time.Time) *needs {
	o := export.Options{Targets: []export.Target{export.Static}, Exempt: export.ExemptNamespaces(), Now: now}
	n := &needs{policy: doc, uses: export.WebhookUses(doc, o)}
	if hash, err := c.NativeFiles(ctx); err == nil && hash != "" {
		n.native = export.Export(doc, o).Coverage
		return n
	}
	for i := range n.uses {
		n.uses[i].Called = "no native policy was found that replaces it"
	}
	return n
}

// requireCalled returns an error if a webhook that has to be called is never called. It prints a warning for each group
// of webhooks that is off although the policy needs it, and then returns true.
func (a *app) requireCalled(ctx context.Context, c *live.Cluster, n *needs) (off bool, err error) {
	all, errRead := readWebhooks(ctx, c)
	hooks := all.here
	switch {
	case apierrors.IsForbidden(errRead):
		a.say("you may not list webhook configurations, so apply does not check that the webhooks that the policy needs " +
			"are on (docs/plugin.md lists the permissions)")
	case errRead != nil:
		a.say("cannot read whether webhooks are called: %s", strings.ReplaceAll(errRead.Error(), "\n", "; "))
	}
	for i := range hooks {
		if why := n.uncalled(&hooks[i]); why != "" {
			return false, cli.Problem(fmt.Errorf("nothing was applied: the matchCondition %[2]s disables the webhook %[1]s, "+
				"but this policy needs it: %[3]s: remove the condition first", hooks[i].Name, hooks[i].never, why))
		}
	}
	return errRead == nil && a.warnOfGroups(hooks, n), nil
}

// uncalled returns the reason why a webhook that is never called has to be called, or an empty string.
func (n *needs) uncalled(h *hook) string {
	if h.never == "" {
		return ""
	}
	i := slices.IndexFunc(n.uses, func(u export.WebhookUse) bool { return u.Path == h.path })
	if i < 0 {
		return "no native policy replaces it"
	}
	return n.uses[i].Called
}

// warnOfGroups prints a warning for each group of webhooks that is off although the policy needs it. It reports whether
// there is such a group. Without webhooks, it does not print anything if the user has agreed to the omissions of the
// backstop with --best-effort, or if apply has reported that it may not list native policies.
func (a *app) warnOfGroups(hooks []hook, n *needs) bool {
	groups := n.groupsOff(hooks)
	switch {
	case len(groups) == 0 || len(hooks) == 0 && (n.agreed || n.unread):
		return false
	case len(hooks) == 0 && n.native == nil:
		a.say("warning: there are no webhooks of Evergate and no native policies, so nothing enforces the policy. To " +
			"install the webhooks, apply your overlay or chart")
		return true
	}
	because := "so nothing enforces these entries of the policy"
	switch {
	case n.native != nil:
		because = "and the native policies do not completely enforce these entries of the policy"
	case n.unread:
		because = "so no webhook enforces these entries of the policy"
	}
	for _, g := range groups {
		a.say("warning: webhooks for %s are off, %s: %s. To switch them on, %s", g.names, because, text.List(g.entries), g.on)
	}
	return true
}

// groupOff is a group of webhooks that is off. If the entries apply to the kinds of several groups, it represents all
// these groups.
type groupOff struct {
	names, on string
	entries   []string // that need one of its webhooks
}

// groupsOff returns the groups of webhooks that are off although the policy needs them.
func (n *needs) groupsOff(hooks []hook) []groupOff {
	var groups []groupOff
	missing := deploy.MissingWebhooks(n.policy, func(path string) bool {
		return slices.ContainsFunc(hooks, func(h hook) bool { return h.path == path })
	})
	for i := range missing {
		var entries []string
		for j := range missing[i].Entries {
			if e := &missing[i].Entries[j]; !n.enforced(e) {
				entries = append(entries, e.Block+" "+e.Name)
			}
		}
		names, on := missing[i].Groups()
		if len(entries) == 0 || names == "" { // no group has the webhooks of a rule set
			continue
		}
		at := slices.IndexFunc(groups, func(g groupOff) bool { return g.names == names })
		if at < 0 {
			at = len(groups)
			groups = append(groups, groupOff{names: names, on: on})
		}
		groups[at].entries = append(groups[at].entries, entries...)
	}
	return groups
}

// enforced reports whether native policies enforce an entry completely.
func (n *needs) enforced(e *policy.Entry) bool {
	return slices.ContainsFunc(n.native, func(c export.Coverage) bool { return c.Entry.Pos == e.Pos && c.Complete() })
}
