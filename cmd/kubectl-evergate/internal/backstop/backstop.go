// Package backstop renews the native policies in a cluster when the policy changes. Native policies work even if no
// replica answers.
//
//	backstop.go  the existing native policies
//	renewal.go   the changes for a new policy, and the order in which they are written
package backstop

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/evergate/evergate/offline/export"
)

// selector selects the labels that evergate export writes.
const selector = "app.kubernetes.io/name=evergate,app.kubernetes.io/component=" + export.Component

const (
	mutatingPolicy    = "MutatingAdmissionPolicy"
	mutatingBinding   = "MutatingAdmissionPolicyBinding"
	validatingPolicy  = "ValidatingAdmissionPolicy"
	validatingBinding = "ValidatingAdmissionPolicyBinding"
)

// kinds lists the kinds of objects in a backstop.
func kinds() []string {
	return []string{mutatingPolicy, mutatingBinding, validatingPolicy, validatingBinding}
}

func isBinding(kind string) bool { return strings.HasSuffix(kind, "Binding") }

// resource returns the resource of a kind.
func resource(kind string) schema.GroupVersionResource {
	name := strings.ToLower(kind) + "s"
	if before, ok := strings.CutSuffix(name, "ys"); ok {
		name = before + "ies"
	}
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: name}
}

// Backstop contains the native policies in a cluster that evergate export has written, and their bindings.
type Backstop struct {
	client  dynamic.Interface
	objects []unstructured.Unstructured
	mutates bool // the API server serves mutating policies
}

// Read lists the backstop of a cluster. It does not include files of the API servers.
func Read(ctx context.Context, client dynamic.Interface) (*Backstop, error) {
	b := &Backstop{client: client}
	for _, kind := range kinds() {
		list, err := client.Resource(resource(kind)).List(ctx, metav1.ListOptions{LabelSelector: selector})
		switch {
		case apierrors.IsNotFound(err): // Kubernetes before 1.36
			continue
		case err != nil:
			return nil, fmt.Errorf("list the native policies: %w", err)
		}
		b.mutates = b.mutates || kind == mutatingPolicy
		for i := range list.Items {
			list.Items[i].SetKind(kind)
		}
		b.objects = append(b.objects, list.Items...)
	}
	return b, nil
}

// Files returns the hash of the policy from which the files of the API server were exported. It returns an empty string
// if the API server does not have such files. It sends a dry run that creates a ConfigMap and that these files deny. In
// a cluster with several API servers, only one answers.
func Files(ctx context.Context, client kubernetes.Interface, namespace string) (hash string, err error) {
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: export.Probe}}
	_, err = client.CoreV1().ConfigMaps(namespace).Create(ctx, probe,
		metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
	if err == nil {
		return "", nil
	}
	if hash, ok := export.ProbedPolicy(err.Error()); ok {
		return hash, nil
	}
	return "", fmt.Errorf("probe for files of the API server: %w", err)
}

// Empty reports whether the cluster does not have a backstop.
func (b *Backstop) Empty() bool { return len(b.objects) == 0 }

// Objects returns the policies and bindings.
func (b *Backstop) Objects() []unstructured.Unstructured { return b.objects }

// Policies returns the number of native policies, and the distinct hashes of the policies from which they were
// exported.
func (b *Backstop) Policies() (n int, hashes []string) {
	all := map[string]bool{}
	for i := range b.objects {
		if o := &b.objects[i]; !isBinding(o.GetKind()) {
			n++
			all[o.GetAnnotations()[export.HashAnnotation]] = true
		}
	}
	return n, slices.Sorted(maps.Keys(all))
}

// find returns the object with a kind and a name, or nil if it does not exist.
func (b *Backstop) find(kind, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(b.objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() == kind && o.GetName() == name
	})
	if i < 0 {
		return nil
	}
	return &b.objects[i]
}
