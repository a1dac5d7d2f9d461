// Package backstop renews the native policies of a cluster, which hold while no replica answers, when its policy
// changes.
//
//	backstop.go  what is there
//	renewal.go   what a policy makes of it, and in which order it is written
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

	"github.com/evergate/evergate/export"
)

// selector is that of the labels that evergate export writes.
const selector = "app.kubernetes.io/name=evergate,app.kubernetes.io/component=" + export.Component

const (
	mutatingPolicy    = "MutatingAdmissionPolicy"
	mutatingBinding   = "MutatingAdmissionPolicyBinding"
	validatingPolicy  = "ValidatingAdmissionPolicy"
	validatingBinding = "ValidatingAdmissionPolicyBinding"
)

// kinds lists those of the backstop.
func kinds() []string {
	return []string{mutatingPolicy, mutatingBinding, validatingPolicy, validatingBinding}
}

func isBinding(kind string) bool { return strings.HasSuffix(kind, "Binding") }

// resource returns that of a kind.
func resource(kind string) schema.GroupVersionResource {
	name := strings.ToLower(kind) + "s"
	if before, ok := strings.CutSuffix(name, "ys"); ok {
		name = before + "ies"
	}
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: name}
}

// Backstop is what a cluster has of native policies that evergate export has written, and their bindings.
type Backstop struct {
	client  dynamic.Interface
	objects []unstructured.Unstructured
	mutates bool // the API server serves policies that mutate
}

// Read lists the backstop of a cluster. Files of its API servers are not seen.
func Read(ctx context.Context, client dynamic.Interface) (*Backstop, error) {
	b := &Backstop{client: client}
	for _, kind := range kinds() {
		list, err := client.Resource(resource(kind)).List(ctx, metav1.ListOptions{LabelSelector: selector})
		switch {
		case apierrors.IsNotFound(err): // a Kubernetes before 1.36
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

// Files returns the hash of the policy that files of the API server are of; empty where it has none. It asks for the
// creation of a ConfigMap, as a dry run, that those files deny. The API server that answers is one of several, maybe.
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
	return "", fmt.Errorf("ask for files of the API server: %w", err)
}

// Empty reports whether the cluster has none.
func (b *Backstop) Empty() bool { return len(b.objects) == 0 }

// Objects returns what is there.
func (b *Backstop) Objects() []unstructured.Unstructured { return b.objects }

// Policies returns how many policies there are, and the hashes of the policies that they were exported from, each once.
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

// find returns the object of a kind that has a name; nil where there is none.
func (b *Backstop) find(kind, name string) *unstructured.Unstructured {
	i := slices.IndexFunc(b.objects, func(o unstructured.Unstructured) bool {
		return o.GetKind() == kind && o.GetName() == name
	})
	if i < 0 {
		return nil
	}
	return &b.objects[i]
}
