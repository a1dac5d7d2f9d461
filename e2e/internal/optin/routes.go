// Package optin knows every way to write the label by which a namespace opts in, for tests of which users may.
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

// Label is what a namespace opts in by.
const Label = "evergate.dev/admission"

// Route is a way to write the labels of a namespace.
type Route struct {
	Name string
	// Write gives the namespace the label that ns has, or takes it away where ns has none.
	Write func(ctx context.Context, c kubernetes.Interface, ns *corev1.Namespace) error
}

// Routes lists the ways: the object itself and both of its subresources, by every verb. The first three write the whole
// object.
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

// Apply gives a namespace the label by server-side apply, taking it from any other field manager. It can change it, not
// take it away.
func Apply(ctx context.Context, c kubernetes.Interface, namespace, value string) error {
	labelled := applycorev1.Namespace(namespace).WithLabels(map[string]string{Label: value})
	_, err := c.CoreV1().Namespaces().Apply(ctx, labelled,
		metav1.ApplyOptions{FieldManager: "tenant", Force: true})
	return err
}
