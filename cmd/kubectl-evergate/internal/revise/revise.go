// Package revise changes the policy of a cluster and keeps a history. The last ten policies are revisions. Each
// revision is an immutable ConfigMap.
//
//	revise.go     reads and replaces the ConfigMap with the policy
//	managed.go    detects controllers that would undo the change
//	revisions.go  the earlier policies, and the users who applied them
//	nudge.go      makes kubelet update the policy immediately
package revise

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	applyv1 "k8s.io/client-go/applyconfigurations/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/csaupgrade"

	"github.com/evergate/evergate/policy"
)

// Manager is the field manager of the plugin.
const Manager = "kubectl-evergate"

// Policies identifies the ConfigMap with the policy of a cluster.
type Policies struct {
	Client    kubernetes.Interface
	Namespace string
	Name      string // of the ConfigMap
}

// Current returns the ConfigMap with the policy, or nil if it does not exist.
func (p *Policies) Current(ctx context.Context) (*corev1.ConfigMap, error) {
	cm, err := p.Client.CoreV1().ConfigMaps(p.Namespace).Get(ctx, p.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the policy: %w", err)
	}
	return cm, nil
}

// Files returns the policy files in a ConfigMap, in the order in which a replica reads them. cm may be nil.
func Files(cm *corev1.ConfigMap) []policy.File {
	if cm == nil {
		return nil
	}
	var files []policy.File
	for name, data := range cm.Data {
		if policy.IsFile(name) {
			files = append(files, policy.File{Name: name, Data: []byte(data)})
		}
	}
	for name, data := range cm.BinaryData {
		if policy.IsFile(name) {
			files = append(files, policy.File{Name: name, Data: data})
		}
	}
	slices.SortFunc(files, func(a, b policy.File) int { return bytes.Compare([]byte(a.Name), []byte(b.Name)) })
	return files
}

// DefaultKey is the key of a first policy, and of a policy from standard input.
const DefaultKey = "policy.yaml"

// Keyed renames files to their keys in the ConfigMap. A single file replaces a single key even if the names differ,
// because a second key would be merged with it.
func Keyed(files []policy.File, current *corev1.ConfigMap) []policy.File {
	if len(files) != 1 {
		return files
	}
	name := DefaultKey
	if was := Files(current); len(was) == 1 {
		name = was[0].Name
	}
	return []policy.File{{Name: name, Data: files[0].Data}}
}

// Same reports whether a ConfigMap contains exactly these files.
func Same(cm *corev1.ConfigMap, files []policy.File) bool {
	return cm != nil && slices.EqualFunc(Files(cm), files, func(a, b policy.File) bool {
		return a.Name == b.Name && bytes.Equal(a.Data, b.Data)
	})
}

// Replace replaces the policy in the ConfigMap. current is the ConfigMap as it was read, or nil if it did not exist.
// If another client has changed it in the meantime, Replace returns a conflict. Other keys in the ConfigMap stay.
func (p *Policies) Replace(ctx context.Context, current *corev1.ConfigMap, files []policy.File, force bool) error {
	if current != nil {
		var err error
		if current, err = p.takeOver(ctx, current); err != nil {
			return err
		}
	}
	apply := p.configuration(current, files)
	tried, err := p.apply(ctx, apply, metav1.ApplyOptions{Force: force, DryRun: []string{metav1.DryRunAll}})
	if err != nil {
		return err
	}
	if !Same(tried, files) {
		return fmt.Errorf("the ConfigMap %s would contain other policy files too: %s keeps them with server-side apply: "+
			"remove them there", p.Name, managersOf(tried))
	}
	_, err = p.apply(ctx, apply, metav1.ApplyOptions{Force: force})
	return err
}

func (p *Policies) apply(
	ctx context.Context, c *applyv1.ConfigMapApplyConfiguration, o metav1.ApplyOptions,
) (*corev1.ConfigMap, error) {
	o.FieldManager = Manager
	cm, err := p.Client.CoreV1().ConfigMaps(p.Namespace).Apply(ctx, c, o)
	switch {
	case apierrors.IsConflict(err) && c.ResourceVersion != nil && !isFieldConflict(err):
		return nil, fmt.Errorf("another client has changed the policy in the meantime: check it and apply again: %w", err)
	case apierrors.IsConflict(err):
		return nil, fmt.Errorf("%w: to take it over, add --force-conflicts", err)
	case err != nil:
		return nil, fmt.Errorf("apply the policy: %w", err)
	}
	return cm, nil
}

// isFieldConflict reports whether a server-side apply failed because another manager owns a field.
func isFieldConflict(err error) bool {
	return apierrors.HasStatusCause(err, metav1.CauseTypeFieldManagerConflict)
}

// takeOver makes the plugin the owner of fields that clients have written without server-side apply (kubectl create,
// apply, edit). Otherwise, a key that is not in the new policy would remain and be merged with it. kubectl does the
// same when it switches to server-side apply.
func (p *Policies) takeOver(ctx context.Context, cm *corev1.ConfigMap) (*corev1.ConfigMap, error) {
	clients := sets.New[string]()
	for _, m := range cm.ManagedFields {
		if m.Operation == metav1.ManagedFieldsOperationUpdate && m.Subresource == "" {
			clients.Insert(m.Manager)
		}
	}
	patch, err := csaupgrade.UpgradeManagedFieldsPatch(cm, clients, Manager)
	if err != nil {
		return nil, fmt.Errorf("take the policy over from %s: %w", sets.List(clients), err)
	}
	if patch == nil {
		return cm, nil
	}
	is, err := p.Client.CoreV1().ConfigMaps(p.Namespace).Patch(ctx, p.Name, types.JSONPatchType, patch,
		metav1.PatchOptions{FieldManager: Manager})
	if err != nil {
		return nil, fmt.Errorf("take the policy over from %s: %w", sets.List(clients), err)
	}
	return is, nil
}

// configuration returns the new content of the ConfigMap: the files, and the other content of current.
func (p *Policies) configuration(current *corev1.ConfigMap, files []policy.File) *applyv1.ConfigMapApplyConfiguration {
	data := map[string]string{}
	apply := applyv1.ConfigMap(p.Name, p.Namespace)
	if current != nil {
		apply.WithResourceVersion(current.ResourceVersion).WithLabels(current.Labels).WithAnnotations(current.Annotations)
		maps.Copy(data, current.Data)
		binary := maps.Clone(current.BinaryData)
		maps.DeleteFunc(binary, func(name string, _ []byte) bool { return policy.IsFile(name) })
		apply.WithBinaryData(binary)
	}
	maps.DeleteFunc(data, func(name, _ string) bool { return policy.IsFile(name) })
	for _, f := range files {
		data[f.Name] = string(f.Data)
	}
	return apply.WithData(data)
}
