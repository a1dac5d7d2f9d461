// Package optin contains all ways to write the label with which a namespace opts in, for tests of permissions.
package optin

import (
	"context"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
)

// Label is the label with which a namespace opts in.
const Label = "evergate.dev/admission"

// Route is a way to write namespace labels.
type Route struct {
	Name string
	// Write sets the label of the namespace to the value in ns, or removes it if ns does not have the label.
	Write func(ctx context.Context, c kubernetes.Interface, ns *corev1.Namespace) error
}

// Routes returns the ways: the object itself and both of its subresources, with every verb. The first three write the
// whole object.
func Routes() []Route {
	merge := `{"metadata": {"labels": {"` + Label + `": VALUE}}}`
	return []Route{
		{"update", func(ctx context.Context, c kubernetes.Interface, ns *corev1.Namespace) error {
			_, err := c.CoreV1().Namespaces().Update(ctx, ns, metav1.UpdateOptions{})
			return err
		}},
		{"update of status", func(ctx context.Context, c kubernetes.Interface, ns *corev1.Namespace) error {
			_, err := c.CoreV1().Namespaces().UpdateStatus(ctx, ns, metav1.UpdateOptions{})
			return err
		}},
		{"update of finalize", func(ctx context.Context, c kubernetes.Interface, ns *corev1.Namespace) error {
			_, err := c.CoreV1().Namespaces().Finalize(ctx, ns, metav1.UpdateOptions{})
			return err
		}},
		{"merge patch", patch(types.MergePatchType, merge)},
		{"strategic merge patch", patch(types.StrategicMergePatchType, merge)},
		{"merge patch of status", patch(types.MergePatchType, merge, "status")},
	}
}

func patch(
	kind types.PatchType, data string, subresource ...string,
) func(context.Context, kubernetes.Interface, *corev1.Namespace) error {
	return func(ctx context.Context, c kubernetes.Interface, ns *corev1.Namespace) error {
		value, ok := ns.Labels[Label]
		quoted := `"` + value + `"`
		if !ok {
			quoted = "null"
		}
		_, err := c.CoreV1().Namespaces().Patch(ctx, ns.Name, kind, []byte(strings.ReplaceAll(data, "VALUE", quoted)),
			metav1.PatchOptions{}, subresource...)
		return err
	}
}

// Apply sets the label of a namespace by server-side apply, and takes the field over from any other field manager. It
// can change the label but cannot remove it.
func Apply(ctx context.Context, c kubernetes.Interface, namespace, value string) error {
	labelled := applycorev1.Namespace(namespace).WithLabels(map[string]string{Label: value})
	_, err := c.CoreV1().Namespaces().Apply(ctx, labelled,
		metav1.ApplyOptions{FieldManager: "tenant", Force: true})
	return err
}
