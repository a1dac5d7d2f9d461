package main

import (
	"context"
	"iter"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/review"
)

// scope describes which namespaces Evergate's webhooks match or, in a cluster without webhooks, its native policies.
type scope struct {
	by      string                // webhooks or native policies
	labels  map[string]labels.Set // of each namespace
	matched map[string]bool       // by a webhook other than guardHook, or by a native policy
	setsBy  []setHook
}

// setHook is a webhook that applies a rule set.
type setHook struct {
	set     string
	webhook *admission.Webhook
	matches labels.Selector // namespaces
}

// readScope reads the webhooks and the namespaces from a cluster. If the cluster does not have webhooks, it reads the
// native policies too.
func readScope(ctx context.Context, c *live.Cluster) (*scope, error) {
	all, err := readWebhooks(ctx, c)
	if err != nil {
		return nil, err
	}
	hooks, by := all.here, "webhooks"
	if all.none() {
		if hooks, err = readBindings(ctx, c); err != nil {
			return nil, err
		}
		if len(hooks) > 0 {
			by = "native policies"
		}
	}
	list, err := c.Client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	s := &scope{by: by, labels: map[string]labels.Set{}, matched: map[string]bool{}}
	for i := range list.Items {
		s.labels[list.Items[i].Name] = list.Items[i].Labels
	}
	for _, name := range match(hooks, list.Items) {
		s.matched[name] = true
	}
	for _, h := range hooks {
		if w, set := admission.ParsePath(h.path); set != "" {
			s.setsBy = append(s.setsBy, setHook{set, w, h.selector})
		}
	}
	return s, nil
}

// within leaves out objects in namespaces that no webhook matches.
func (s *scope) within(objects iter.Seq2[offline.Object, error]) iter.Seq2[offline.Object, error] {
	return func(yield func(offline.Object, error) bool) {
		for o, err := range objects {
			if err == nil && !s.matched[o.Namespace] {
				continue
			}
			if !yield(o, err) {
				return
			}
		}
	}
}

// sets returns the rule sets whose webhooks match the kind and the namespace of an object.
func (s *scope) sets(o offline.Object) []string {
	var sets []string
	for _, h := range s.setsBy {
		if h.calls(o.Kind) && h.matches.Matches(s.labels[o.Namespace]) {
			sets = append(sets, h.set)
		}
	}
	return sets
}

// calls reports whether the webhook is called for objects of a kind. These are the kinds of the webhook. The webhook
// for workloads is also called for kinds of no other webhook, because they can be custom resources in the templates
// block of the policy.
func (h *setHook) calls(kind string) bool {
	named := func(w admission.Webhook) bool {
		return slices.ContainsFunc(w.Kinds, func(k review.Kind) bool { return k.Name == kind })
	}
	return named(*h.webhook) ||
		h.webhook.Path == "/validate/workloads" && !slices.ContainsFunc(admission.Webhooks(), named)
}
