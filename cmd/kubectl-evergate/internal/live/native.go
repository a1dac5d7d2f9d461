package live

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/offline/native"
)

// admissionResource returns a client for a kind of native policies or bindings.
func (c *Cluster) admissionResource(kind string) dynamic.ResourceInterface {
	name := strings.ToLower(kind) + "s"
	if before, ok := strings.CutSuffix(name, "ys"); ok {
		name = before + "ies"
	}
	return c.Dynamic.Resource(schema.GroupVersionResource{
		Group: "admissionregistration.k8s.io", Version: "v1", Resource: name,
	})
}

// Native lists the native policies and their bindings, and the targets that the API server serves. It does not include
// files of the API servers.
func (c *Cluster) Native(ctx context.Context) (native.Installed, []export.Target, error) {
	targets := []export.Target{export.VAP}
	var all []*unstructured.Unstructured
	for _, kind := range native.Kinds() {
		list, err := c.admissionResource(kind).List(ctx, metav1.ListOptions{LabelSelector: native.Selector})
		switch {
		case apierrors.IsNotFound(err): // Kubernetes before 1.36
			continue
		case err != nil:
			return nil, nil, fmt.Errorf("list the native policies: %w", err)
		}
		if kind == "MutatingAdmissionPolicy" {
			targets = append(targets, export.MAP)
		}
		for i := range list.Items {
			list.Items[i].SetKind(kind)
			all = append(all, &list.Items[i])
		}
	}
	installed, err := native.Of(all...)
	return installed, targets, err
}

// NativeFiles returns the hash of the policy from which the files of the API server were exported. It returns an empty
// string if the API server does not have such files. It sends a dry run that creates a ConfigMap and that these files
// deny. In a cluster with several API servers, only one answers.
func (c *Cluster) NativeFiles(ctx context.Context) (hash string, err error) {
	probe := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: export.Probe}}
	_, err = c.Client.CoreV1().ConfigMaps(c.Namespace).Create(ctx, probe, dryRunAll())
	if err == nil {
		return "", nil
	}
	if hash, ok := export.ProbedPolicy(err.Error()); ok {
		return hash, nil
	}
	return "", fmt.Errorf("probe for files of the API server: %w", err)
}

// Renew renews the native policies as a field manager. It first applies the new objects and then removes the obsolete
// objects. In between, both policies deny. As a dry run, the API server only checks the expressions and permissions.
func (c *Cluster) Renew(ctx context.Context, r *native.Renewal, manager string, dryRun bool) error {
	var run []string
	if dryRun {
		run = []string{metav1.DryRunAll}
	}
	for i := range r.Applied {
		o := &r.Applied[i]
		if is, ok := r.Exists(o); ok && !dryRun {
			if err := c.takeOver(ctx, is.Unstructured, manager); err != nil {
				return err
			}
		}
		_, err := c.admissionResource(o.GetKind()).Apply(ctx, o.GetName(), o.Unstructured,
			metav1.ApplyOptions{FieldManager: manager, Force: true, DryRun: run})
		if err != nil {
			return fmt.Errorf("apply the %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	for _, o := range r.Removed {
		err := c.admissionResource(o.GetKind()).Delete(ctx, o.GetName(), metav1.DeleteOptions{DryRun: run})
		if err != nil && !apierrors.IsNotFound(err) {
			return fmt.Errorf("remove the %s %s: %w", o.GetKind(), o.GetName(), err)
		}
	}
	return nil
}

// takeOver makes a manager the owner of every field in an object, including fields that another client has written.
// Otherwise, a condition or variable that the new policy does not have would remain.
func (c *Cluster) takeOver(ctx context.Context, is *unstructured.Unstructured, manager string) error {
	managers, copied := sets.New[string](), is.DeepCopy()
	fields := copied.GetManagedFields()
	for i := range fields {
		if fields[i].Subresource == "" && fields[i].Manager != manager {
			fields[i].Operation = metav1.ManagedFieldsOperationUpdate // csaupgrade merges this operation
			managers.Insert(fields[i].Manager)
		}
	}
	copied.SetManagedFields(fields)
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(copied, managers, manager)
	if err == nil && patch != nil {
		_, err = c.admissionResource(is.GetKind()).Patch(ctx, is.GetName(), types.JSONPatchType, patch,
			metav1.PatchOptions{FieldManager: manager})
	}
	if err != nil {
		return fmt.Errorf("take the %s %s over from %s: %w", is.GetKind(), is.GetName(), sets.List(managers), err)
	}
	return nil
}
