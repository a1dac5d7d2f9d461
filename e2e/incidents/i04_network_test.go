package incidents

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/cluster"
)

// network is a namespace that components/match-all-namespaces exempts because it contains the network. Other Pods
// cannot run before its Pods do.
const network = "calico-system"

// createNetwork creates Pods that represent a network: one on each node, independent of each other.
func (l *lab) createNetwork(t *testing.T) {
	t.Helper()
	l.namespace(t, network, "")
	l.undo(t, "delete", "namespace", network, "--timeout=5m")
	labels, at := map[string]string{"app": "network"}, int64(1) // second: the Pod has nothing to finish
	ds := &appsv1.DaemonSet{
		ObjectMeta: metav1.ObjectMeta{Name: "network"},
		Spec: appsv1.DaemonSetSpec{
			Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec: corev1.PodSpec{
					HostNetwork: true, TerminationGracePeriodSeconds: &at,
					Tolerations: []corev1.Toleration{{Operator: corev1.TolerationOpExists}},
					Containers:  []corev1.Container{{Name: "network", Image: cluster.Pause, ImagePullPolicy: corev1.PullNever}},
				},
			},
		},
	}
	_, err := l.api.AppsV1().DaemonSets(network).Create(t.Context(), ds, metav1.CreateOptions{})
	must(t, err)
	l.awaitNetwork(t)
}

// awaitNetwork waits until the network runs on every node.
func (l *lab) awaitNetwork(t *testing.T) {
	t.Helper()
	l.await(t, "the network on every node", 5*time.Minute, func(ctx context.Context) error {
		pods, err := l.networkPods(ctx)
		if err == nil && slices.ContainsFunc(pods, func(p corev1.Pod) bool { return !isReady(&p) }) {
			err = errors.New("some of its Pods are not ready")
		}
		return err
	})
}

// networkPods returns the Pods of the network, or an error until there is one for each node.
func (l *lab) networkPods(ctx context.Context) ([]corev1.Pod, error) {
	list, err := l.api.CoreV1().Pods(network).List(ctx, metav1.ListOptions{LabelSelector: "app=network"})
	if err != nil {
		return nil, err
	}
	nodes, err := l.api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	if len(list.Items) != len(nodes.Items) {
		return nil, fmt.Errorf("%d Pods on %d nodes", len(list.Items), len(nodes.Items))
	}
	return list.Items, nil
}

// recreateNetwork deletes the Pods of the network while there are no replicas, and reports whether new Pods are
// admitted.
func (l *lab) recreateNetwork(t *testing.T, control bool) outcome {
	t.Helper()
	var o outcome
	lost := map[string]bool{}
	before, err := l.networkPods(t.Context())
	must(t, err)
	for _, p := range before {
		lost[string(p.UID)] = true
	}
	l.Kubectl(t, "", "-n", network, "delete", "pods", "-l", "app=network", "--force", "--grace-period=0")
	// A namespace without a label is matched, so only the exempt name admits the Pods below.
	if _, err := l.api.CoreV1().Pods(plain).Create(t.Context(), pod("", written), dryRun); err == nil {
		o.breaks("with no replica left a Pod is admitted in %s, which is matched", plain)
	}
	begun := time.Now()
	_, err = l.api.CoreV1().Pods(network).Create(t.Context(), pod("", written), dryRun)
	if err != nil {
		o.breaks("with no replica left a Pod of the network is rejected: %v", err)
	}
	o.figure("a Pod of the network, with no replica left", "%s", time.Since(begun).Round(time.Millisecond))
	if control {
		return o
	}
	// Another network is installed in this state. The guard of exempt names does not need a replica either.
	_, err = l.api.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-flannel"}}, dryRun)
	if err != nil && !apierrors.IsAlreadyExists(err) {
		o.breaks("with no replica left the namespace of a network cannot be created: %v", err)
	}
	l.await(t, "new Pods of the network, with no replica left", 2*time.Minute, func(ctx context.Context) error {
		pods, err := l.networkPods(ctx)
		if err == nil && slices.ContainsFunc(pods, func(p corev1.Pod) bool { return lost[string(p.UID)] }) {
			err = errors.New("lost ones are still there")
		}
		return err
	})
	return o
}

// matchNetwork removes the network's namespace from the exempt names of the webhook for Pods, until the test ends.
func matchNetwork(t *testing.T, l *lab) {
	t.Helper()
	api := l.api.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	change := func(ctx context.Context, change func(names []string) []string) error {
		config, err := api.Get(ctx, "evergate", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for i := range config.Webhooks {
			if config.Webhooks[i].Name != "pods.validate.evergate.dev" {
				continue
			}
			expressions := config.Webhooks[i].NamespaceSelector.MatchExpressions
			for j := range expressions {
				if expressions[j].Key == corev1.LabelMetadataName {
					expressions[j].Values = change(expressions[j].Values)
				}
			}
		}
		_, err = api.Update(ctx, config, metav1.UpdateOptions{})
		return err
	}
	must(t, change(t.Context(), func(names []string) []string {
		return slices.DeleteFunc(names, func(name string) bool { return name == network })
	}))
	t.Cleanup(func() {
		err := change(context.WithoutCancel(t.Context()), func(names []string) []string {
			if slices.Contains(names, network) {
				return names
			}
			return append(names, network)
		})
		if err != nil {
			t.Error(err)
		}
	})
}
