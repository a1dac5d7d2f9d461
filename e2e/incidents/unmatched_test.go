package incidents

import (
	"context"
	"fmt"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/evergate/evergate/e2e/internal/optin"
)

// unmatched runs do in a namespace while no webhook is called. In this way, tests create objects from before. The naive
// webhook then uses the same label.
func (l *lab) unmatched(t *testing.T, ns string, do func()) {
	t.Helper()
	l.unmatchedWithin(t.Context(), t, ns, func(context.Context) { do() })
}

func (l *lab) unmatchedWithin(ctx context.Context, t *testing.T, ns string, do func(context.Context)) {
	t.Helper()
	l.relabelWithin(ctx, t, ns, "null", written)
	do(ctx)
	l.relabelWithin(ctx, t, ns, `"enabled"`, mirrored)
}

// relabelWithin sets the label by which a namespace is matched. It waits until the API server uses it, which is when a
// Pod gets the expected image.
func (l *lab) relabelWithin(ctx context.Context, t *testing.T, ns, value, image string) {
	t.Helper()
	label := optin.Label
	if ns == another {
		label = naiveLabel
	}
	patch := fmt.Sprintf(`{"metadata": {"labels": {%q: %s}}}`, label, value)
	if _, err := l.api.CoreV1().Namespaces().Patch(ctx, ns, types.MergePatchType, []byte(patch),
		metav1.PatchOptions{}); err != nil {
		t.Errorf("label namespace %s: %v", ns, err)
		return
	}
	err := wait.PollUntilContextTimeout(ctx, 50*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			p, err := l.api.CoreV1().Pods(ns).Create(ctx, pod("", written), dryRun)
			return err == nil && (p.Spec.Containers[0].Image == written) == (image == written), nil
		})
	if err != nil {
		t.Errorf("the label of namespace %s has no effect: %v", ns, err)
	}
}
