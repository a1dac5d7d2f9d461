package incidents

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/evergate/evergate/e2e/internal/cluster"
)

// I3: a webhook matched every resource and did not respond. The control plane could not write its own ConfigMaps, its
// API servers crashed repeatedly, and node repair destroyed the nodes.

func TestI3(t *testing.T) {
	t.Run("all gone", func(t *testing.T) {
		try(t, incident{
			id: "I3", what: "no replica is left, failurePolicy Fail",
			guard:   "the webhooks match only listed resources in namespaces that have opted in",
			product: cluster.Product{Overlay: "fail-closed"},
			happen:  allGone,
			lacking: "a webhook that matches everything",
			without: func(t *testing.T, l *lab) {
				l.scaleToZero(t) // before a webhook exists that would deny it
				matchEverything(t, l)
			},
		})
	})
	t.Run("policy required", func(t *testing.T) {
		try(t, incident{
			id: "I3", what: "no replica is left, and each needs a policy", guard: "the same",
			product: cluster.Product{Overlay: "fail-closed", Components: []string{"require-policy"}},
			happen:  allGone, // the control run is in "all gone"
		})
	})
	t.Run("backstop", func(t *testing.T) {
		try(t, incident{
			id: "I3", what: "no replica is left, with native policies as a backstop", guard: "the same",
			product: cluster.Product{Overlay: "fail-closed"},
			happen: func(t *testing.T, l *lab, control bool) outcome { // the control run is in "all gone"
				l.backstop(t)
				return allGone(t, l, control)
			},
		})
	})
	t.Run("frozen", func(t *testing.T) {
		in := incident{
			id: "I3", what: "a replica freezes", guard: "liveness by a watchdog",
			happen: freezeReplica,
		}
		if long() { // in the long run, wait longer for events that must not happen
			in.lacking = "no liveness probe"
			in.without = func(t *testing.T, l *lab) {
				l.Install(t, cluster.Product{Patches: []string{`- target: {kind: Deployment, name: evergate}
  patch: |-
    - {op: remove, path: /spec/template/spec/containers/0/livenessProbe}`}})
				l.awaitReplicas(t, 3)
			}
		}
		try(t, in)
	})
}

// matchEverything adds the webhook of I3: it matches every resource in every namespace.
func matchEverything(t *testing.T, l *lab) {
	all := admissionv1.AllScopes
	l.failClosed(t, "everything", nil, admissionv1.RuleWithOperations{
		Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
		Rule: admissionv1.Rule{APIGroups: []string{"*"}, APIVersions: []string{"*"}, Resources: []string{"*"},
			Scope: &all},
	})
}

// failClosed adds a webhook of another product until the test ends. It fails closed, and calls Evergate's Service.
func (l *lab) failClosed(t *testing.T, name string, namespaces *metav1.LabelSelector,
	rule admissionv1.RuleWithOperations) {
	t.Helper()
	path, fail, none, one := "/validate/pods", admissionv1.Fail, admissionv1.SideEffectClassNone, int32(1)
	ours, err := l.api.AdmissionregistrationV1().ValidatingWebhookConfigurations().Get(t.Context(), "evergate",
		metav1.GetOptions{})
	must(t, err)
	l.webhook(t, &admissionv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: name + ".evergate.e2e",
			ClientConfig: admissionv1.WebhookClientConfig{
				Service:  &admissionv1.ServiceReference{Namespace: system, Name: "evergate", Path: &path},
				CABundle: ours.Webhooks[0].ClientConfig.CABundle,
			},
			NamespaceSelector: namespaces, Rules: []admissionv1.RuleWithOperations{rule},
			FailurePolicy: &fail, SideEffects: &none, TimeoutSeconds: &one, AdmissionReviewVersions: []string{"v1"},
		}},
	})
}

