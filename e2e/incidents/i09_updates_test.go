package incidents

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// I9: a webhook for updates rewrote running Pods, or made it impossible to update them.

func TestI9(t *testing.T) {
	try(t, incident{
		id: "I9", what: "a Pod from before is updated: a label, a finalizer, one of its two images; a Deployment is scaled " +
			"and restarted",
		guard:   "an update rewrites only the images that it changes",
		happen:  updatePod,
		lacking: "a webhook that rewrites every image", without: instead,
	})
}

// updatePod creates a Pod while its namespace is not matched, and updates it when the namespace is matched.
func updatePod(t *testing.T, l *lab, control bool) outcome {
	ns := asked(control)
	pods := l.api.CoreV1().Pods(ns)
	l.undo(t, "-n", ns, "delete", "pod", "from-before", "--force", "--grace-period=0", "--ignore-not-found")
	old := nowhere(pod("from-before", "docker.io/library/redis:7"))
	old.Spec.Containers = append(old.Spec.Containers, corev1.Container{Name: "d", Image: "docker.io/library/redis:7"})
	l.unmatched(t, ns, func() {
		_, err := pods.Create(t.Context(), old, metav1.CreateOptions{})
		must(t, err)
	})
	var o outcome
	update := func(what string, change func(*corev1.Pod), want ...string) {
		p, err := pods.Get(t.Context(), old.Name, metav1.GetOptions{})
		must(t, err)
		change(p)
		if p, err = pods.Update(t.Context(), p, metav1.UpdateOptions{}); err != nil {
			o.breaks("%s: %v", what, err)
			return
		}
		for i, c := range p.Spec.Containers {
			if c.Image != want[i] {
				o.breaks("%s: image %d is %s, want %s", what, i, c.Image, want[i])
			}
		}
	}
	const asWritten = "docker.io/library/redis:7"
	update("a label", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }, asWritten, asWritten)
	update("a finalizer", func(p *corev1.Pod) { p.Finalizers = []string{"evergate.e2e/f"} }, asWritten, asWritten)
	update("the finalizer goes", func(p *corev1.Pod) { p.Finalizers = nil }, asWritten, asWritten)
	if control {
		return o // its images have changed
	}
	update("one image", func(p *corev1.Pod) { p.Spec.Containers[1].Image = written }, asWritten, mirrored)
	o.figure("updates", "4, of which one changes an image")
	o.add(updateDeployment(t, l, ns))
	return o
}

// updateDeployment creates a Deployment while its namespace is not matched, and scales and restarts it when the
// namespace is matched. Its Pods are rewritten, its template is not, and the webhook is called only for the restart.
func updateDeployment(t *testing.T, l *lab, ns string) outcome {
	l.makeFromBefore(t, ns, written)
	var o outcome
	calls := func(what string, want float64, args ...string) {
		before := l.apiServer(t)
		l.Kubectl(t, "", append([]string{"-n", ns}, args...)...)
		l.awaitObserved(t, ns)
		n := madeCalls(l.apiServer(t))[workloads] - madeCalls(before)[workloads]
		if n != want {
			o.breaks("%s: %.0f calls of %s, want %.0f", what, n, workloads, want)
		}
		o.figure("calls of "+workloads+", "+what, "%.0f", n)
	}
	calls("a label", 0, "label", "deployment", fromBefore, "a=b")
	calls("kubectl scale", 0, "scale", "deployment", fromBefore, "--replicas=1")
	calls("kubectl rollout restart", 1, "rollout", "restart", "deployment", fromBefore)
	calls("a patch of its status", 0, "patch", "deployment", fromBefore, "--subresource=status", "--type=merge", "-p",
		`{"status": {"collisionCount": 0}}`)
	d, err := l.api.AppsV1().Deployments(ns).Get(t.Context(), fromBefore, metav1.GetOptions{})
	must(t, err)
	if got := d.Spec.Template.Spec.Containers[0].Image; got != written {
		o.breaks("the template has %s, want %s", got, written)
	}
	l.await(t, "a Pod of the Deployment", time.Minute, func(ctx context.Context) error {
		list, err := l.api.CoreV1().Pods(ns).List(ctx, metav1.ListOptions{LabelSelector: "app=" + fromBefore})
		if err != nil {
			return err
		}
		if len(list.Items) == 0 {
			return errors.New("there is none")
		}
		if got := list.Items[0].Spec.Containers[0].Image; got != mirrored {
			o.breaks("its Pod has %s, want %s", got, mirrored)
		}
		return nil
	})
	return o
}

const (
	workloads  = "workloads.validate.evergate.dev"
	fromBefore = "from-before"
)

// makeFromBefore creates a Deployment without Pods while its namespace is not matched. It has a finalizer.
func (l *lab) makeFromBefore(t *testing.T, ns, image string) {
	t.Helper()
	labels, none := map[string]string{"app": fromBefore}, int32(0)
	d := &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: fromBefore, Finalizers: []string{"evergate.e2e/f"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: &none, Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: nowhere(pod("", image)).Spec},
		},
	}
	l.undo(t, "-n", ns, "delete", "deployment", fromBefore, "--ignore-not-found")
	t.Cleanup(func() { // runs before the cleanup above; an error means that the object is already deleted
		_, _, _ = l.TryKubectl(context.WithoutCancel(t.Context()), "", "-n", ns, "patch", "deployment", fromBefore,
			"--type=merge", "-p", `{"metadata": {"finalizers": null}}`)
	})
	l.unmatched(t, ns, func() {
		_, err := l.api.AppsV1().Deployments(ns).Create(t.Context(), d, metav1.CreateOptions{})
		must(t, err)
	})
	l.awaitObserved(t, ns)
}

// awaitObserved waits until the Deployment's controller has processed the last change and written its status.
func (l *lab) awaitObserved(t *testing.T, ns string) {
	t.Helper()
	l.await(t, "the controller of the Deployment", time.Minute, func(ctx context.Context) error {
		d, err := l.api.AppsV1().Deployments(ns).Get(ctx, fromBefore, metav1.GetOptions{})
		if err == nil && d.Status.ObservedGeneration != d.Generation {
			err = fmt.Errorf("it has seen generation %d of %d", d.Status.ObservedGeneration, d.Generation)
		}
		return err
	})
}
