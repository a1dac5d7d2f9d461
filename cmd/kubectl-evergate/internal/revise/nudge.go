package revise

import (
	"context"
	"encoding/json"

	"k8s.io/apimachinery/pkg/types"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Nudge changes an annotation of a Pod. Its kubelet then updates the volumes immediately instead of within about a
// minute. value must be different in each call.
func (p *Policies) Nudge(ctx context.Context, pod, value string) error {
	patch, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"annotations": map[string]string{hashKey: value}},
	})
	if err != nil {
		return err
	}
	_, err = p.Client.CoreV1().Pods(p.Namespace).Patch(ctx, pod, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: Manager})
	return err
}
