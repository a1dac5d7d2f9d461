package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/internal/text"
)

// The exit codes of all commands.
const (
	exitOK    = 0
	exitFound = 1 // the command says what is wrong
	exitUsage = 2 // bad flags, a bad policy, a cluster that cannot be asked

	exitInterrupted = 130 // by a signal, as shells have it
)

// foundError ends with exitFound. What there is to say has been said if its err is nil.
type foundError struct{ err error }

func (e *foundError) Error() string {
	if e.err == nil {
		return "found"
	}
	return e.err.Error()
}

func (e *foundError) Unwrap() error { return e.err }

// run runs the command that args name, and returns the exit code.
func run(ctx context.Context, args []string, stdin io.Reader, stdout, stderr io.Writer) int {
	root := newRoot(&app{stdin: stdin, stdout: stdout, stderr: stderr, now: time.Now})
	root.SetArgs(args)
	root.SetIn(stdin)
	root.SetOut(stdout)
	root.SetErr(stderr)
	err := root.ExecuteContext(ctx)
	if err == nil {
		return exitOK
	}
	found, ok := errors.AsType[*foundError](err)
	if !ok || found.err != nil {
		for line := range strings.Lines(err.Error()) {
			fmt.Fprintf(stderr, "evergate: %s\n", text.Escape(strings.TrimSpace(line)))
		}
	}
	switch {
	case ctx.Err() != nil:
		fmt.Fprintln(stderr, "evergate: interrupted")
		return exitInterrupted
	case ok:
		return exitFound
	default:
		return exitUsage
	}
}

// read reads standard input. It returns when ctx ends, although the read itself cannot be interrupted and continues
// until the process ends.
func (a *app) read(ctx context.Context, read func(io.Reader) ([]byte, error)) ([]byte, error) {
	type input struct {
		data []byte
		err  error
	}
	done := make(chan input, 1)
	go func() {
		data, err := read(a.stdin)
		done <- input{data, err}
	}()
	select {
	case in := <-done:
		return in.data, in.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// app is what all commands share.
type app struct {
	stdin          io.Reader
	stdout, stderr io.Writer
	now            func() time.Time

	kubeconfig clientcmd.ClientConfigLoadingRules
	overrides  clientcmd.ConfigOverrides
	namespace  string // that Evergate runs in
}

// defaultNamespace is where the kit installs Evergate, and defaultConfigMap what it mounts.
const (
	defaultNamespace = "evergate-system"
	defaultConfigMap = "evergate-policy"
)

func newRoot(a *app) *cobra.Command {
	root := &cobra.Command{
		Use:   "kubectl-evergate",
		Short: "See how Evergate is doing in a cluster, and change its policy",
		Long: `Kubectl evergate uses your kubeconfig and your rights; nothing is installed in the cluster. It reaches the
replicas by a port-forward. docs/plugin.md has what each command needs to be allowed.

Exit codes of all commands: 0 well, 1 something is wrong, and said, 2 bad flags, a bad policy, or a cluster that
cannot be asked, 130 interrupted by a signal.`,
		Annotations:   map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl evergate"},
		SilenceErrors: true, // run prints them
		SilenceUsage:  true,
	}
	flags := root.PersistentFlags()
	flags.StringVar(&a.namespace, "evergate-namespace", defaultNamespace, "namespace that Evergate runs in")
	a.kubeconfig = *clientcmd.NewDefaultClientConfigLoadingRules()
	flags.StringVar(&a.kubeconfig.ExplicitPath, "kubeconfig", "", "`file` of the kubeconfig")
	known := clientcmd.RecommendedConfigOverrideFlags("")
	known.ContextOverrideFlags.Namespace.LongName = "" // only explain has one: all else is in Evergate's
	clientcmd.BindOverrideFlags(&a.overrides, flags, known)
	a.completeClusterFlags(root)
	root.AddCommand(newStatus(a), newApply(a), newPlan(a), newHistory(a), newRollback(a), newPreflight(a), newExplain(a))
	return root
}

// config returns what says where the cluster is, and as whom it is asked.
func (a *app) config() clientcmd.ClientConfig {
	return clientcmd.NewNonInteractiveDeferredLoadingClientConfig(&a.kubeconfig, &a.overrides)
}

// cluster returns the cluster of the kubeconfig. It is an error if Evergate's namespace is known not to be there: all
// that is in it would be reported as missing.
func (a *app) cluster(ctx context.Context) (*live.Cluster, error) {
	c, err := a.connect()
	if err != nil {
		return nil, err
	}
	_, err = c.Client.CoreV1().Namespaces().Get(ctx, a.namespace, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf(
			"the cluster has no namespace %s: name the one that Evergate runs in with --evergate-namespace", a.namespace)
	}
	return c, nil // who may not read namespaces may still read what is in one
}

// connect returns the cluster of the kubeconfig, without a call.
func (a *app) connect() (*live.Cluster, error) {
	config, err := a.config().ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return live.New(config, a.namespace, a.stderr)
}

// policies returns where the policy of a cluster is: in the ConfigMap that its replicas show. Without replicas, or
// without the right to list them, it is the kit's.
func policies(c *live.Cluster, replicas []live.Replica) *revise.Policies {
	name := defaultConfigMap
	for _, r := range replicas {
		if mounted := r.ConfigMap(); mounted != "" {
			name = mounted
		}
	}
	return &revise.Policies{Client: c.Client, Namespace: c.Namespace, Name: name}
}

// say writes a line for users, beside the result.
func (a *app) say(format string, args ...any) {
	fmt.Fprintf(a.stderr, "evergate: "+format+"\n", args...)
}
