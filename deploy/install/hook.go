package install

import (
	"cmp"
	"net/url"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/evergate/evergate/offline/export"
)

// WebhookSuffix is the end of the names of Evergate's webhooks.
const WebhookSuffix = ".evergate.dev"

// policyPath is the path of the webhook that validates the ConfigMap of the policy.
const policyPath = "/validate/policy"

// Hook is one webhook of a configuration. Validating webhooks have the fields of mutating webhooks except
// reinvocationPolicy, which stays nil.
type Hook struct {
	admissionv1.MutatingWebhook
	Path, URL string // see TargetOf
	Config    Object
	Mutating  bool
	Ours      bool
	Called    *corev1.Service // nil if the webhook calls a URL, or a Service that is not in the input
	Ref       Ref
}

// TargetOf returns the path and the URL that the clientConfig of a webhook calls. The URL has only a scheme and a host,
// and is "" if the webhook calls a Service. The path is "" if clientConfig does not set it.
func TargetOf(client admissionv1.WebhookClientConfig) (path, host string) {
	if client.URL != nil {
		u, err := url.Parse(*client.URL)
		if err != nil { // the API server rejects it
			return "", *client.URL
		}
		return u.Path, u.Scheme + "://" + u.Host
	}
	return *cmp.Or(cmp.Or(client.Service, &admissionv1.ServiceReference{}).Path, new("")), ""
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

// hooks returns the webhooks of all products, mutating ones first.
func (o *Objects) hooks() []*Hook {
	var hooks []*Hook
	add := func(config Object, mutating bool, webhooks []admissionv1.MutatingWebhook) {
		ours := config.GetLabels()[labelName] == "evergate" ||
			slices.ContainsFunc(webhooks, func(w admissionv1.MutatingWebhook) bool {
				return strings.HasSuffix(w.Name, WebhookSuffix)
			})
		for _, w := range webhooks {
			h := &Hook{MutatingWebhook: w, Config: config, Mutating: mutating, Ours: ours}
			h.Ref = o.Ref(config).In("webhook %s", w.Name)
			h.Path, h.URL = TargetOf(w.ClientConfig)
			if s := w.ClientConfig.Service; s != nil {
				h.Called = Find[*corev1.Service](o, s.Namespace, s.Name)
			}
			hooks = append(hooks, h)
		}
	}
	for _, c := range Of[*admissionv1.MutatingWebhookConfiguration](o) {
		add(c, true, c.Webhooks)
	}
	for _, c := range Of[*admissionv1.ValidatingWebhookConfiguration](o) {
		webhooks := make([]admissionv1.MutatingWebhook, len(c.Webhooks))
		for i := range c.Webhooks {
			webhooks[i] = AsMutating(&c.Webhooks[i])
		}
		add(c, false, webhooks)
	}
	return hooks
}

// Closed reports whether the API server rejects a request if the call fails, which is the default of the API.
func (h *Hook) Closed() bool { return h.FailurePolicy == nil || *h.FailurePolicy == admissionv1.Fail }

// NeverCalled returns the name of a condition that is never true, or "" if the webhook may be called.
func (h *Hook) NeverCalled() string { return export.NeverCalled(h.MatchConditions) }

// GuardsPolicy reports whether the webhook validates the ConfigMap of the policy, and therefore matches Evergate's
// namespace.
func (h *Hook) GuardsPolicy() bool { return h.Ours && h.Path == policyPath }

// Port returns the port of the Service that the webhook calls.
func (h *Hook) Port() int32 {
	return *cmp.Or(h.ClientConfig.Service.Port, new(int32(443))) // the API's default
}

// DNSName returns the name of the Service that the API server requests and that the certificate has to contain.
func (h *Hook) DNSName() string {
	return h.ClientConfig.Service.Name + "." + h.ClientConfig.Service.Namespace + ".svc"
}

// Resources yields the resources that the rules cover, as resource.group or resource/subresource.group, with their
// operations.
func (h *Hook) Resources(yield func(resource string, operations []admissionv1.OperationType) bool) {
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

// CreatesPods reports whether a rule covers the creation of Pods.
func (h *Hook) CreatesPods() bool {
	return slices.ContainsFunc(h.Rules, Write{admissionv1.Create, "", "v1", "pods", ""}.MatchedBy)
}

// Write is an operation on a resource or subresource.
type Write struct {
	Operation                 admissionv1.OperationType
	Group, Version, Name, Sub string
}

// String returns the write in words, for example UPDATE of ingresses/status.
func (w Write) String() string {
	name := w.Name
	if w.Sub != "" {
		name += "/" + w.Sub
	}
	return string(w.Operation) + " of " + name
}

// MatchedBy reports whether a rule matches the write, as the API server decides it.
func (w Write) MatchedBy(rule admissionv1.RuleWithOperations) bool {
	inScope := rule.Scope == nil || *rule.Scope != admissionv1.ClusterScope
	whole := slices.Contains(rule.Resources, "*/*") || hasOrAll(rule.Resources, w.Name)
	if w.Sub != "" {
		whole = slices.ContainsFunc([]string{"*/*", w.Name + "/*", "*/" + w.Sub, w.Name + "/" + w.Sub},
			func(s string) bool { return slices.Contains(rule.Resources, s) })
	}
	return inScope && whole && hasOrAll(rule.APIGroups, w.Group) && hasOrAll(rule.APIVersions, w.Version) &&
		HasOperation(rule.Operations, w.Operation)
}

func hasOrAll(list []string, s string) bool {
	return slices.Contains(list, s) || slices.Contains(list, "*")
}

// HasOperation reports whether a list of operations includes an operation.
func HasOperation(list []admissionv1.OperationType, op admissionv1.OperationType) bool {
	return slices.Contains(list, op) || slices.Contains(list, admissionv1.OperationAll)
}

// ContainsAll reports whether a map has all pairs of another map. It is false if the other map is empty.
func ContainsAll(set, subset map[string]string) bool {
	for key, value := range subset {
		if got, ok := set[key]; !ok || got != value {
			return false
		}
	}
	return len(subset) > 0
}

// SelectsAll reports whether a selector selects everything, because it is nil or has no requirements.
func SelectsAll(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// Selects reports whether a webhook's selector selects objects with these labels. A selector that cannot be parsed,
// which the API server rejects, selects everything.
func Selects(s *metav1.LabelSelector, set map[string]string) bool {
	if s == nil {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || parsed.Matches(labels.Set(set))
}

// RequirementsOn returns the requirements of a selector on a label. It returns nil for a selector that cannot be
// parsed, which the API server rejects.
func RequirementsOn(s *metav1.LabelSelector, key string) []labels.Requirement {
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if s == nil || err != nil {
		return nil
	}
	requirements, _ := parsed.Requirements()
	return slices.DeleteFunc(requirements, func(r labels.Requirement) bool { return r.Key() != key })
}

// CanSelect reports whether any labels let a selector select a namespace with this name. Any user who may label the
// namespace can set all labels except kubernetes.io/metadata.name, so only requirements on this label exclude it for
// good.
func CanSelect(s *metav1.LabelSelector, namespace string) bool {
	return !slices.ContainsFunc(RequirementsOn(s, corev1.LabelMetadataName), func(r labels.Requirement) bool {
		return !r.Matches(labels.Set{corev1.LabelMetadataName: namespace})
	})
}
