package deploy

import (
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/internal/text"
)

// The paths of webhooks that differ from the others.
const (
	pathMutatePodsAgain       = "/mutate/pods/again"
	pathValidateServiceStatus = "/validate/services/status"
	pathValidateWorkloads     = "/validate/workloads"
)

// maxTimeout is how long a webhook may hold up a request, in seconds. A Pod passes two mutating webhooks and one
// validating webhook, and the deadlines of controllers are about 30 s.
const maxTimeout = 5

// hooks inspects the writes that the webhooks of Evergate match, and how the API server calls them.
func (i *inspection) hooks() {
	paths := map[string]bool{}
	for _, h := range i.Hooks {
		i.wildcards(h)
		i.conditions(h)
		i.selector(h)
		i.fields(h)
		if h.GuardsPolicy() {
			i.policyGuard(h)
		}
		if missing := i.unmatched(h.Path); len(missing) > 0 && !paths[h.Path] {
			i.gap("missing-rule", h, "no rule matches %s, which %s evaluates", strings.Join(missing, ", "), h.Path)
		}
		paths[h.Path] = true
	}
	i.urls()
}

// call reports a problem with the calls of a webhook. It is an error if the webhook fails closed, and a warning if it
// fails open and so only costs time.
func (i *inspection) call(id string, h *install.Hook, format string, args ...any) {
	severity := Warning
	if h.Closed() {
		severity = Error
	}
	i.add(id, severity, h.Ref, "with failurePolicy "+policyOf(h)+" "+format, args...)
}

// gap reports an omission of a webhook. It is an error, except for three kinds of webhooks: the first webhook for Pods
// runs before the retry webhook, a process does not load a policy that the policy guard would deny, and webhooks of
// rule sets may be narrower on purpose.
func (i *inspection) gap(id string, h *install.Hook, format string, args ...any) {
	severity := Error
	if h.Path == pathMutatePodsAgain || h.GuardsPolicy() || isSetPath(h.Path) {
		severity = Warning
	}
	i.add(id, severity, h.Ref, format, args...)
}

func policyOf(h *install.Hook) string {
	if h.Closed() {
		return string(admissionv1.Fail)
	}
	return string(admissionv1.Ignore)
}

// wildcards inspects the rules for a *, which also covers resources that nobody thought of: leases, tokens, the API
// server's ConfigMaps.
func (i *inspection) wildcards(h *install.Hook) {
	for n, r := range h.Rules {
		where := ""
		switch {
		case coversEverything(r):
			i.error("wildcard-rule", h.Ref, "with failurePolicy %s rule %d matches every resource of every API group",
				policyOf(h), n+1)
			continue
		case slices.Contains(r.APIGroups, "*"):
			where = "apiGroups"
		case slices.Contains(r.APIVersions, "*"):
			where = "apiVersions"
		case slices.ContainsFunc(r.Resources, func(s string) bool { return strings.Contains(s, "*") }):
			where = "resources"
		case slices.Contains(r.Operations, admissionv1.OperationAll):
			where = "operations"
		}
		if where != "" {
			i.error("wildcard-rule", h.Ref, "rule %d has a * in %s", n+1, where)
		}
	}
}

// coversEverything reports whether a rule covers writes of all resources in all groups.
func coversEverything(r admissionv1.RuleWithOperations) bool {
	writes := install.HasOperation(r.Operations, admissionv1.Create) ||
		install.HasOperation(r.Operations, admissionv1.Update)
	return writes && slices.Contains(r.APIGroups, "*") &&
		(slices.Contains(r.Resources, "*") || slices.Contains(r.Resources, "*/*"))
}

// conditions inspects the writes that the rules and conditions match. Conditions are not evaluated. Ephemeral
// containers don't need a condition on oldObject, because their only update is a new image.
func (i *inspection) conditions(h *install.Hook) {
	known, updates := evaluated(), false
	for resource, operations := range h.Resources {
		name, group, _ := strings.Cut(resource, ".")
		custom := strings.Contains(group, ".") && !strings.Contains(name, "/") // in the templates: see templates
		updates = updates || install.HasOperation(operations, admissionv1.Update) && resource != "pods/ephemeralcontainers"
		switch {
		case h.Path == pathValidateServiceStatus && resource != "services/status":
			i.error("load-balancer-status", h.Ref, "it matches %s, and its path evaluates only services/status", resource)
		case h.GuardsPolicy() || strings.Contains(resource, "*") || isWorkloads(h.Path) && custom:
		case !slices.Contains(known, resource):
			i.call("scope", h, "it matches %s, which Evergate does not evaluate", resource)
		case slices.Contains(operations, admissionv1.Delete) || slices.Contains(operations, admissionv1.Connect):
			i.call("scope", h, "it matches operations other than CREATE and UPDATE on %s", resource)
		}
	}
	compares := func(m admissionv1.MatchCondition) bool { return strings.Contains(m.Expression, "oldObject") }
	if updates && !h.GuardsPolicy() && !slices.ContainsFunc(h.MatchConditions, compares) {
		i.call("unconditional-update", h, "it matches every UPDATE: no matchCondition compares with oldObject")
	}
	if h.Path == pathValidateServiceStatus && h.Closed() {
		i.error("load-balancer-status", h.Ref,
			"its failurePolicy is Fail: while no replica answers, no load balancer gets an address")
	}
}

