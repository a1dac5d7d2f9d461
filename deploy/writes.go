package deploy

import (
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/review"
)

// evaluated lists the resources that Evergate evaluates. It does not evaluate deletions, or subresources without images
// and annotations.
func evaluated() []string {
	var all []string
	for _, k := range admission.Kinds() {
		for _, subresource := range append([]string{""}, k.Subresources...) {
			all = append(all, k.Resource.Unversioned(subresource))
		}
	}
	return all
}

// unmatched lists the writes that Evergate evaluates at a path and that no rule of a webhook for this path matches.
func (i *inspection) unmatched(path string) []string {
	var missing []string
	for _, w := range evaluatedAt(path) {
		if !i.matches(w, func(h *install.Hook) bool { return h.Path == path }) {
			missing = append(missing, w.String())
		}
	}
	return missing
}

// matches reports whether a rule of one of the webhooks matches a write.
func (i *inspection) matches(w install.Write, of func(*install.Hook) bool) bool {
	return slices.ContainsFunc(i.Hooks, func(h *install.Hook) bool {
		return of(h) && slices.ContainsFunc(h.Rules, w.MatchedBy)
	})
}

// evaluatedAt lists the writes that Evergate evaluates at a path. If a subresource has a separate path, Evergate
// evaluates it only there. The path of a rule set evaluates the same writes as the path of its kind.
func evaluatedAt(path string) []install.Write {
	if w, set := admission.ParsePath(path); set != "" {
		path = w.Path
	}
	paths := servedPaths(false)
	for _, w := range admission.Webhooks() {
		only, ofSub := strings.CutPrefix(path, w.Path+"/")
		ofSub = ofSub && slices.Contains(w.Subresources, only)
		if w.Path != path && !ofSub {
			continue
		}
		var writes []install.Write
		add := func(op admissionv1.OperationType, k review.Kind, sub string) {
			writes = append(writes, install.Write{
				Operation: op, Group: k.Resource.Group, Version: k.Resource.Version, Name: k.Resource.Name, Sub: sub,
			})
		}
		for _, op := range []admissionv1.OperationType{admissionv1.Create, admissionv1.Update} {
			for _, k := range w.Kinds {
				if !ofSub {
					add(op, k, "")
				}
			}
		}
		for _, sub := range w.Subresources {
			if ofSub && sub != only || !ofSub && slices.Contains(paths, path+"/"+sub) {
				continue
			}
			for _, k := range w.Kinds {
				if slices.Contains(w.SubresourcesOf(k), sub) {
					add(admissionv1.Update, k, sub)
				}
			}
		}
		return writes
	}
	return nil
}

// others inspects the webhooks of other products. A webhook that matches every resource is dangerous even if it fails
// open: while it does not answer, it delays each write by its timeout, which is too long for leases and the API server's
// ConfigMaps. Conditions are not evaluated.
func (i *inspection) others() {
	const id = "other-webhook-deadlock"
	system := i.NamespaceLabels(metav1.NamespaceSystem)
	for _, h := range i.All {
		if h.Ours {
			continue
		}
		unless := ""
		if len(h.MatchConditions) > 0 {
			unless = ", unless its matchConditions, which preflight does not evaluate, exclude it"
		}
		if slices.ContainsFunc(h.Rules, coversEverything) && install.Selects(h.NamespaceSelector, system) {
			i.warning(id, h.Ref, "it matches every resource, including in kube-system, with failurePolicy %s%s", policyOf(h),
				unless)
		}
		if h.ClientConfig.Service == nil {
			continue
		}
		namespace := h.ClientConfig.Service.Namespace
		ours := slices.IndexFunc(i.Hooks, func(ours *install.Hook) bool { return i.blocks(h, ours) && i.blocks(ours, h) })
		switch {
		case i.blocks(h, h):
			i.warning(id, h.Ref, "it fails closed on Pods in its namespace %s%s", namespace, unless)
		case ours >= 0:
			i.warning(id, h.Ref, "it fails closed on the Pods of Evergate, whose webhook %s fails closed on Pods in the "+
				"namespace %s, so neither of them can start without the other%s", i.Hooks[ours].Name, namespace, unless)
		}
	}
}

// blocks reports whether a webhook fails closed on the creation of the Pods behind the Service of other, which may be
// the same webhook. The Pods have the labels in the Deployment that the Service selects, or otherwise the labels in its
// selector.
func (i *inspection) blocks(h, other *install.Hook) bool {
	svc := other.ClientConfig.Service
	if svc == nil || !h.Closed() || !h.CreatesPods() {
		return false
	}
	var labels map[string]string
	if other.Called != nil {
		labels = other.Called.Spec.Selector
		for _, d := range install.In[*appsv1.Deployment](i.Objects, svc.Namespace) {
			if install.ContainsAll(d.Spec.Template.Labels, labels) {
				labels = d.Spec.Template.Labels
			}
		}
	}
	return install.Selects(h.NamespaceSelector, i.NamespaceLabels(svc.Namespace)) &&
		install.Selects(h.ObjectSelector, labels)
}
