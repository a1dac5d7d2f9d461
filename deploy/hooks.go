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
	paths, urls := map[string]bool{}, map[string]int{}
	for _, h := range i.Hooks {
		urls[h.URL]++
	}
	for _, h := range i.Hooks {
		i.rules(h)
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
	for _, h := range i.Hooks { // each URL once
		namespace, name, ofService := h.ServiceOfURL()
		calls := text.Count(urls[h.URL], "webhook")
		i.errorIf(urls[h.URL] > 0 && ofService, "path", h.Ref, "it calls the Service %s/%s by the URL %s (%s): API servers do "+
			"not look names up in the cluster's DNS", namespace, name, h.URL, calls)
		i.errorIf(urls[h.URL] > 0 && h.URL != "" && !ofService, "path", h.Ref, "it calls the URL %s instead of a Service (%s): "+
			"preflight cannot check that the URL leads to Evergate, and whether it does while the cluster is down", h.URL, calls)
		urls[h.URL] = 0
	}
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

// rules inspects the writes that the rules and conditions match. A * also covers resources that nobody thought of:
// leases, tokens, the API server's ConfigMaps. Conditions are not evaluated. Ephemeral containers don't need a condition
// on oldObject, because their only update is a new image.
func (i *inspection) rules(h *install.Hook) {
	for n, r := range h.Rules {
		where := ""
		for _, field := range [][2]string{
			{"operations", strings.Join(text.Plain(r.Operations), "")}, {"resources", strings.Join(r.Resources, "")},
			{"apiVersions", strings.Join(r.APIVersions, "")}, {"apiGroups", strings.Join(r.APIGroups, "")},
		} {
			if strings.Contains(field[1], "*") {
				where = "rule %d has a * in " + field[0]
			}
		}
		if coversEverything(r) {
			where = "with failurePolicy " + policyOf(h) + " rule %d matches every resource of every API group"
		}
		i.errorIf(where != "", "wildcard-rule", h.Ref, where, n+1)
	}
	ofStatus, updates := h.Path == pathValidateServiceStatus, false
	for resource, operations := range h.Resources {
		name, group, _ := strings.Cut(resource, ".")
		custom := strings.Contains(group, ".") && !strings.Contains(name, "/") // in the templates: see templates
		updates = updates || install.HasOperation(operations, admissionv1.Update) && resource != "pods/ephemeralcontainers"
		switch {
		case ofStatus && resource != "services/status":
			i.error("load-balancer-status", h.Ref, "it matches %s, and its path evaluates only services/status", resource)
		case h.GuardsPolicy() || strings.Contains(resource, "*") || isWorkloads(h.Path) && custom:
		case !slices.Contains(evaluated(), resource):
			i.call("scope", h, "it matches %s, which Evergate does not evaluate", resource)
		case slices.Contains(operations, admissionv1.Delete) || slices.Contains(operations, admissionv1.Connect):
			i.call("scope", h, "it matches operations other than CREATE and UPDATE on %s", resource)
		}
	}
	compares := func(m admissionv1.MatchCondition) bool { return strings.Contains(m.Expression, "oldObject") }
	if updates && !h.GuardsPolicy() && !slices.ContainsFunc(h.MatchConditions, compares) {
		i.call("unconditional-update", h, "it matches every UPDATE: no matchCondition compares with oldObject")
	}
	i.errorIf(ofStatus && h.Closed(), "load-balancer-status", h.Ref,
		"its failurePolicy is Fail: while no replica answers, no load balancer gets an address")
}

// coversEverything reports whether a rule covers writes of all resources in all groups.
func coversEverything(r admissionv1.RuleWithOperations) bool {
	writes := install.HasOperation(r.Operations, admissionv1.Create) ||
		install.HasOperation(r.Operations, admissionv1.Update)
	return writes && slices.Contains(r.APIGroups, "*") &&
		(slices.Contains(r.Resources, "*") || slices.Contains(r.Resources, "*/*"))
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
	matched := install.Filter(i.Protected(), func(name string) bool { return install.CanSelect(h.NamespaceSelector, name) })
	deadlock := ""
	if h.Closed() && h.CreatesPods() && slices.Contains(matched, i.Namespace) {
		deadlock = ": while no replica answers, none can be created"
	}
	i.errorIf(len(matched) > 0, "protected-namespace", h.Ref, "with failurePolicy %s its namespaceSelector can match %s%s",
		policyOf(h), strings.Join(matched, ", "), deadlock)
	var early, others []string // namespaces of the platform
	for _, ns := range install.Of[*corev1.Namespace](i.Objects) {
		// OpenShift starts namespaces with level 0 and 1 before the API server that serves its kinds.
		level := ns.Labels["openshift.io/run-level"]
		switch {
		case slices.Contains(i.Protected(), ns.Name) || !h.Closed() ||
			!install.Selects(h.NamespaceSelector, i.NamespaceLabels(ns.Name)):
		case level == "0" || level == "1":
			early = append(early, ns.Name)
		case ofPlatform(ns.Name):
			others = append(others, ns.Name)
		}
	}
	i.errorIf(len(early) > 0, "platform-namespace", h.Ref, "it fails closed and matches namespaces with run level 0 or 1 of "+
		"OpenShift: %s", some(early))
	i.warnIf(len(others) > 0, "platform-namespace", h.Ref, "it fails closed and matches namespaces of the platform: %s",
		some(others))
}

// ofPlatform reports whether a platform reserves the name of a namespace.
func ofPlatform(name string) bool {
	return slices.ContainsFunc([]string{
		"kube-", "openshift-", "cattle-", "gke-", "gmp-", "aks-", "calico-", "tigera-", "vmware-system-",
		"open-cluster-management",
	}, func(prefix string) bool { return strings.HasPrefix(name, prefix) }) || slices.Contains([]string{
		"fleet-local", "fleet-system", "rancher-operator-system", // Rancher
		"config-management-system", "resource-group-system", // GKE
		"amazon-cloudwatch", "amazon-guardduty", // EKS
		"app-routing-system", "azure-arc", "gatekeeper-system", // AKS
		"tanzu-system", "tkg-system", "ibm-system", "ibm-operators",
		"hypershift", "multicluster-engine", // OpenShift
		"cilium", "cilium-secrets", "metallb-system", "longhorn-system", "openebs", "rook-ceph", // networks, storage
	}, name)
}

// fields inspects the fields that have one right value.
func (i *inspection) fields(h *install.Hook) {
	seconds := *cmp.Or(h.TimeoutSeconds, new(int32(0)))
	i.errorIf(h.TimeoutSeconds == nil, "timeout", h.Ref, "timeoutSeconds is not set, so it is 10")
	i.errorIf(seconds > maxTimeout, "timeout", h.Ref, "timeoutSeconds is %d, and the maximum is %d", seconds, maxTimeout)
	class := *cmp.Or(h.SideEffects, new(admissionv1.SideEffectClass("not set")))
	i.errorIf(class != admissionv1.SideEffectClassNone, "side-effects", h.Ref,
		"sideEffects is %s, and Evergate does not have any", class)
	// The API server sends the first version that it knows (kubernetes, pkg/admission/plugin/webhook/request in
	// apiserver).
	v1, beta := slices.Index(h.AdmissionReviewVersions, "v1"), slices.Index(h.AdmissionReviewVersions, "v1beta1")
	i.errorIf(beta >= 0 && (v1 < 0 || beta < v1), "review-version", h.Ref, "admissionReviewVersions is [%s]",
		text.Truncate(strings.Join(h.AdmissionReviewVersions, ", "), 100))
	exact := h.MatchPolicy != nil && *h.MatchPolicy == admissionv1.Exact
	i.warnIf(exact, "match-policy", h.Ref, "matchPolicy is Exact")
	again := h.ReinvocationPolicy != nil && *h.ReinvocationPolicy == admissionv1.IfNeededReinvocationPolicy
	i.warnIf(h.Mutating && h.Closed(), "mutation", h.Ref, "its failurePolicy is Fail")
	i.warnIf(h.Mutating && !again, "mutation", h.Ref, "its reinvocationPolicy is not IfNeeded")
	served := slices.Contains(servedPaths(h.Mutating), h.Path) || !h.Mutating && isSetPath(h.Path)
	i.errorIf(!served, "path", h.Ref, "it calls the path %q, which is not served", h.Path)
}

// policyGuard inspects the webhook that validates the ConfigMap of the policy and therefore matches Evergate's
// namespace.
func (i *inspection) policyGuard(h *install.Hook) {
	const id = "policy-guard"
	i.errorIf(h.Closed(), id, h.Ref, "its failurePolicy is Fail: while no replica answers, nobody can correct the policy")
	for resource, operations := range h.Resources {
		i.errorIf(resource != "configmaps", id, h.Ref, "it matches %s: only configmaps contain a policy", resource)
		i.errorIf(slices.Contains(operations, admissionv1.Connect), id, h.Ref,
			"it matches operations other than CREATE, UPDATE and DELETE")
	}
	// The name any-other represents all other namespaces.
	alone := !install.CanSelect(h.NamespaceSelector, "any-other") && install.CanSelect(h.NamespaceSelector, i.Namespace)
	i.errorIf(i.Namespace != "" && !alone, id, h.Ref, "its namespaceSelector does not select only %s by "+
		"kubernetes.io/metadata.name", i.Namespace)
	byName := ""
	for _, m := range h.MatchConditions {
		if strings.Contains(m.Expression, "metadata.name") || strings.Contains(m.Expression, "request.name") {
			byName = m.Expression
		}
	}
	i.errorIf(byName == "" && install.SelectsAll(h.ObjectSelector), id, h.Ref,
		"it matches every ConfigMap of the namespace: it has no objectSelector and no matchCondition on the name")
	for _, s := range i.Servers {
		mounts, _ := s.PolicyMaps()
		for _, mounted := range mounts {
			guarded := byName == ""
			for _, name := range celStrings(byName) { // kustomize may add a hash to the name
				hash, ok := strings.CutPrefix(mounted.Name, name)
				guarded = guarded || ok && name != "" && (hash == "" || len(hash) == len("-9t8g2kf5bh") && hash[0] == '-')
			}
			i.warnIf(!guarded, id, h.Ref, "it does not match the ConfigMap %s, which %s mounts as its policy", mounted.Name,
				s.Name)
		}
	}
}

// others inspects the webhooks of other products. A webhook that matches every resource is dangerous even if it fails
// open: while it does not answer, it delays each write by its timeout, which is too long for leases and the API server's
// ConfigMaps. Conditions are not evaluated.
func (i *inspection) others() {
	const id = "other-webhook-deadlock"
	system := i.NamespaceLabels(metav1.NamespaceSystem)
	for _, h := range install.Filter(i.All, func(h *install.Hook) bool { return !h.Ours }) {
		unless := ""
		if len(h.MatchConditions) > 0 {
			unless = ", unless its matchConditions, which preflight does not evaluate, exclude it"
		}
		everything := slices.ContainsFunc(h.Rules, coversEverything) && install.Selects(h.NamespaceSelector, system)
		i.warnIf(everything, id, h.Ref, "it matches every resource, including in kube-system, with failurePolicy %s%s",
			policyOf(h), unless)
		if i.blocks(h, h) {
			i.warning(id, h.Ref, "it fails closed on Pods in its namespace %s%s", h.ClientConfig.Service.Namespace, unless)
			continue
		}
		for _, ours := range i.Hooks {
			if i.blocks(h, ours) && i.blocks(ours, h) {
				i.warning(id, h.Ref, "it fails closed on the Pods of Evergate, whose webhook %s fails closed on Pods in the "+
					"namespace %s, so neither of them can start without the other%s", ours.Name, h.ClientConfig.Service.Namespace,
					unless)
				break
			}
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