// webhook adds webhooks of another product until the test ends. No webhook is called for webhook configurations.
func (l *lab) webhook(t *testing.T, config *admissionv1.ValidatingWebhookConfiguration) {
	t.Helper()
	api := l.api.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	t.Cleanup(func() {
		if err := api.Delete(context.WithoutCancel(t.Context()), config.Name, metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
	_, err := api.Create(t.Context(), config, metav1.CreateOptions{})
	must(t, err)
}

// allGone removes every replica. It then makes writes of a control plane, writes that webhooks evaluate, and writes
// that are exempt.
func allGone(t *testing.T, l *lab, control bool) outcome {
	if !control {
		l.scaleToZero(t)
	}
	var o outcome
	// The processes continue while they drain, and respond on open connections.
	l.await(t, "the rejection of evaluated objects", 2*time.Minute, func(ctx context.Context) error {
		for hook, do := range l.evaluated() {
			if err := do(ctx, team); err == nil {
				return errors.New(hook + " still answers")
			}
		}
		return nil
	})
	o.add(l.controlPlaneGoesOn(t))
	if control {
		return o
	}
	o.add(l.rejections(t))
	begun := time.Now()
	l.RestartAPIServer(t)
	o.figure("kube-apiserver restarted in this state: /readyz after", "%s", time.Since(begun).Round(100*time.Millisecond))
	return o
}

// scaleToZero removes all replicas immediately, until the test ends.
func (l *lab) scaleToZero(t *testing.T) {
	t.Helper()
	l.undo(t, "-n", system, "scale", deployment, "--replicas=3")
	l.Kubectl(t, "", "-n", system, "scale", deployment, "--replicas=0")
	l.Kubectl(t, "", "-n", system, "delete", "pods", "-l", "app.kubernetes.io/component=webhook", "--force",
		"--grace-period=0")
	l.awaitReplicas(t, 0)
}

// rejections checks that the webhooks' writes fail with a message that contains the webhook and the reason, and that
// other writes succeed.
func (l *lab) rejections(t *testing.T) outcome {
	t.Helper()
	var o outcome
	for hook, do := range l.evaluated() {
		err := do(t.Context(), team)
		if want := `failed calling webhook "` + hook + `"`; err == nil || !strings.Contains(err.Error(), want) {
			o.breaks("%s, in a namespace that has opted in: got %v, want %s", hook, err, want)
		} else {
			o.figure("denied", "%v", err)
		}
		if err := do(t.Context(), plain); err != nil {
			o.breaks("%s, in a namespace that has not opted in: %v", hook, err)
		}
	}
	return o
}

// evaluated returns a write of each evaluated kind, by webhook.
func (l *lab) evaluated() map[string]func(ctx context.Context, namespace string) error {
	return map[string]func(context.Context, string) error{
		"pods.validate.evergate.dev": func(ctx context.Context, ns string) error {
			_, err := l.api.CoreV1().Pods(ns).Create(ctx, pod("", mirrored), dryRun)
			return err
		},
		"ingresses.validate.evergate.dev": func(ctx context.Context, ns string) error {
			_, err := l.api.NetworkingV1().Ingresses(ns).Create(ctx, ingress("", "a.apps.example"), dryRun)
			return err
		},
		"services.validate.evergate.dev": func(ctx context.Context, ns string) error {
			return l.createService(ctx, ns, corev1.ServiceTypeClusterIP)
		},
	}
}

// write is a request and its description.
type write struct {
	name string
	do   func(context.Context, kubernetes.Interface) error
}

// controlPlaneGoesOn makes writes of a control plane, which must succeed even if no replica responds.
func (l *lab) controlPlaneGoesOn(t *testing.T) outcome {
	t.Helper()
	var o outcome
	passed := 0
	for _, w := range controlPlaneWrites() {
		if err := w.do(t.Context(), l.api); err != nil {
			o.breaks("%s: %v", w.name, err)
			continue
		}
		passed++
	}
	o.figure("writes of a control plane that succeed", "%d of %d", passed, len(controlPlaneWrites()))
	return o
}

// controlPlaneWrites returns the writes that a control plane, its nodes, cert-manager and Evergate need.
func controlPlaneWrites() []write {
	configMap := func(ns, name string) write {
		return write{"the ConfigMap " + ns + "/" + name, func(ctx context.Context, api kubernetes.Interface) error {
			c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name},
				Data: map[string]string{"now": time.Now().String()}}
			if _, err := api.CoreV1().ConfigMaps(ns).Create(ctx, c, metav1.CreateOptions{DryRun: dryRun.DryRun}); err != nil {
				return err
			}
			return nil
		}}
	}
	inNamespace := func(ns string) write {
		return write{"a Pod of " + ns, func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Pods(ns).Create(ctx, restricted(pod("", written)), dryRun)
			return err
		}}
	}
	return []write{
		{"the ConfigMap kube-system/extension-apiserver-authentication",
			func(ctx context.Context, api kubernetes.Interface) error {
				client := api.CoreV1().ConfigMaps("kube-system")
				c, err := client.Get(ctx, "extension-apiserver-authentication", metav1.GetOptions{})
				if err != nil {
					return err
				}
				c.Annotations = map[string]string{"evergate.e2e/written": time.Now().Format(time.RFC3339Nano)}
				_, err = client.Update(ctx, c, metav1.UpdateOptions{})
				return err
			}},
		configMap("kube-system", "evergate-e2e"),
		{"a Lease", func(ctx context.Context, api kubernetes.Interface) error {
			lease := &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}}
			_, err := api.CoordinationV1().Leases("kube-node-lease").Create(ctx, lease, dryRun)
			return err
		}},
		{"a Node", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "evergate-e2e"}}, dryRun)
			return err
		}},
		{"an Event", func(ctx context.Context, api kubernetes.Interface) error {
			event := &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}, InvolvedObject: corev1.ObjectReference{Namespace: team},
			}
			_, err := api.CoreV1().Events(team).Create(ctx, event, dryRun)
			return err
		}},
		{"an EndpointSlice", func(ctx context.Context, api kubernetes.Interface) error {
			slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"},
				AddressType: discoveryv1.AddressTypeIPv4}
			_, err := api.DiscoveryV1().EndpointSlices(team).Create(ctx, slice, dryRun)
			return err
		}},
		{"a Namespace", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"}},
				dryRun)
			return err
		}},
		inNamespace("kube-system"), inNamespace("cert-manager"), inNamespace(system),
		{"a Service of kube-system", func(ctx context.Context, api kubernetes.Interface) error {
			svc := &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"},
				Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
			}
			_, err := api.CoreV1().Services("kube-system").Create(ctx, svc, dryRun)
			return err
		}},
		{"our own webhook configuration", func(ctx context.Context, api kubernetes.Interface) error {
			client := api.AdmissionregistrationV1().ValidatingWebhookConfigurations()
			w, err := client.Get(ctx, "evergate", metav1.GetOptions{})
			if err != nil {
				return err
			}
			_, err = client.Update(ctx, w, metav1.UpdateOptions{DryRun: dryRun.DryRun})
			return err
		}},
		configMap(system, "evergate-policy-e2e"),
	}
}