// selector inspects the namespaces and objects that a webhook other than the policy guard can match. Only a requirement
// on kubernetes.io/metadata.name excludes a namespace for good, because the API server sets this label.
func (i *inspection) selector(h *install.Hook) {
	if h.GuardsPolicy() {
		return
	}
	if !install.SelectsAll(h.ObjectSelector) {
		i.gap("object-selector", h, "it has an objectSelector, %s: the author of an object decides by its labels whether "+
			"Evergate checks it", install.Printable(metav1.FormatLabelSelector(h.ObjectSelector)))
	}
	if install.SelectsAll(h.NamespaceSelector) {
		i.error("protected-namespace", h.Ref, "it has no namespaceSelector")
		return
	}
	matched := install.Filter(i.Protected(), func(name string) bool {
		return install.CanSelect(h.NamespaceSelector, name)
	})
	if len(matched) > 0 {
		deadlock := ""
		if h.Closed() && h.CreatesPods() && slices.Contains(matched, i.Namespace) {
			deadlock = ": while no replica answers, none can be created"
		}
		i.error("protected-namespace", h.Ref, "with failurePolicy %s its namespaceSelector can match %s%s", policyOf(h),
			strings.Join(matched, ", "), deadlock)
	}
	if h.Closed() {
		i.platform(h)
	}
}

// platform inspects the matched namespaces for namespaces of the platform. OpenShift marks the namespaces that a cluster
// starts with by a label. Level 0 and 1 start before the API server that serves the OpenShift kinds.
func (i *inspection) platform(h *install.Hook) {
	var early, others []string
	protected := i.Protected()
	for _, ns := range install.Of[*corev1.Namespace](i.Objects) {
		level := ns.Labels["openshift.io/run-level"]
		switch {
		case slices.Contains(protected, ns.Name) ||
			!install.Selects(h.NamespaceSelector, i.NamespaceLabels(ns.Name)):
		case level == "0" || level == "1":
			early = append(early, ns.Name)
		case ofPlatform(ns.Name):
			others = append(others, ns.Name)
		}
	}
	if len(early) > 0 {
		i.error("platform-namespace", h.Ref, "it fails closed and matches namespaces with run level 0 or 1 of OpenShift: %s",
			some(early))
	}
	if len(others) > 0 {
		i.warning("platform-namespace", h.Ref, "it fails closed and matches namespaces of the platform: %s", some(others))
	}
}

