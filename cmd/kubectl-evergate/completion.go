package main

import (
	"maps"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
)

// completions returns a completion function for an argument that queries the cluster. If the query fails, it does not
// complete anything, because a shell cannot show an error.
func (a *app) completions(list func(*cobra.Command, *live.Cluster) []cobra.Completion) cobra.CompletionFunc {
	return func(c *cobra.Command, args []string, _ string) ([]cobra.Completion, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		cluster, err := a.connect()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return list(c, cluster), cobra.ShellCompDirectiveNoFileComp
	}
}

// completeClusterFlags completes the contexts in the kubeconfig and the namespaces in the cluster.
func (a *app) completeClusterFlags(root *cobra.Command) {
	contexts := func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
		config, err := a.config().RawConfig()
		if err != nil {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return slices.Sorted(maps.Keys(config.Contexts)), cobra.ShellCompDirectiveNoFileComp
	}
	_ = root.RegisterFlagCompletionFunc("context", contexts) // fails only if the flag already has one
	_ = root.RegisterFlagCompletionFunc("evergate-namespace", a.completeNamespaces)
}

func (a *app) completeNamespaces(
	c *cobra.Command, _ []string, _ string,
) ([]cobra.Completion, cobra.ShellCompDirective) {
	return a.completions(func(c *cobra.Command, cluster *live.Cluster) []cobra.Completion {
		list, err := cluster.Client.CoreV1().Namespaces().List(c.Context(), metav1.ListOptions{})
		if err != nil {
			return nil
		}
		var names []cobra.Completion
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	})(c, nil, "")
}

// revisionNames completes the revisions of the policy, the newest first, each with its hash.
func revisionNames(c *cobra.Command, cluster *live.Cluster) []cobra.Completion {
	replicas, _ := cluster.Replicas(c.Context()) // without replicas, the default name is used
	all, err := policies(cluster, replicas).Revisions(c.Context())
	if err != nil {
		return nil
	}
	var names []cobra.Completion
	for _, r := range all {
		names = append(names, cobra.CompletionWithDesc(strconv.Itoa(r.Number), r.Hash))
	}
	return names
}

// podNames returns a completion of the Pods in a namespace. If namespace is empty, it uses the namespace of the
// kubeconfig.
func (a *app) podNames(namespace *string) func(*cobra.Command, *live.Cluster) []cobra.Completion {
	return func(c *cobra.Command, cluster *live.Cluster) []cobra.Completion {
		in, err := a.podNamespace(*namespace)
		if err != nil {
			return nil
		}
		list, err := cluster.Client.CoreV1().Pods(in).List(c.Context(), metav1.ListOptions{})
		if err != nil {
			return nil
		}
		var names []cobra.Completion
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
		return names
	}
}
