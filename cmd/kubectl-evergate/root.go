package main

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
)

// run runs the command in args and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(&app{stdin: stdin, stdout: stdout, stderr: stderr, now: time.Now})
	return cli.Execute(ctx, root, args, stdin, stdout, stderr)
}

// interruptible calls read, which reads standard input. It returns when ctx ends, but the read itself cannot be
// interrupted and continues until the process ends.
func interruptible[T any](ctx context.Context, read func() (T, error)) (value T, err error) {
	done := make(chan func() (T, error), 1)
	go func() {
		value, err := read()
		done <- func() (T, error) { return value, err }
	}()
	select {
	case result := <-done:
		return result()
	case <-ctx.Done():
		return value, ctx.Err()
	}
}

// app contains the parts that all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	now            func() time.Time

	kubeconfig clientcmd.ClientConfigLoadingRules
	overrides  clientcmd.ConfigOverrides
	namespace  string // the namespace of Evergate
}

// defaultNamespace and defaultConfigMap are the namespace and the ConfigMap of the policy in the base manifests.
const (
	defaultNamespace = "evergate-system"
	defaultConfigMap = "evergate-policy"
)

func newRoot(a *app) *cobra.Command {
	root := cli.NewGroup("kubectl-evergate", "Show the state of Evergate in a cluster, and change its policy",
		newStatus(a), newApply(a), newPlan(a), newHistory(a), newRollback(a), newPreflight(a), newExplain(a), newImages(a))
	root.Long = `Kubectl evergate uses your kubeconfig and your permissions. It doesn't install anything in the cluster. It
connects to the replicas with a port-forward. docs/plugin.md lists the permissions that each command needs.

Exit codes of all commands: 0 success, 1 a problem was reported, 2 bad flags, a bad policy, or a cluster that does not
answer, 130 interrupted by a signal.`
	root.Annotations = map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl evergate"}
	root.Version = cli.Build().String()
	flags := root.PersistentFlags()
	flags.StringVar(&a.namespace, "evergate-namespace", defaultNamespace, "namespace of Evergate")
	a.kubeconfig = *clientcmd.NewDefaultClientConfigLoadingRules()
	flags.StringVar(&a.kubeconfig.ExplicitPath, "kubeconfig", "", "`file` of the kubeconfig")
	known := clientcmd.RecommendedConfigOverrideFlags("")
	known.ContextOverrideFlags.Namespace.LongName = "" // only explain needs a namespace; other commands use Evergate's
	clientcmd.BindOverrideFlags(&a.overrides, flags, known)
	_ = root.RegisterFlagCompletionFunc("context", a.completeContexts) // fails only if the flag already has one
	_ = root.RegisterFlagCompletionFunc("evergate-namespace", a.completeNamespaces())
	return root
}

// config returns the kubeconfig with the overrides of the flags.
func (a *app) config() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&a.kubeconfig, &a.overrides)
}

// cluster returns the cluster of the kubeconfig. It returns an error if Evergate's namespace does not exist.
// Otherwise all objects in the namespace would be reported as missing.
func (a *app) cluster(ctx context.Context) (*live.Cluster, error) {
	c, err := a.connect()
	if err != nil {
		return nil, err
	}
	_, err = c.Client.CoreV1().Namespaces().Get(ctx, a.namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf(
			"the cluster has no namespace %s: set the namespace of Evergate with --evergate-namespace", a.namespace)
	}
	return c, nil // a user who may not read namespaces may still read objects in them
}

// connect returns the cluster of the kubeconfig. It does not send a request.
func (a *app) connect() (*live.Cluster, error) {
	config, err := a.config().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return live.New(config, a.namespace, a.stderr)
}

// policies returns the place of the policy in a cluster: the ConfigMap that its replicas mount. Without replicas, or
// without permission to list them, it is the default ConfigMap.
func policies(c *live.Cluster, replicas []live.Replica) *revise.Policies {
	name := defaultConfigMap
	for _, r := range replicas {
		if mounted := r.ConfigMap(); mounted != "" {
			name = mounted
		}
	}
	return &revise.Policies{Client: c.Client, Namespace: c.Namespace, Name: name}
}

// say writes lines for users to stderr.
func (a *app) say(format string, args ...any) { cli.Say(a.stderr, fmt.Sprintf(format, args...)) }
