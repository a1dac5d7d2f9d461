package main

import (
	"cmp"
	"context"
	"fmt"
	"slices"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/internal/text"
)

// labelOfEvergate selects the objects of the manifests.
const labelOfEvergate = "app.kubernetes.io/name=evergate"

// serving returns the Deployments that run evergate serve, even if they do not have any Pods. It finds any Deployment
// in Evergate's namespace, and Deployments with the label of the manifests in other namespaces, if the user may list
// them.
func serving(ctx context.Context, c *live.Cluster) ([]string, error) {
	list, err := c.Client.AppsV1().Deployments(c.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list the Deployments: %w", err)
	}
	all := list.Items
	list, err = c.Client.AppsV1().Deployments("").List(ctx, metav1.ListOptions{LabelSelector: labelOfEvergate})
	switch {
	case err == nil:
		all = append(all, list.Items...)
	case !live.Forbidden(err):
		return nil, fmt.Errorf("list the Deployments: %w", err)
	}
	var names []string
	for i := range all {
		name := all[i].Namespace + "/" + all[i].Name
		if install.Serves(&all[i]) && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return names, nil
}

// noWebhooks reports whether no webhook of Evergate exists in the cluster, for any namespace. It returns false if the
// webhooks cannot be read.
func noWebhooks(ctx context.Context, c *live.Cluster) bool {
	all, err := readWebhooks(ctx, c)
	return err == nil && all.none()
}

// nativeOnly reports whether the cluster has native policies, no webhooks of Evergate and no Deployment that runs
// evergate serve. It returns false if it cannot read them.
func (a *app) nativeOnly(ctx context.Context, c *live.Cluster) bool {
	if !noWebhooks(ctx, c) {
		return false
	}
	if installed, _, err := c.Native(ctx); err != nil || len(installed) == 0 {
		return false
	}
	servers, err := serving(ctx, c)
	if err != nil {
		a.say("cannot read whether a Deployment runs evergate serve: %v", err)
	}
	return err == nil && len(servers) == 0
}

// requireNamespace returns an error if a policy in the namespace would not have an effect, because the namespace is
// probably wrong: if all webhooks of Evergate call Services in other namespaces, or if there are native policies and
// neither webhooks nor the ConfigMap of the policy.
func requireNamespace(
	ctx context.Context, c *live.Cluster, replicas []live.Replica, current *corev1.ConfigMap,
) error {
	const flag = "set the namespace of Evergate with --evergate-namespace"
	if len(replicas) > 0 {
		return nil
	}
	hooks, err := readWebhooks(ctx, c)
	if err != nil {
		return nil //nolint:nilerr // the absence of webhooks is not known
	}
	switch {
	case len(hooks.here) == 0 && len(hooks.elsewhere) > 0:
		return fmt.Errorf("nothing was applied: the webhooks of Evergate call Services in %s and not in %s: %s",
			text.List(hooks.elsewhere), c.Namespace, flag)
	case len(hooks.here) > 0 || current != nil:
		return nil
	}
	if installed, _, err := c.Native(ctx); err != nil || len(installed) == 0 {
		return nil //nolint:nilerr // renewal reports the error
	}
	return fmt.Errorf("nothing was applied: the cluster has native policies, but the namespace %s does not have the "+
		"ConfigMap %s with their policy: %s, or create the ConfigMap first", c.Namespace, defaultConfigMap, flag)
}

// readBindings returns the bindings of the native policies as webhooks without a path, to match namespaces.
func readBindings(ctx context.Context, c *live.Cluster) ([]hook, error) {
	installed, _, err := c.Native(ctx)
	var all []hook
	for _, b := range installed.Bindings(nil) {
		namespaces := cmp.Or(b.Namespaces(), &metav1.LabelSelector{}) // every namespace
		all = append(all, newHook(&admissionv1.MutatingWebhook{Name: b.GetName(), NamespaceSelector: namespaces}))
	}
	return all, err
}
