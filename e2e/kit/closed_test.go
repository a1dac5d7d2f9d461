package kit

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestFailClosed checks that, while no replica responds, evaluated objects are rejected in namespaces that have opted
// in, with a message that contains the validating webhook. Nothing else is rejected, and in particular nothing that
// Evergate needs to recover.
func TestFailClosed(t *testing.T) {
	t.Parallel()
	c := start(t)
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{optIn: "enabled"}}}
	if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	must(t, createLoadBalancer("team", "lb")(t.Context(), c.admin))
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed"))
	c.kubectl(t, "", "delete", "service", "-n", "evergate-system", "evergate") // a call fails immediately
	await(t, "the webhooks are active", func(ctx context.Context) bool {
		return createPod("team", pod("", foreign), dryRun)(ctx, c.admin) != nil &&
			createService("team", dryRun)(ctx, c.admin) != nil
	})
	for hook, do := range map[string]write{
		pods:     createPod("team", pod("", mirrored), dryRun),
		ingress:  createIngress("team", dryRun),
		services: createService("team", dryRun),
	} {
		want := `failed calling webhook "` + hook + `"`
		if err := do(t.Context(), c.admin); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	for name, do := range map[string]write{
		"a Pod of ours":           createPod("evergate-system", pod("", foreign), dryRun),
		"a Pod of the system":     createPod("kube-system", pod("", foreign), dryRun),
		"the policy":              createConfigMap("evergate-system", "evergate-policy", dryRun),
		"a Service of the system": createService("kube-system", dryRun),
		"a Pod elsewhere":         createPod("default", pod("", foreign), dryRun),
	} {
		if err := do(t.Context(), c.admin); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	// A cloud controller writes the address of a load balancer. The call fails, and the write succeeds without a delay.
	await(t, "the webhook of addresses is called", func(ctx context.Context) bool {
		before := c.calls(t)
		if err := patchStatus("team", "lb", oneAddress, dryRunPatch)(ctx, c.admin); err != nil {
			t.Fatalf("an address in the status: %v", err)
		}
		return difference(before, c.calls(t))[balancer] == 1
	})
	// The manifests can be applied in this state, and so the problem can be fixed.
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-open"))
}
