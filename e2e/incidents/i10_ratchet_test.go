package incidents

import (
	"context"
	"strings"
	"testing"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// I10: a new policy refused updates of what had existed before, the removal of finalizers among them, so that nothing
// could be deleted.

func TestI10(t *testing.T) {
	try(t, incident{
		id: "I10", what: "an Ingress from before, with a host that is not allowed, is updated and deleted",
		guard:   "an update is denied only for what it brings",
		happen:  updateIngress,
		lacking: "a webhook that judges an object as if it were new", without: instead,
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
		switch {
		case denial == "" && err != nil:
			o.breaks("%s: %v", what, err)
		case denial != "" && (err == nil || !strings.Contains(err.Error(), denial)):
			o.breaks("%s: got %v, want %s", what, err, denial)
		default:
			o.figure(what, "%s", answer(err))
		}
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
	must(t, client.Delete(t.Context(), old.Name, metav1.DeleteOptions{})) // its finalizer holds it
	if !control {
		update("a host that is not allowed, of an object that is being deleted", notAllowed, func(i *networkingv1.Ingress) {
			i.Spec.Rules = append(i.Spec.Rules, networkingv1.IngressRule{Host: "new.example"})
		})
	}
	update("the finalizer goes, and with it the object", "", func(i *networkingv1.Ingress) { i.Finalizers = nil })
	return o
}

func answer(err error) string {
	if err != nil {
		return err.Error()
	}
	return "allowed"
}

// removeIngress takes an Ingress away whatever holds it.
func (l *lab) removeIngress(t *testing.T, ns string) {
	t.Helper()
	l.unmatchedWithin(context.WithoutCancel(t.Context()), t, ns, func(ctx context.Context) {
		_, _, _ = l.TryKubectl(ctx, "", "-n", ns, "patch", "ingress", "from-before", "--type=merge", "-p",
			`{"metadata": {"finalizers": null}}`)
		_, _, _ = l.TryKubectl(ctx, "", "-n", ns, "delete", "ingress", "from-before", "--ignore-not-found")
	})
}
