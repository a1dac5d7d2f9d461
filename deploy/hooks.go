package deploy

import (
	"cmp"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
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
		i.rules(h)
		i.selector(h)
		i.fields(h)
		if h.GuardsPolicy() {
			i.policyGuard(h)
		}
		missing := i.unmatched(h.Path)
		i.gap("missing-rule", h, len(missing) > 0 && !paths[h.Path], "no rule matches %s, which %s evaluates",
			strings.Join(missing, ", "), h.Path)
		paths[h.Path] = true
		i.at("path", h.Ref).error(h.URL != "", "it calls the URL %s instead of a Service: preflight cannot check that the "+
			"URL leads to Evergate, and whether it does while the cluster is down", h.URL)
	}
}

// call reports a problem with the calls of a webhook. It is an error if the webhook fails closed, and a warning if it
// fails open and so only costs time.
func (i *inspection) call(id string, h *install.Hook, wrong bool, format string, args ...any) {
	i.at(id, h.Ref).add(wrong, severityIf(h.Closed()), "with failurePolicy "+string(policyOf(h))+" "+format, args...)
}

// gap reports an omission of a webhook. It is an error, except for three kinds of webhooks: the first webhook for Pods
// runs before the retry webhook, a process does not load a policy that the policy guard would deny, and webhooks of
// rule sets may be narrower on purpose.
func (i *inspection) gap(id string, h *install.Hook, wrong bool, format string, args ...any) {
	narrow := h.Path == pathMutatePodsAgain || h.GuardsPolicy() || isSetPath(h.Path)
	i.at(id, h.Ref).add(wrong, severityIf(!narrow), format, args...)
}

// severityIf returns Error if the condition holds, and otherwise Warning.
func severityIf(isError bool) Severity {
	if isError {
		return Error
	}
	return Warning
}

func policyOf(h *install.Hook) admissionv1.FailurePolicyType {
	return *cmp.Or(h.FailurePolicy, new(admissionv1.Fail))
}

// rules inspects the writes that the rules and conditions match. A * also covers resources that nobody thought of:
// leases, tokens, the API server's ConfigMaps. Conditions are not evaluated. Ephemeral containers don't need a
// condition on oldObject, because their only update is a new image.
func (i *inspection) rules(h *install.Hook) {
	for n, r := range h.Rules {
		where := ""
		for _, field := range [][]string{
			append(text.Plain(r.Operations), "operations"), append(slices.Clone(r.Resources), "resources"),
			append(slices.Clone(r.APIVersions), "apiVersions"), append(slices.Clone(r.APIGroups), "apiGroups"),
		} {
			if strings.Contains(strings.Join(field, ""), "*") {
				where = "rule %d has a * in " + field[len(field)-1]
			}
		}
		if coversEverything(r) {
			where = "with failurePolicy " + string(policyOf(h)) + " rule %d matches every resource of every API group"
		}
		i.at("wildcard-rule", h.Ref).error(where != "", where, n+1)
	}
	f, ofStatus, updates := i.at("load-balancer-status", h.Ref), h.Path == pathValidateServiceStatus, false
	for resource, operations := range h.Resources {
		name, group, _ := strings.Cut(resource, ".")
		custom := strings.Contains(group, ".") && !strings.Contains(name, "/") // in the templates: see templates
		updates = updates || install.HasOperation(operations, admissionv1.Update) && resource != "pods/ephemeralcontainers"
		f.error(ofStatus && resource != "services/status", "it matches %s, and its path evaluates only services/status",
			resource)
		if ofStatus || h.GuardsPolicy() || strings.Contains(resource, "*") || isWorkloads(h.Path) && custom {
			continue
		}
		is := slices.Contains(evaluated(), resource)
		i.call("scope", h, !is, "it matches %s, which Evergate does not evaluate", resource)
		more := slices.Contains(operations, admissionv1.Delete) || slices.Contains(operations, admissionv1.Connect)
		i.call("scope", h, is && more, "it matches operations other than CREATE and UPDATE on %s", resource)
	}
	compares := func(m admissionv1.MatchCondition) bool { return strings.Contains(m.Expression, "oldObject") }
	i.call("unconditional-update", h, updates && !h.GuardsPolicy() && !slices.ContainsFunc(h.MatchConditions, compares),
		"it matches every UPDATE: no matchCondition compares with oldObject")
	f.error(ofStatus && h.Closed(),
		"its failurePolicy is Fail: while no replica answers, no load balancer gets an address")
}