// restricted makes a Pod pass the strictest Pod Security level, which Evergate's namespace has.
func restricted(p *corev1.Pod) *corev1.Pod {
	yes, no := true, false
	p.Spec.SecurityContext = &corev1.PodSecurityContext{
		RunAsNonRoot: &yes, SeccompProfile: &corev1.SeccompProfile{Type: corev1.SeccompProfileTypeRuntimeDefault},
	}
	for i := range p.Spec.Containers {
		p.Spec.Containers[i].SecurityContext = &corev1.SecurityContext{
			AllowPrivilegeEscalation: &no, Capabilities: &corev1.Capabilities{Drop: []corev1.Capability{"ALL"}},
		}
	}
	return p
}

// freezeReplica stops the process of one replica, which still holds its connections. It measures the cost under load,
// and checks that the kubelet restarts the replica.
func freezeReplica(t *testing.T, l *lab, control bool) outcome {
	victim := l.awaitReplicas(t, 3)[0]
	tr := l.start(t)
	begun := time.Now()
	l.Signal(t, &victim, syscall.SIGSTOP)
	if control {
		l.undo(t, "-n", system, "delete", "pod", victim.Name, "--force", "--grace-period=0")
	}
	gone := l.endpointGone(t, victim.Status.PodIP)
	var o outcome
	o.figure("out of the endpoints", "%s after it froze", gone.Sub(begun).Round(100*time.Millisecond))
	restarted := func(ctx context.Context) error {
		p, err := l.api.CoreV1().Pods(system).Get(ctx, victim.Name, metav1.GetOptions{})
		if err == nil && (len(p.Status.ContainerStatuses) == 0 || p.Status.ContainerStatuses[0].RestartCount == 0 ||
			!isReady(p)) {
			err = fmt.Errorf("it has not been started again")
		}
		return err
	}
	if control {
		// Twice the time that it takes with the probe.
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
		defer cancel()
		<-ctx.Done()
		if err := restarted(t.Context()); err != nil {
			o.breaks("after five minutes: %v", err)
		}
	} else {
		l.await(t, "the frozen replica to be started again", 5*time.Minute, restarted)
		o.figure("frozen to Ready again", "%s", time.Since(begun).Round(time.Second))
	}
	o.add(tr.bounded(t, begun, gone, time.Now()))
	return o
}
