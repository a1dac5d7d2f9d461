package incidents

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// I9: a webhook on updates rewrote Pods that were running, or made them impossible to update.

func TestI9(t *testing.T) {
	try(t, incident{
		id: "I9", what: "a Pod from before is updated: a label, a finalizer, one of its two images",
		guard:   "on an update only an image that the update changes is rewritten",
		happen:  updatePod,
		lacking: "a webhook that rewrites whatever it sees", without: instead,
	})
}

// updatePod makes a Pod while its namespace is not matched, and updates it when it is.
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
		return o // its images differ by now
	}
	update("one image", func(p *corev1.Pod) { p.Spec.Containers[1].Image = written }, asWritten, mirrored)
	o.figure("updates", "4, of which one changes an image")
	return o
}
