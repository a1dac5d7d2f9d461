package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/live"
	"github.com/evergate/evergate/cmd/kubectl-evergate/internal/revise"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

func newExplain(a *app) *cobra.Command {
	var namespace string
	var format *output.Format
	c := &cobra.Command{
		Use:   "explain POD",
		Short: "Explain why the images of a Pod were rewritten or not",
		Long: `Explain shows which webhooks match the namespace of the Pod, which policy the replicas have, and how that
policy would decide about each image and rule if the Pod were created again. If the Pod was rewritten, explain uses the
original images in its annotation, which tenants may write. It applies the rule sets of the webhooks that match.`,
		Args: cli.Args(1, 1, "no Pod: use kubectl evergate explain POD -n NAMESPACE"),
		RunE: func(c *cobra.Command, args []string) error {
			return a.explain(c.Context(), *format, namespace, args[0])
		},
		ValidArgsFunction: a.completeNames("pods", func() (string, error) { return a.podNamespace(namespace) }),
	}
	c.Flags().StringVarP(&namespace, "namespace", "n", "",
		"`namespace` of the Pod (default: the namespace of the kubeconfig)")
	_ = c.RegisterFlagCompletionFunc("namespace", a.completeNamespaces()) // fails only if the flag already has one
	format = cli.DefineFormat(c.Flags(), "the explanation")
	return c
}

// podNamespace returns the namespace in a flag. If the flag is empty, it returns the namespace of the kubeconfig.
func (a *app) podNamespace(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	of, _, err := a.config().Namespace()
	if err != nil {
		return "", fmt.Errorf("read the kubeconfig: %w", err)
	}
	return of, nil
}

func (a *app) explain(ctx context.Context, format output.Format, namespace, name string) error {
	c, err := a.cluster(ctx)
	if err != nil {
		return err
	}
	if namespace, err = a.podNamespace(namespace); err != nil {
		return err
	}
	pod, err := c.Client.CoreV1().Pods(namespace).Get(ctx, strings.TrimPrefix(name, "pod/"), metav1.GetOptions{})
	if err != nil {
		return fmt.Errorf("read the Pod: %w", err)
	}
	e := &explanation{app: a, cluster: c, pod: pod}
	sets := e.webhooks(ctx)
	p, err := e.policy(ctx)
	if err != nil {
		return err
	}
	if e.Review, err = e.decide(p, sets); err != nil {
		return err
	}
	if err := cli.Write(a.stdout, format, e, output.Options{}); err != nil || len(e.Review.Errors) == 0 {
		return err
	}
	return errors.New(strings.Join(e.Review.Errors, "\n"))
}

// WriteText writes the explanation for users.
func (e *explanation) WriteText(p *output.Printer) {
	for _, line := range e.Notes {
		printLine(p, "%s", line)
	}
	p.Line("If it were created now:")
	e.Review.WriteText(p)
}

// explanation explains one Pod. Its JSON is an interface.
type explanation struct {
	*app
	cluster *live.Cluster
	pod     *corev1.Pod

	Webhooks []string        `json:"webhooks"` // that match the namespace of the Pod
	Policy   string          `json:"policy"`   // the hash of the policy in the ConfigMap
	Notes    []string        `json:"notes"`    // sentences about the webhooks, the policy and the replicas
	Review   *offline.Report `json:"review"`   // as if the Pod were created now
}

// note adds a sentence.
func (e *explanation) note(format string, args ...any) {
	e.Notes = append(e.Notes, fmt.Sprintf(format, args...))
}

