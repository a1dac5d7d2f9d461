package main

import (
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// completeNames returns a completion function for the names of objects in the cluster. If the query fails, it does not
// complete anything, because a shell cannot show an error. in returns the namespace of the objects, or an empty string.
func (a *app) completeNames(resource string, in func() (string, error)) cobra.CompletionFunc {
	list := func(c *cobra.Command) (names []cobra.Completion) {
		cluster, err := a.connect()
		if err != nil {
			return nil
		}
		namespace, err := in()
		if err != nil {
			return nil
		}
		all, err := cluster.Dynamic.Resource(corev1.SchemeGroupVersion.WithResource(resource)).Namespace(namespace).
			List(c.Context(), metav1.ListOptions{})
		if err != nil {
			return nil
		}
		for i := range all.Items {
			names = append(names, all.Items[i].GetName())
		}
		return names
	}
	return func(c *cobra.Command, _ []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		return list(c), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeNamespaces returns a completion function for namespaces.
func (a *app) completeNamespaces() cobra.CompletionFunc {
	return a.completeNames("namespaces", func() (string, error) { return "", nil })
}

// completeContexts completes the contexts in the kubeconfig.
func (a *app) completeContexts(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	config, err := a.config().RawConfig()
	if err != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
}

// completeRevisions completes the revisions of the policy, the newest first, each with its hash.
func (a *app) completeRevisions(
	c *cobra.Command, args []string, _ string,
) (names []cobra.Completion, files cobra.ShellCompDirective) {
	cluster, err := a.connect()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	replicas, _ := cluster.Replicas(c.Context())                 // without replicas, the default name is used
	all, _ := policies(cluster, replicas).Revisions(c.Context()) // a shell cannot show an error
	for _, r := range all {
		names = append(names, cobra.CompletionWithDesc(strconv.Itoa(r.Number), r.Hash))
	}
	return names, cobra.ShellCompDirectiveNoFileComp
}
