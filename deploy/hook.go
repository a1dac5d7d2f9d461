package deploy

import (
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"

	"github.com/evergate/evergate/admission"
)

// The paths of webhooks that have their own checks.
const (
	pathMutatePodsAgain       = "/mutate/pods/again"
	pathValidateServiceStatus = "/validate/services/status"
	pathValidatePolicy        = "/validate/policy"
	pathValidateWorkloads     = "/validate/workloads"
)

// servedPaths returns the paths that Evergate serves for mutating or for validating webhooks.
func servedPaths(mutating bool) []string {
	var paths []string
	for _, w := range admission.Webhooks() {
		if w.Mutates == mutating {
			paths = append(paths, w.Path)
		}
	}
	return paths
}

// hook is one webhook of a configuration. Validating webhooks have the fields of mutating webhooks except
// reinvocationPolicy, which stays nil.
type hook struct {
	admissionv1.MutatingWebhook
	config   apiObject
	mutating bool
	ours     bool
	ref      ref
}

// newHooks returns all webhooks of the inventory.
func newHooks(inv *Inventory) []*hook {
	var hooks []*hook
	add := func(config apiObject, mutating bool, webhooks []admissionv1.MutatingWebhook) {
		ours := isOurs(config) || slices.ContainsFunc(webhooks, func(w admissionv1.MutatingWebhook) bool {
			return strings.HasSuffix(w.Name, WebhookSuffix)
		})
		for _, w := range webhooks {
			hooks = append(hooks, &hook{w, config, mutating, ours, inv.ref(config).in("webhook %s", w.Name)})
		}
	}
	for _, c := range inv.mutatingWebhooks {
		add(c, true, c.Webhooks)
	}
	for _, c := range inv.validatingWebhooks {
		webhooks := make([]admissionv1.MutatingWebhook, len(c.Webhooks))
		for i := range c.Webhooks {
			webhooks[i] = AsMutating(&c.Webhooks[i])
		}
		add(c, false, webhooks)
	}
	return hooks
}

// AsMutating returns a validating webhook as a mutating one, which has the same fields and one more.
func AsMutating(w *admissionv1.ValidatingWebhook) admissionv1.MutatingWebhook {
	return admissionv1.MutatingWebhook{
		Name: w.Name, ClientConfig: w.ClientConfig, Rules: w.Rules, FailurePolicy: w.FailurePolicy,
		MatchPolicy: w.MatchPolicy, NamespaceSelector: w.NamespaceSelector, ObjectSelector: w.ObjectSelector,
		SideEffects: w.SideEffects, TimeoutSeconds: w.TimeoutSeconds,
		AdmissionReviewVersions: w.AdmissionReviewVersions, MatchConditions: w.MatchConditions,
	}
}

// target returns the server that the webhook calls.
func (h *hook) target() Target { return TargetOf(h.ClientConfig) }

// path returns the path in the Service or the URL that the webhook calls, or "" if it does not have one.
func (h *hook) path() string { return h.target().Path }

// closed reports whether the API server rejects a request if the call fails, which is the default of the API.
func (h *hook) closed() bool { return h.FailurePolicy == nil || *h.FailurePolicy == admissionv1.Fail }

// failurePolicy returns the effective failure policy.
func (h *hook) failurePolicy() admissionv1.FailurePolicyType {
	if h.closed() {
		return admissionv1.Fail
	}
	return admissionv1.Ignore
}

// guardsPolicy reports whether the webhook validates the ConfigMap of the policy, and therefore matches Evergate's
// namespace.
func (h *hook) guardsPolicy() bool { return h.ours && h.path() == pathValidatePolicy }

// resources yields the resources that the rules cover, as resource.group or resource/subresource.group, with their
// operations.
func (h *hook) resources(yield func(resource string, operations []admissionv1.OperationType) bool) {
	for _, r := range h.Rules {
		for _, group := range r.APIGroups {
			for _, resource := range r.Resources {
				if group != "" {
					resource += "." + group
				}
				if !yield(resource, r.Operations) {
					return
				}
			}
		}
	}
}

// covers reports whether a rule covers an operation on a resource of the core group.
func (h *hook) covers(resource string, operation admissionv1.OperationType) bool {
	return slices.ContainsFunc(h.Rules, func(r admissionv1.RuleWithOperations) bool {
		return hasOrAll(r.APIGroups, "") && hasOperation(r.Operations, operation) &&
			(hasOrAll(r.Resources, resource) || slices.Contains(r.Resources, "*/*"))
	})
}

func hasOrAll(list []string, s string) bool {
	return slices.Contains(list, s) || slices.Contains(list, "*")
}

func hasOperation(list []admissionv1.OperationType, op admissionv1.OperationType) bool {
	return slices.Contains(list, op) || slices.Contains(list, admissionv1.OperationAll)
}

// servicePort returns the port of the Service that the webhook calls.
func (h *hook) servicePort() int32 {
	var unset int32
	return cmp.Or(*cmp.Or(h.ClientConfig.Service.Port, &unset), 443) // the API's default
}

// coversEverything reports whether a rule covers writes of all resources in all groups.
func coversEverything(r admissionv1.RuleWithOperations) bool {
	writes := hasOperation(r.Operations, admissionv1.Create) || hasOperation(r.Operations, admissionv1.Update)
	resources := slices.Contains(r.Resources, "*") || slices.Contains(r.Resources, "*/*")
	return writes && resources && slices.Contains(r.APIGroups, "*")
}

// unlessConditions returns the end of a sentence about the objects that a webhook matches.
func unlessConditions(h *hook) string {
	if len(h.MatchConditions) == 0 {
		return ""
	}
	return ", unless its matchConditions, which preflight does not evaluate, exclude it"
}

// evaluated lists the resources that Evergate evaluates. It does not evaluate deletions, or subresources without images
// and annotations.
func evaluated() []string {
	var all []string
	for _, k := range admission.Kinds() {
		all = append(all, k.Resource.Unversioned(""))
		for _, subresource := range k.Subresources {
			all = append(all, k.Resource.Unversioned(subresource))
		}
	}
	return all
}

// matchesMore reports whether operations include an operation that Evergate never evaluates.
func matchesMore(operations []admissionv1.OperationType) bool {
	return slices.Contains(operations, admissionv1.Delete) || slices.Contains(operations, admissionv1.Connect)
}
