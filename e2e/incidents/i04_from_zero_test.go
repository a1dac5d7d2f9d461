package incidents

import (
	"context"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/cluster"
)

// I4: a webhook that fails closed can lock up a cluster. Without nodes there is no webhook, and then no Pod is admitted
// that would bring it back.

func TestI4(t *testing.T) {
	t.Run("opted in", func(t *testing.T) {
		try(t, incident{
			id:      "I4",
			what:    "everything is stopped and started again, then all nodes are lost with their Pods; failurePolicy Fail",
			guard:   "the webhooks do not match anything that Evergate needs",
			product: cluster.Product{Overlay: "fail-closed"},
			long:    true, // a short run starts from zero once, with every namespace matched
			happen: func(t *testing.T, l *lab, control bool) outcome {
				return fromZero(t, l, control, func() outcome { return outcome{} })
			},
			lacking: "a webhook that matches Evergate's Pods",
			without: func(t *testing.T, l *lab) {
				l.undo(t, "-n", system, "rollout", "restart", deployment) // the controller would otherwise wait longer and longer
				matchItself(t, l)
			},
		})
	})
	t.Run("policy required", func(t *testing.T) {
		try(t, incident{
			id: "I4", what: "the same, and each replica needs a policy", guard: "the same",
			product: cluster.Product{Overlay: "fail-closed", Components: []string{"require-policy"}},
			happen: func(t *testing.T, l *lab, control bool) outcome {
				return fromZero(t, l, control, func() outcome { return outcome{} }) // the control run is in "opted in"
			},
		})
	})
	t.Run("backstop", func(t *testing.T) {
		try(t, incident{
			id: "I4", what: "the same with every namespace matched, by native policies too", guard: "the same",
			product: cluster.Product{Overlay: "fail-closed", Components: []string{"match-all-namespaces"}},
			happen: func(t *testing.T, l *lab, control bool) outcome {
				l.backstop(t)
				return fromZero(t, l, control, func() outcome { return outcome{} }) // the control run is in "opted in"
			},
		})
	})
	t.Run("every namespace", func(t *testing.T) {
		try(t, incident{
			id: "I4", what: "the same with every namespace matched, and a network that starts from a separate namespace",
			guard:   "the namespaces of networks are exempt by name",
			product: cluster.Product{Overlay: "fail-closed", Components: []string{"match-all-namespaces"}},
			happen: func(t *testing.T, l *lab, control bool) outcome {
				l.createNetwork(t)
				o := fromZero(t, l, control, func() outcome { return l.recreateNetwork(t, control) })
				if len(o.broken) == 0 {
					l.awaitNetwork(t)
				}
				return o
			},
			lacking: "the name of that namespace in the list of exempt namespaces",
			without: func(t *testing.T, l *lab) { matchNetwork(t, l) },
		})
	})
}

// matchItself adds a webhook that fails closed and is called for the Pods that would serve it.
func matchItself(t *testing.T, l *lab) {
	itself := &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: system}}
	l.failClosed(t, "itself", itself, admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create},
		Rule:       admissionv1.Rule{APIGroups: []string{""}, APIVersions: []string{"v1"}, Resources: []string{"pods"}},
	})
}

// fromZero stops everything and then removes all nodes. While there are no nodes and no replicas, it calls during.
func fromZero(t *testing.T, l *lab, control bool, during func() outcome) outcome {
	l.NeedRig(t, "stops the whole cluster")
	var o outcome
	if !control {
		l.StopAll(t)
		begun := time.Now()
		l.StartAll(t)
		o.figure("all nodes Ready", "%s after the start", time.Since(begun).Round(time.Second))
		l.awaitServed(t)
		o.figure("Pods rewritten and Services validated again", "%s after the start", time.Since(begun).Round(time.Second))
		l.awaitAnswers(t)
		o.figure("three replicas answer", "%s after the start", time.Since(begun).Round(time.Second))
	}
	// New nodes do not have any Pods, so new Pods have to be admitted.
	nodes := l.Nodes(t)
	for _, node := range nodes {
		l.Off(t, node.Name)
	}
	l.Kubectl(t, "", "-n", system, "delete", "pods", "-l", "app.kubernetes.io/component=webhook", "--force",
		"--grace-period=0")
	o.add(during())
	begun := time.Now()
	for _, node := range nodes {
		l.On(t, node.Name)
	}
	if len(o.broken) > 0 {
		l.awaitReplicas(t, 3)
		return o
	}
	var rejected string
	l.await(t, "three new replicas, or their rejection", 5*time.Minute, func(ctx context.Context) error {
		d, err := l.api.AppsV1().Deployments(system).Get(ctx, "evergate", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if rejected = replicaFailure(d); rejected != "" {
			return nil
		}
		_, err = l.readyReplicas(ctx, 3)
		return err
	})
	if rejected != "" {
		o.breaks("no new replica is admitted: %s", rejected)
		return o
	}
	l.awaitServed(t)
	o.figure("all nodes lost: Pods rewritten and Services validated again", "%s after the first of them was switched on",
		time.Since(begun).Round(time.Second))
	return o
}

// awaitAnswers waits until three replicas respond, whatever etcd still contains about them.
func (l *lab) awaitAnswers(t *testing.T) {
	t.Helper()
	l.await(t, "three replicas to answer", 5*time.Minute, func(ctx context.Context) error {
		replicas, err := l.readyReplicas(ctx, 3)
		for i := 0; err == nil && i < len(replicas); i++ {
			_, err = l.count(ctx, replicas[i].Name)
		}
		return err
	})
}

// replicaFailure returns why the Pods of a Deployment cannot be created, or "".
func replicaFailure(d *appsv1.Deployment) string {
	for _, c := range d.Status.Conditions {
		if c.Type == appsv1.DeploymentReplicaFailure && c.Status == corev1.ConditionTrue {
			return c.Message
		}
	}
	return ""
}