// ofPlatform reports whether a platform reserves the name of a namespace.
func ofPlatform(name string) bool {
	return slices.ContainsFunc([]string{
		"kube-",      // Kubernetes, also kube-flannel, kube-ovn and kube-vip
		"openshift-", // OpenShift
		"cattle-",    // Rancher, on RKE2 and K3s too
		"gke-", "gmp-", "aks-", "calico-", "tigera-", "vmware-system-",
		"open-cluster-management", // also with -agent and others
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) || slices.Contains([]string{
		"fleet-local", "fleet-system", "rancher-operator-system", // Rancher
		"config-management-system", "resource-group-system", // GKE
		"amazon-cloudwatch", "amazon-guardduty", // EKS
		"app-routing-system", "azure-arc", "gatekeeper-system", // AKS
		"tanzu-system", "tkg-system", "ibm-system", "ibm-operators",
		"hypershift", "multicluster-engine", // OpenShift
		"cilium", "cilium-secrets", "metallb-system", // networks
		"longhorn-system", "openebs", "rook-ceph", // storage
	}, name)
}

// fields inspects the fields that have one right value.
func (i *inspection) fields(h *install.Hook) {
	switch {
	case h.TimeoutSeconds == nil:
		i.error("timeout", h.Ref, "timeoutSeconds is not set, so it is 10")
	case *h.TimeoutSeconds > maxTimeout:
		i.error("timeout", h.Ref, "timeoutSeconds is %d, and the maximum is %d", *h.TimeoutSeconds, maxTimeout)
	}
	if h.SideEffects == nil || *h.SideEffects != admissionv1.SideEffectClassNone {
		class := admissionv1.SideEffectClass("not set")
		if h.SideEffects != nil {
			class = *h.SideEffects
		}
		i.error("side-effects", h.Ref, "sideEffects is %s, and Evergate does not have any", class)
	}
	// The API server sends the first version that it knows (kubernetes, pkg/admission/plugin/webhook/request in
	// apiserver).
	at := slices.IndexFunc(h.AdmissionReviewVersions, func(v string) bool { return v == "v1" || v == "v1beta1" })
	if at >= 0 && h.AdmissionReviewVersions[at] != "v1" {
		i.error("review-version", h.Ref, "admissionReviewVersions is [%s]",
			text.Truncate(strings.Join(h.AdmissionReviewVersions, ", "), 100))
	}
	if h.MatchPolicy != nil && *h.MatchPolicy == admissionv1.Exact {
		i.warning("match-policy", h.Ref, "matchPolicy is Exact")
	}
	if h.Mutating && h.Closed() {
		i.warning("mutation", h.Ref, "its failurePolicy is Fail")
	}
	if r := h.ReinvocationPolicy; h.Mutating && (r == nil || *r != admissionv1.IfNeededReinvocationPolicy) {
		i.warning("mutation", h.Ref, "its reinvocationPolicy is not IfNeeded")
	}
	if !slices.Contains(servedPaths(h.Mutating), h.Path) && (h.Mutating || !isSetPath(h.Path)) {
		i.error("path", h.Ref, "it calls the path %q, which is not served", h.Path)
	}
}

// policyGuard inspects the webhook that validates the ConfigMap of the policy and therefore matches Evergate's
// namespace.
func (i *inspection) policyGuard(h *install.Hook) {
	if h.Closed() {
		i.error("policy-guard", h.Ref, "its failurePolicy is Fail: while no replica answers, nobody can correct the policy")
	}
	for resource, operations := range h.Resources {
		if resource != "configmaps" {
			i.error("policy-guard", h.Ref, "it matches %s: only configmaps contain a policy", resource)
		}
		if slices.Contains(operations, admissionv1.Connect) {
			i.error("policy-guard", h.Ref, "it matches operations other than CREATE, UPDATE and DELETE")
		}
	}
	// The name any-other represents all other namespaces.
	alone := !install.CanSelect(h.NamespaceSelector, "any-other") && install.CanSelect(h.NamespaceSelector, i.Namespace)
	if i.Namespace != "" && !alone {
		i.error("policy-guard", h.Ref, "its namespaceSelector does not select only %s by kubernetes.io/metadata.name",
			i.Namespace)
	}
	byName := slices.IndexFunc(h.MatchConditions, func(m admissionv1.MatchCondition) bool {
		return strings.Contains(m.Expression, "metadata.name") || strings.Contains(m.Expression, "request.name")
	})
	switch {
	case byName >= 0:
		i.guardedName(h, h.MatchConditions[byName].Expression)
	case install.SelectsAll(h.ObjectSelector):
		i.error("policy-guard", h.Ref,
			"it matches every ConfigMap of the namespace: it has no objectSelector and no matchCondition on the name")
	}
}

// guardedName reports mounted ConfigMaps of a policy whose names are not in the expression. A mounted name may end with
// a hash of kustomize.
func (i *inspection) guardedName(h *install.Hook, expression string) {
	names := strings.Split(expression, `"`)
	for _, s := range i.Servers {
		mounts, _ := s.PolicyMaps()
		for _, mounted := range mounts {
			guarded := false
			for n := 1; n < len(names); n += 2 {
				hash, ok := strings.CutPrefix(mounted.Name, names[n])
				guarded = guarded || ok && names[n] != "" && (hash == "" || len(hash) == len("-9t8g2kf5bh") && hash[0] == '-')
			}
			if !guarded {
				i.warning("policy-guard", h.Ref, "it does not match the ConfigMap %s, which %s mounts as its policy", mounted.Name,
					s.Name)
			}
		}
	}
}

// urls reports each URL once, for the first webhook that calls it.
func (i *inspection) urls() {
	reported := map[string]bool{"": true}
	for _, h := range i.Hooks {
		if reported[h.URL] {
			continue
		}
		reported[h.URL] = true
		calls := "it calls"
		n := len(install.Filter(i.Hooks, func(other *install.Hook) bool { return other.URL == h.URL }))
		switch {
		case n == 2:
			calls = "it and another webhook call"
		case n > 2:
			calls = fmt.Sprintf("it and %d other webhooks call", n-1)
		}
		if namespace, name, ok := h.ServiceOfURL(); ok {
			i.error("path", h.Ref, "%s the Service %s/%s by the URL %s: API servers do not look names up in the cluster's DNS",
				calls, namespace, name, h.URL)
		} else {
			i.error("path", h.Ref, "%s the URL %s instead of a Service: preflight cannot check that the URL leads to Evergate, "+
				"and whether it does while the cluster is down", calls, h.URL)
		}
	}
}

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

// isSetPath reports whether Evergate serves a path as the path of a rule set.
func isSetPath(path string) bool {
	_, set := admission.ParsePath(path)
	return set != ""
}

// isWorkloads reports whether a path is the path of workloads or of one of their rule sets.
func isWorkloads(path string) bool {
	w, _ := admission.ParsePath(path)
	return w != nil && w.Path == pathValidateWorkloads
}
