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

// unmatched does something in a namespace while no webhook is called: objects from before are made so. The
// naive webhook goes by the same label then.
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

// relabelWithin sets the label by which a namespace is matched and waits until the API server goes by it: until a Pod
// gets the image that it then has to have.
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
		t.Errorf("namespace %s is not seen as labelled: %v", ns, err)
	}
}
