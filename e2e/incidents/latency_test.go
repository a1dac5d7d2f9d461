package incidents

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/cluster"
)

// measuredPolicy can be exported completely, so native policies can do everything that the webhooks do.
const measuredPolicy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
- {name: k8s, mode: enforce, sources: [registry.k8s.io], mirror: mirror.corp.example/k8s}
- {name: acme, mode: enforce, sources: [ghcr.io/acme], mirror: mirror.corp.example/acme}
pods:
- {name: only-mirrors, mode: enforce, images: {from: mirrors, allowed: [quay.io/acme/*]}}
- {name: hygiene, mode: enforce, images: {denied: [docker.io/evil], deniedTags: [latest, "dev-*"]}}
`

// setup is one way to evaluate Pods: a namespace with webhooks, with native policies that evaluate Pods, with a native
// policy that rewrites them, or without any of these.
type setup struct {
	name, namespace               string
	webhooks, evaluates, rewrites bool
}

// setups returns the measured setups. The first does not evaluate Pods.
func setups() []setup {
	return []setup{
		{"none", "latency-none", false, false, false},
		{"webhooks", "latency-webhooks", true, false, false},
		{"webhooks and backstop", "latency-both", true, true, true},
		{"… of --target vap, with conditions", "latency-one-call", true, true, false},
		{"… of --target vap,map, with conditions", "latency-no-call", true, true, true},
		{"export alone", "latency-native", false, true, true},
	}
}

// TestLatency measures how long the creation of a Pod takes through the API server, in several setups that alternate:
// make bench-apiserver. It does not test a guarantee, and is skipped without EVERGATE_E2E_LATENCY.
func TestLatency(t *testing.T) {
	if os.Getenv("EVERGATE_E2E_LATENCY") == "" {
		t.Skip("this is a measurement: run make bench-apiserver")
	}
	l := open(t)
	l.setPolicy(t, measuredPolicy)
	l.Install(t, cluster.Product{})
	l.Kubectl(t, "", "-n", system, "rollout", "restart", deployment)
	l.AwaitRollout(t)
	l.awaitReplicas(t, 3)
	l.prepare(t)
	for _, size := range []struct {
		name       string
		containers int
	}{{"small", 1}, {"typical", 5}, {"large", 20}} {
		m := l.measure(t, largePod(size.containers))
		t.Logf("%s Pod, %d containers\n%s", size.name, size.containers, m.table())
	}
}

// prepare creates the namespaces, binds the native policies to some of them, and adds conditions for single namespaces
// to the webhooks, so that all setups can be measured in turn.
func (l *lab) prepare(t *testing.T) {
	t.Helper()
	l.exportPolicy(t, measuredPolicy)
	selector := func(label string) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchLabels: map[string]string{label: "yes"}}
	}
	l.bindKind(t, "validatingadmissionpolicybindings", selector("evergate.e2e/evaluates"))
	l.bindKind(t, "mutatingadmissionpolicybindings", selector("evergate.e2e/rewrites"))
	for _, s := range setups() {
		value := ""
		if s.webhooks {
			value = "enabled"
		}
		l.namespace(t, s.namespace, value)
		l.undo(t, "delete", "namespace", s.namespace, "--wait=false")
		if s.evaluates {
			l.Kubectl(t, "", "label", "namespace", s.namespace, "evergate.e2e/evaluates=yes", "--overwrite")
		}
		if s.rewrites {
			l.Kubectl(t, "", "label", "namespace", s.namespace, "evergate.e2e/rewrites=yes", "--overwrite")
		}
	}
	condition := func(config string, expression string, hooks ...string) {
		patch := func(element string) string {
			var all []string
			for _, hook := range hooks {
				all = append(all, fmt.Sprintf(`{"name": %q, "matchConditions": [%s]}`, hook, element))
			}
			return `{"webhooks": [` + strings.Join(all, ", ") + `]}`
		}
		l.undo(t, "patch", config, "evergate", "--type=strategic", "-p", patch(`{"name": "latency", "$patch": "delete"}`))
		l.Kubectl(t, "", "patch", config, "evergate", "--type=strategic", "-p",
			patch(fmt.Sprintf(`{"name": "latency", "expression": %q}`, expression)))
	}
	condition("validatingwebhookconfiguration", `!(request.namespace in ['latency-one-call', 'latency-no-call'])`,
		"pods.validate.evergate.dev")
	condition("mutatingwebhookconfiguration", `request.namespace != 'latency-no-call'`, "pods.mutate.evergate.dev",
		"again.pods.mutate.evergate.dev")
	l.await(t, "each setup to decide correctly", time.Minute, func(ctx context.Context) error {
		var errs []error
		for _, s := range setups() {
			errs = append(errs, l.decidesAs(ctx, &s))
		}
		return errors.Join(errs...)
	})
}

// decidesAs returns an error unless, in the namespace of a setup, a good Pod is rewritten and a bad Pod is denied, or
// neither happens if the setup does not evaluate Pods.
func (l *lab) decidesAs(ctx context.Context, s *setup) error {
	err := l.createPod(written)(ctx, s.namespace)
	_, bad := l.api.CoreV1().Pods(s.namespace).Create(ctx, pod("", elsewhere), dryRun)
	evaluates := s.webhooks || s.evaluates
	if (err == nil) != evaluates || (bad != nil) != evaluates {
		return fmt.Errorf("%s: a good Pod: %w, a bad one: %w", s.name, err, bad)
	}
	if natively := denied(bad, "evergate-pods-enforce"); natively != s.evaluates {
		return fmt.Errorf("%s: denied natively: %t: %w", s.name, natively, bad)
	}
	return nil
}

const (
	rounds = 40 // of all setups in turn, in random order
	calls  = 10 // of one setup in a round
)

// measurement contains the durations of creations, by setup and round.
type measurement map[string][][]time.Duration

// measure repeatedly creates a Pod as a dry run.
func (l *lab) measure(t *testing.T, p *corev1.Pod) measurement {
	t.Helper()
	m, order := measurement{}, setups()
	for round := range rounds + 1 {
		rand.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
		for _, s := range order {
			var took []time.Duration
			for range calls {
				begun := time.Now()
				_, err := l.api.CoreV1().Pods(s.namespace).Create(t.Context(), p, dryRun)
				took = append(took, time.Since(begun))
				must(t, err)
			}
			if round > 0 { // the first round warms up connections
				m[s.name] = append(m[s.name], took)
			}
		}
	}
	return m
}

// table returns for each setup the median, the 90th percentile, the ratio of its median to the median of none, and the
// additional time as a share of the webhooks' additional time. Each ratio is the median over the rounds.
func (m measurement) table() string {
	var b strings.Builder
	b.WriteString("| | p50 | p90 | of none | added, of what webhooks add |\n| --- | --- | --- | --- | --- |\n")
	none, webhooks := m["none"], m["webhooks"]
	for _, s := range setups() {
		var ratios, added []float64
		for i, round := range m[s.name] {
			is, was, called := median(round), median(none[i]), median(webhooks[i])
			ratios = append(ratios, float64(is)/float64(was))
			added = append(added, float64(is-was)/float64(called-was))
		}
		all := slices.Sorted(slices.Values(slices.Concat(m[s.name]...)))
		fmt.Fprintf(&b, "| %s | %.1f ms | %.1f ms | %.2f | %.2f |\n", s.name, ms(median(all)), ms(all[len(all)*9/10]),
			median(ratios), median(added))
	}
	return b.String()
}

func ms(d time.Duration) float64 { return d.Seconds() * 1000 }

func median[T interface{ ~int64 | ~float64 }](values []T) T {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// largePod returns a Pod with typical containers of about 2 KiB each.
func largePod(containers int) *corev1.Pod {
	p := pod("", written)
	p.Labels = map[string]string{"app.kubernetes.io/name": "shop", "app.kubernetes.io/component": "api"}
	p.Spec.Containers = nil
	for i := range containers {
		c := corev1.Container{
			Name: fmt.Sprintf("c%d", i), Image: fmt.Sprintf("docker.io/library/app-%d:1.%d", i, i),
			Args:  []string{"--listen=:8080", "--log-level=info"},
			Ports: []corev1.ContainerPort{{ContainerPort: int32(8080 + i)}},
			Resources: corev1.ResourceRequirements{Requests: corev1.ResourceList{
				corev1.ResourceCPU: resource.MustParse("1m"), corev1.ResourceMemory: resource.MustParse("1Mi"),
			}},
		}
		for j := range 20 {
			c.Env = append(c.Env, corev1.EnvVar{Name: fmt.Sprintf("SETTING_%d", j), Value: strings.Repeat("value ", 8)})
		}
		p.Spec.Containers = append(p.Spec.Containers, c)
	}
	return p
}
