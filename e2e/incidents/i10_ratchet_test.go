package incidents

import (
	"context"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
)

// I10: a new policy denied updates of existing objects, including the removal of finalizers, so they could not be
// deleted.

func TestI10(t *testing.T) {
	try(t, incident{
		id: "I10", what: "an Ingress from before, with a host that is not allowed, is updated and deleted; so is a " +
			"Deployment with an image that is denied",
		guard:   "an update is denied only for introduced findings",
		happen:  updateIngress,
		lacking: "a webhook that evaluates every object as if it were new", without: instead,
	})
}

func updateIngress(t *testing.T, l *lab, control bool) outcome {
	ns := asked(control)
	client := l.api.NetworkingV1().Ingresses(ns)
	t.Cleanup(func() { l.removeIngress(t, ns) })
	old := ingress("from-before", "old.example")
	old.Finalizers = []string{"evergate.e2e/f"}
	l.unmatched(t, ns, func() {
		_, err := client.Create(t.Context(), old, metav1.CreateOptions{})
		must(t, err)
	})
	var o outcome
	update := func(what, denial string, change func(*networkingv1.Ingress)) {
		i, err := client.Get(t.Context(), old.Name, metav1.GetOptions{})
		must(t, err)
		change(i)
		_, err = client.Update(t.Context(), i, metav1.UpdateOptions{})
		o.decided(what, denial, err)
	}
	const notAllowed = "denied the request: team-hosts/hosts.allowed: "
	update("a label", "", func(i *networkingv1.Ingress) { i.Labels = map[string]string{"a": "b"} })
	update("another host that is allowed", "", func(i *networkingv1.Ingress) {
		i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: "a.apps.example"})
	})
	if !control {
		update("another host that is not", notAllowed, func(i *networkingv1.Ingress) {
			i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: "new.example"})
		})
	}
	must(t, client.Delete(t.Context(), old.Name, metav1.DeleteOptions{})) // its finalizer keeps it
	if !control {
		update("a host that is not allowed, of an object that is being deleted", notAllowed, func(i *networkingv1.Ingress) {
			i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: "new.example"})
		})
	}
	update("the finalizer goes, and with it the object", "", func(i *networkingv1.Ingress) { i.Finalizers = nil })
	if !control {
		o.add(updateDenied(t, l, ns))
	}
	return o
}

// updateDenied creates a Deployment with an image that a rule with workloads: enforce denies, while its namespace is
// not matched, and updates it when the namespace is matched.
func updateDenied(t *testing.T, l *lab, ns string) outcome {
	const old, worse = "quay.io/evil/old:1", "quay.io/evil/new:1"
	l.denyEvil(t)
	l.makeFromBefore(t, ns, old)
	client := l.api.AppsV1().Deployments(ns)
	var o outcome
	update := func(what, denial string, change func(*appsv1.Deployment)) {
		err := retry.RetryOnConflict(retry.DefaultRetry, func() error { // its controller also writes it
			d, err := client.Get(t.Context(), fromBefore, metav1.GetOptions{})
			if err != nil {
				return err
			}
			change(d)
			_, err = client.Update(t.Context(), d, metav1.UpdateOptions{})
			return err
		})
		o.decided("Deployment: "+what, denial, err)
	}
	const denied = `admission webhook "` + workloads + `" denied the request: no-evil/images.denied: `
	another := func(image string) func(*appsv1.Deployment) {
		return func(d *appsv1.Deployment) {
			spec := &d.Spec.Template.Spec
			spec.Containers = append(spec.Containers[:1:1], corev1.Container{Name: "d", Image: image})
		}
	}
	update("a label", "", func(d *appsv1.Deployment) { d.Labels = map[string]string{"a": "b"} })
	update("a restart", "", func(d *appsv1.Deployment) {
		d.Spec.Template.Annotations = map[string]string{"restarted": "now"}
	})
	update("another image that is allowed", "", another(mirrored))
	update("another image that is denied", denied, another(worse))
	must(t, client.Delete(t.Context(), fromBefore, metav1.DeleteOptions{})) // its finalizer keeps it
	update("another image that is denied, of an object that is being deleted", denied, another(worse))
	update("the finalizer goes, and with it the object", "", func(d *appsv1.Deployment) { d.Finalizers = nil })
	l.restorePolicy(t) // otherwise the next incident would count this load
	return o
}

// denyEvil adds a rule for workloads to the policy of every replica.
func (l *lab) denyEvil(t *testing.T) {
	t.Helper()
	t.Cleanup(func() { l.fix(t) })
	l.enforcePolicy(t, evilDenied())
}

// evilDenied returns the policy of most incidents with a rule for workloads, which old revisions do not support.
func evilDenied() string {
	const rule = "- {name: no-evil, mode: enforce, workloads: enforce, images: {denied: [quay.io/evil]}}\n"
	return strings.Replace(policy, "pods:\n", "pods:\n"+rule, 1)
}

// decided records the result of a write. It must be allowed if denial is empty, and otherwise be denied with that text.
func (o *outcome) decided(what, denial string, err error) {
	switch {
	case denial == "" && err != nil:
		o.breaks("%s: %v", what, err)
	case denial != "" && (err == nil || !strings.Contains(err.Error(), denial)):
		o.breaks("%s: got %v, want %s", what, err, denial)
	default:
		o.figure(what, "%s", answer(err))
	}
}

func answer(err error) string {
	if err != nil {
		return err.Error()
	}
	return "allowed"
}

// removeIngress deletes an Ingress and its finalizers.
func (l *lab) removeIngress(t *testing.T, ns string) {
	t.Helper()
	l.unmatchedWithin(context.WithoutCancel(t.Context()), t, ns, func(ctx context.Context) {
		_, _, _ = l.TryKubectl(ctx, "", "-n", ns, "patch", "ingress", "from-before", "--type=merge", "-p",
			`{"metadata": {"finalizers": null}}`)
		_, _, _ = l.TryKubectl(ctx, "", "-n", ns, "delete", "ingress", "from-before", "--ignore-not-found")
	})
}