// coversEverything reports whether a rule covers writes of all resources in all groups.
func coversEverything(r admissionv1.RuleWithOperations) bool {
	writes := install.HasOperation(r.Operations, admissionv1.Create) ||
		install.HasOperation(r.Operations, admissionv1.Update)
	resources := slices.Contains(r.Resources, "*") || slices.Contains(r.Resources, "*/*")
	return writes && resources && slices.Contains(r.APIGroups, "*")
}

// selector inspects the namespaces and objects that a webhook other than the policy guard can match. Only a requirement
// on kubernetes.io/metadata.name excludes a namespace for good, because the API server sets this label.
func (i *inspection) selector(h *install.Hook) {
	if h.GuardsPolicy() {
		return
	}
	i.gap("object-selector", h, !install.SelectsAll(h.ObjectSelector), "it has an objectSelector, %s: the author of an "+
		"object decides by its labels whether Evergate checks it", metav1.FormatLabelSelector(h.ObjectSelector))
	f, all := i.at("protected-namespace", h.Ref), install.SelectsAll(h.NamespaceSelector)
	f.error(all, "it has no namespaceSelector")
	if all {
		return
	}
	matched, deadlock := install.Filter(i.Protected(), func(name string) bool {
		return install.CanSelect(h.NamespaceSelector, name)
	}), ""
	if h.Closed() && h.CreatesPods() && slices.Contains(matched, i.Namespace) {
		deadlock = ": while no replica answers, none can be created"
	}
	f.error(len(matched) > 0, "with failurePolicy %s its namespaceSelector can match %s%s", policyOf(h),
		strings.Join(matched, ", "), deadlock)
	var early, others []string // namespaces of the platform
	for _, ns := range install.Of[*corev1.Namespace](i.Objects) {
		// OpenShift starts namespaces with level 0 and 1 before the API server that serves its kinds.
		level, set := ns.Labels["openshift.io/run-level"], i.NamespaceLabels(ns.Name)
		switch {
		case slices.Contains(i.Protected(), ns.Name) || !h.Closed() || !install.Selects(h.NamespaceSelector, set):
		case level == "0" || level == "1":
			early = append(early, ns.Name)
		case ofPlatform(ns.Name):
			others = append(others, ns.Name)
		}
	}
	f = i.at("platform-namespace", h.Ref)
	f.error(len(early) > 0, "it fails closed and matches namespaces with run level 0 or 1 of OpenShift: %s", some(early))
	f.warn(len(others) > 0, "it fails closed and matches namespaces of the platform: %s", some(others))
}