// webhooks adds a note about the webhooks that match the namespace of the Pod. It returns the rule sets in their
// paths.
func (e *explanation) webhooks(ctx context.Context) (sets []string) {
	hooks, err := readWebhooks(ctx, e.cluster)
	if err != nil {
		e.say("cannot determine which webhooks match: %v", err)
	}
	ns, nsErr := e.cluster.Client.CoreV1().Namespaces().Get(ctx, e.pod.Namespace, metav1.GetOptions{})
	if nsErr != nil {
		e.say("cannot determine which webhooks match: %v", nsErr)
		return nil
	}
	e.Webhooks = []string{}
	for _, h := range hooks.here {
		if !strings.Contains(h.path, "/pods") || !h.selector.Matches(labels.Set(ns.Labels)) {
			continue
		}
		e.Webhooks = append(e.Webhooks, h.Name)
		if _, set, ok := strings.Cut(h.path, "/set/"); ok {
			sets = append(sets, set)
		}
	}
	native := e.nativePolicies(ctx, ns)
	switch {
	case len(e.Webhooks) > 0:
		e.note("The namespace %s is matched by %s.", ns.Name, text.List(e.Webhooks))
	case err == nil && len(native) > 0:
		e.note("No webhook matches the namespace %s. It is matched by the native policies %s.", ns.Name, text.List(native))
	case err == nil:
		e.note("No webhook matches the namespace %s: its Pods are neither rewritten nor validated. To opt in, set the label "+
			"evergate.dev/admission=enabled.", ns.Name)
	}
	return sets
}

// nativePolicies returns the bindings of native policies for Pods that match the namespace of the Pod. The result is
// empty if a webhook matches it, or if the bindings cannot be read.
func (e *explanation) nativePolicies(ctx context.Context, ns *corev1.Namespace) []string {
	if len(e.Webhooks) > 0 {
		return nil
	}
	bindings, err := readBindings(ctx, e.cluster)
	if err != nil {
		e.say("cannot determine which native policies match: %v", err)
	}
	var names []string
	for _, b := range bindings {
		pods := strings.HasPrefix(b.Name, "evergate-pods-") || b.Name == "evergate-mirrors"
		if pods && b.selector.Matches(labels.Set(ns.Labels)) && !slices.Contains(names, b.Name) {
			names = append(names, b.Name)
		}
	}
	return names
}

// policy returns the policy in the ConfigMap. It adds notes about replicas with another policy.
func (e *explanation) policy(ctx context.Context) (*policy.Policy, error) {
	replicas, err := e.cluster.Replicas(ctx)
	if err != nil {
		e.say("cannot determine the policy of the replicas: %v", err)
	}
	store := policies(e.cluster, replicas)
	cm, err := store.Current(ctx)
	if err != nil {
		return nil, err
	}
	p, err := policy.Load(revise.Files(cm)...)
	if err != nil {
		return nil, fmt.Errorf("the policy in the ConfigMap %s does not load: %w", store.Name, err)
	}
	e.Policy = p.Hash()
	e.note("The policy in the ConfigMap %s is %s.", store.Name, p.Hash())
	reports := e.cluster.Ask(ctx, replicas, false)
	for i := range reports {
		r := &reports[i]
		switch {
		case r.Err != nil:
			e.say("%s does not answer: %v", r.Name(), r.Err)
		case r.Policy.Hash != p.Hash():
			e.note("%s has another policy: %s.", r.Name(), r.Policy.Hash)
		case e.pod.CreationTimestamp.Time.Before(r.Policy.Since):
			e.note("%s has had it since %s, but the Pod was created before, at %s, so another policy may have decided.",
				r.Name(), r.Policy.Since.UTC().Format(time.RFC3339), e.pod.CreationTimestamp.UTC().Format(time.RFC3339))
		}
	}
	return p, nil
}

// decide returns the decision of a policy about the Pod.
func (e *explanation) decide(p *policy.Policy, sets []string) (*offline.Report, error) {
	e.pod.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}
	object, err := live.Object(e.pod.Namespace+"/"+e.pod.Name, e.pod)
	if err != nil {
		return nil, err
	}
	return offline.Review(offline.Options{
		Policy: p, Now: e.now(), Sets: p.SetsOf(sets), Recorded: true, Explain: true,
	}, func(yield func(offline.Object, error) bool) { yield(object, nil) }), nil
}
