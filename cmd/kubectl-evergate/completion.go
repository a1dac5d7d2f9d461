package main

import (
	"maps"
	"slices"

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