// ofPlatform reports whether a platform reserves the name of a namespace.
func ofPlatform(name string) bool {
	return slices.ContainsFunc([]string{
		"kube-", "openshift-", "cattle-", "gke-", "gmp-", "aks-", "calico-", "tigera-", "vmware-system-",
		"open-cluster-management",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) || slices.Contains([]string{
		"fleet-local", "fleet-system", "rancher-operator-system", // Rancher
		"config-management-system", "resource-group-system", "amazon-cloudwatch", "amazon-guardduty", // GKE, EKS
		"app-routing-system", "azure-arc", "gatekeeper-system", // AKS
		"tanzu-system", "tkg-system", "ibm-system", "ibm-operators", "hypershift", "multicluster-engine",
		"cilium", "cilium-secrets", "metallb-system", "longhorn-system", "openebs", "rook-ceph", // networks, storage
	}, name)
}

// fields inspects the fields that have one right value.
func (i *inspection) fields(h *install.Hook) {
	seconds := *cmp.Or(h.TimeoutSeconds, new(int32(0)))
	class := *cmp.Or(h.SideEffects, new(admissionv1.SideEffectClass("not set")))
	i.at("timeout", h.Ref).error(h.TimeoutSeconds == nil, "timeoutSeconds is not set, so it is 10")
	i.at("timeout", h.Ref).error(seconds > maxTimeout, "timeoutSeconds is %d, and the maximum is %d", seconds, maxTimeout)
	i.at("side-effects", h.Ref).error(class != "None", "sideEffects is %s, and Evergate does not have any", class)
	// The API server sends the first version that it knows (kubernetes, pkg/admission/plugin/webhook/request in
	// apiserver).
	v1, beta := slices.Index(h.AdmissionReviewVersions, "v1"), slices.Index(h.AdmissionReviewVersions, "v1beta1")
	i.at("review-version", h.Ref).error(beta >= 0 && (v1 < 0 || beta < v1), "admissionReviewVersions is [%s]",
		text.Truncate(strings.Join(h.AdmissionReviewVersions, ", "), 100))
	exact := *cmp.Or(h.MatchPolicy, new(admissionv1.Equivalent)) == admissionv1.Exact
	i.at("match-policy", h.Ref).warn(exact, "matchPolicy is Exact")
	once := *cmp.Or(h.ReinvocationPolicy, new(admissionv1.NeverReinvocationPolicy)) == admissionv1.NeverReinvocationPolicy
	i.at("mutation", h.Ref).warn(h.Mutating && h.Closed(), "its failurePolicy is Fail")
	i.at("mutation", h.Ref).warn(h.Mutating && once, "its reinvocationPolicy is not IfNeeded")
	served := slices.Contains(servedPaths(h.Mutating), h.Path) || !h.Mutating && isSetPath(h.Path)
	i.at("path", h.Ref).error(!served, "it calls the path %q, which is not served", h.Path)
}

// policyGuard inspects the webhook that validates the ConfigMap of the policy and therefore matches Evergate's
// namespace.
func (i *inspection) policyGuard(h *install.Hook) {
	f := i.at("policy-guard", h.Ref)
	f.error(h.Closed(), "its failurePolicy is Fail: while no replica answers, nobody can correct the policy")
	for resource, operations := range h.Resources {
		f.error(resource != "configmaps", "it matches %s: only configmaps contain a policy", resource)
		f.error(slices.Contains(operations, admissionv1.Connect),
			"it matches operations other than CREATE, UPDATE and DELETE")
	}
	// The name any-other represents all other namespaces.
	alone := !install.CanSelect(h.NamespaceSelector, "any-other") && install.CanSelect(h.NamespaceSelector, i.Namespace)
	f.error(i.Namespace != "" && !alone, "its namespaceSelector does not select only %s by kubernetes.io/metadata.name",
		i.Namespace)
	byName := ""
	for _, m := range h.MatchConditions {
		if strings.Contains(m.Expression, "metadata.name") || strings.Contains(m.Expression, "request.name") {
			byName = m.Expression
		}
	}
	f.error(byName == "" && install.SelectsAll(h.ObjectSelector),
		"it matches every ConfigMap of the namespace: it has no objectSelector and no matchCondition on the name")
	for _, s := range i.Servers {
		mounts, _ := s.PolicyMaps()
		for _, mounted := range mounts {
			guarded := byName == "" || slices.ContainsFunc(celStrings(byName), func(name string) bool {
				hash, ok := strings.CutPrefix(mounted.Name, name) // of kustomize
				return ok && name != "" && (hash == "" || len(hash) == len("-9t8g2kf5bh") && hash[0] == '-')
			})
			f.warn(!guarded, "it does not match the ConfigMap %s, which %s mounts as its policy", mounted.Name, s.Name)
		}
	}
}

// others inspects the webhooks of other products. A webhook that matches every resource is dangerous even if it fails
// open: while it does not answer, it delays each write by its timeout, which is too long for leases and the API
// server's ConfigMaps. Conditions are not evaluated.
func (i *inspection) others() {
	system := i.NamespaceLabels(metav1.NamespaceSystem)
	for _, h := range install.Filter(i.All, func(h *install.Hook) bool { return !h.Ours }) {
		f, unless := i.at("other-webhook-deadlock", h.Ref), ""
		if len(h.MatchConditions) > 0 {
			unless = ", unless its matchConditions, which preflight does not evaluate, exclude it"
		}
		everything := slices.ContainsFunc(h.Rules, coversEverything) && install.Selects(h.NamespaceSelector, system)
		f.warn(everything, "it matches every resource, including in kube-system, with failurePolicy %s%s", policyOf(h),
			unless)
		namespace := cmp.Or(h.ClientConfig.Service, &admissionv1.ServiceReference{}).Namespace
		f.warn(i.blocks(h, h), "it fails closed on Pods in its namespace %s%s", namespace, unless)
		ours := install.Filter(i.Hooks, func(ours *install.Hook) bool { return i.blocks(h, ours) && i.blocks(ours, h) })
		if len(ours) > 0 {
			f.warn(!i.blocks(h, h), "it fails closed on the Pods of Evergate, whose webhook %s fails closed on Pods in the "+
				"namespace %s, so neither of them can start without the other%s", ours[0].Name, namespace, unless)
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
	labels := cmp.Or(other.Called, &corev1.Service{}).Spec.Selector
	for _, d := range install.In[*appsv1.Deployment](i.Objects, svc.Namespace) {
		if install.ContainsAll(d.Spec.Template.Labels, labels) {
			labels = d.Spec.Template.Labels
		}
	}
	return install.Selects(h.NamespaceSelector, i.NamespaceLabels(svc.Namespace)) &&
		install.Selects(h.ObjectSelector, labels)
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
