package incidents

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"
)

// I12: a bad policy stopped a webhook, or made it allow everything.

func TestI12(t *testing.T) {
	t.Run("failed", func(t *testing.T) {
		try(t, incident{
			id: "I12", what: "kubectl apply of a policy that does not load", guard: "the policy guard",
			happen: applyBad, lacking: "no guard",
			without: func(t *testing.T, l *lab) { l.Install(t, unguarded) },
		})
	})
	t.Run("kept", func(t *testing.T) {
		bad := misspelt()
		try(t, incident{
			id: "I12", what: "a policy that does not load reaches the replicas, under load", guard: "the last good policy stays",
			product: unguarded,
			happen:  func(t *testing.T, l *lab, _ bool) outcome { return reachReplicas(t, l, bad) },
			lacking: "an empty policy that loads, as if the webhook failed open",
			without: func(*testing.T, *lab) {
				bad = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nallowEmpty: true\n"
			},
		})
	})
	t.Run("reload", func(t *testing.T) {
		try(t, incident{
			id: "I12", what: "another good policy, under load", guard: "policies are loaded while serving",
			happen: reload, // only a measurement, without a control run
		})
	})
}

// unguarded makes the policy guard match no object.
var unguarded = patched(`- target: {kind: ValidatingWebhookConfiguration, name: evergate}
  patch: |-
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata: {name: evergate}
    webhooks:
    - name: policy.validate.evergate.dev
      matchConditions: [{name: the-policy, expression: "false"}]`)

func misspelt() string { return strings.Replace(policy, "services:", "servises:", 1) }

func applyBad(t *testing.T, l *lab, _ bool) outcome {
	t.Cleanup(func() { l.fix(t) })
	var o outcome
	_, said, err := l.tryPolicy(t.Context(), misspelt())
	const want = "servises: unknown field; did you mean services?"
	if err == nil || !strings.Contains(said, want) {
		o.breaks("it is allowed (%v): %s", err, said)
		return o
	}
	o.figure("kubectl prints", "%s", lineWith(said, want))
	return o
}

// fix restores the policy when the test ends.
func (l *lab) fix(t *testing.T) {
	t.Helper()
	if out, said, err := l.tryPolicy(context.WithoutCancel(t.Context()), policy); err != nil {
		t.Errorf("fix the policy: %v\n%s%s", err, out, said)
	}
}

// reachReplicas applies a policy and waits until every replica has either activated it or reported an error.
func reachReplicas(t *testing.T, l *lab, text string) outcome {
	t.Cleanup(func() { l.fix(t) })
	was := l.loads(t)
	tr := l.start(t)
	_, said, err := l.tryPolicy(t.Context(), text)
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	took := l.awaitLoads(t, was)
	tr.some(t)
	failed := 0
	for _, p := range l.awaitReplicas(t, 3) {
		set, err := l.count(t.Context(), p.Name)
		must(t, err)
		if set.Sum("evergate_policy_last_load_successful", nil) == 0 {
			failed++
		}
	}
	o := tr.stop(t)
	o.figure("seen by every replica after", "%s", took)
	o.figure("replicas that report the failure to load", "%d of 3", failed)
	if failed != 3 {
		o.breaks("%d of 3 replicas report the failure to load", failed)
	}
	l.restorePolicy(t)
	return o
}

// restorePolicy restores the policy in every replica.
func (l *lab) restorePolicy(t *testing.T) {
	t.Helper()
	l.enforcePolicy(t, policy)
}

// enforcePolicy activates a policy in every replica, and returns how long that took and how the kubelet was triggered.
func (l *lab) enforcePolicy(t *testing.T, text string) string {
	t.Helper()
	was := l.loads(t)
	l.setPolicy(t, text)
	return l.awaitLoads(t, was)
}

// reload applies a different policy, and measures how long it takes until all replicas use it.
func reload(t *testing.T, l *lab, _ bool) outcome {
	t.Cleanup(func() { l.fix(t) })
	was := l.loads(t)
	tr := l.start(t)
	_, said, err := l.tryPolicy(t.Context(), policy+"- {name: no-balancers, mode: audit, types: {denied: "+
		"[LoadBalancer]}}\n")
	if err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	took := l.awaitLoads(t, was)
	o := tr.stop(t)
	o.figure("active in every replica after", "%s", took)
	l.restorePolicy(t)
	return o
}

// loads returns how many policies each replica has loaded or failed to load.
func (l *lab) loads(t *testing.T) map[string]float64 {
	t.Helper()
	counts := map[string]float64{}
	for _, p := range l.awaitReplicas(t, 3) {
		set, err := l.count(t.Context(), p.Name)
		must(t, err)
		counts[p.Name] = set.Sum("evergate_policy_loads_total", nil)
	}
	return counts
}

// awaitLoads waits until each replica has loaded, or failed to load, one more policy. It returns how long that took and
// how the kubelet was triggered.
func (l *lab) awaitLoads(t *testing.T, was map[string]float64) string {
	t.Helper()
	begun, how := time.Now(), "kubelet in its own time"
	if !long() {
		l.refresh(t)
		how = "kubelet made to look immediately"
	}
	l.await(t, "every replica to see the policy", 5*time.Minute, func(ctx context.Context) error {
		for name, n := range was {
			set, err := l.count(ctx, name)
			if err != nil {
				return err
			}
			if set.Sum("evergate_policy_loads_total", nil) == n {
				return fmt.Errorf("%s has not", name)
			}
		}
		return nil
	})
	return fmt.Sprintf("%s, %s", time.Since(begun).Round(time.Second), how)
}
