package incidents

import (
	"context"
	"errors"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/cluster"
)

// I16: a policy became empty, or was deleted, and everything was allowed without a warning.

func TestI16(t *testing.T) {
	product := cluster.Product{
		Overlay: "fail-closed", Components: []string{"require-policy"}, Patches: unguarded.Patches,
	}
	try(t, incident{
		id: "I16", what: "a policy is emptied and deleted, under load, and then every replica restarts",
		guard: "an empty policy is rejected, and a replica without a policy is not ready", product: product,
		happen: empty, long: true,
		lacking: "replicas that do not need a policy",
		without: func(t *testing.T, l *lab) {
			product.Components = nil
			l.Install(t, product)
			l.awaitReplicas(t, 3)
		},
	})
}

func empty(t *testing.T, l *lab, control bool) outcome {
	t.Cleanup(func() { l.heal(context.WithoutCancel(t.Context()), t) })
	tr := l.start(t)
	took := l.enforcePolicy(t, "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n")
	was := l.loads(t)
	must(t, l.api.CoreV1().ConfigMaps(system).Delete(t.Context(), "evergate-policy", metav1.DeleteOptions{}))
	l.awaitLoads(t, was)
	tr.some(t)
	o := tr.stop(t)
	o.figure("emptied: seen by every replica after", "%s", took)
	o.add(l.stillEnforced(t))

	l.Kubectl(t, "", "-n", system, "delete", "pods", "-l", "app.kubernetes.io/component=webhook")
	o.add(l.afterRestart(t, control))
	if control { // the next incident needs replicas that have the policy
		l.restorePolicy(t)
		return o
	}
	begun := time.Now()
	l.setPolicy(t, policy)
	l.awaitReplicas(t, 3)
	l.awaitServed(t)
	o.figure("healed after the policy was applied again", "%s", time.Since(begun).Round(time.Second))
	return o
}

// stillEnforced tries requests that the policy denies while the replicas have it.
func (l *lab) stillEnforced(t *testing.T) outcome {
	t.Helper()
	var o outcome
	if err := l.createService(t.Context(), team, corev1.ServiceTypeNodePort); err == nil {
		o.breaks("a forbidden Service is allowed while every replica keeps running")
	}
	return o
}

// afterRestart repeats these requests when every replica has been replaced by one without a policy.
func (l *lab) afterRestart(t *testing.T, control bool) outcome {
	t.Helper()
	var o outcome
	l.await(t, "three new replicas that run", 3*time.Minute, func(ctx context.Context) error {
		pods, err := l.replicas(ctx)
		if err != nil {
			return err
		}
		running := 0
		for _, p := range pods {
			if p.Status.Phase == corev1.PodRunning {
				running++
			}
		}
		if running != 3 || len(pods) != 3 {
			return errors.New("not yet")
		}
		return nil
	})
	if control {
		l.awaitReplicas(t, 3)
	}
	const tries = 20
	allowed := 0
	for range tries {
		if l.createService(t.Context(), team, corev1.ServiceTypeNodePort) == nil {
			allowed++
		}
		pause(t.Context(), time.Second)
	}
	o.figure("forbidden Services after the restart", "%d of %d allowed", allowed, tries)
	if allowed > 0 {
		o.breaks("%d of %d forbidden Services are allowed after every replica has restarted", allowed, tries)
	}
	return o
}

// heal restores the policy, whatever its state is.
func (l *lab) heal(ctx context.Context, t *testing.T) {
	t.Helper()
	if out, said, err := l.tryPolicy(ctx, policy); err != nil {
		t.Errorf("restore the policy: %v\n%s%s", err, out, said)
	}
}
