package deploy

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	certmanagerv1 "github.com/cert-manager/cert-manager/pkg/apis/certmanager/v1"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/evergate/evergate/offline/export"

	"github.com/evergate/evergate/offline"
)

// Inventory contains the objects that the checks use, in the order of the input.
type Inventory struct {
	mutatingWebhooks   []*admissionv1.MutatingWebhookConfiguration
	validatingWebhooks []*admissionv1.ValidatingWebhookConfiguration
	admissionPolicies  []*admissionv1.ValidatingAdmissionPolicy
	policyBindings     []*admissionv1.ValidatingAdmissionPolicyBinding
	mutatingPolicies   []*admissionv1.MutatingAdmissionPolicy
	mutatingBindings   []*admissionv1.MutatingAdmissionPolicyBinding

	namespaces     []*corev1.Namespace
	nodes          []*corev1.Node
	pods           []*corev1.Pod
	services       []*corev1.Service
	endpointSlices []*discoveryv1.EndpointSlice
	configMaps     []*corev1.ConfigMap
	secrets        []*corev1.Secret

	serviceAccounts []*corev1.ServiceAccount
	resourceQuotas  []*corev1.ResourceQuota
	limitRanges     []*corev1.LimitRange

	deployments         []*appsv1.Deployment
	autoscalers         []*autoscalingv2.HorizontalPodAutoscaler
	verticalAutoscalers []*unstructured.Unstructured
	scaledObjects       []*unstructured.Unstructured // of KEDA
	disruptionBudgets   []*policyv1.PodDisruptionBudget
	networkPolicies     []*networkingv1.NetworkPolicy
	ingresses           []*networkingv1.Ingress
	routes              []*unstructured.Unstructured // of Gateway API and OpenShift, with hosts
	claimantKinds       []*unstructured.Unstructured // other kinds whose annotations may contain hosts

	roles               []*rbacv1.Role
	roleBindings        []*rbacv1.RoleBinding
	clusterRoles        []*rbacv1.ClusterRole
	clusterRoleBindings []*rbacv1.ClusterRoleBinding

	certificates   []*certmanagerv1.Certificate
	issuers        []*certmanagerv1.Issuer
	clusterIssuers []*certmanagerv1.ClusterIssuer

	prometheuses     []*unstructured.Unstructured
	prometheusAgents []*unstructured.Unstructured
	podMonitors      []*unstructured.Unstructured
	serviceMonitors  []*unstructured.Unstructured

	notListed   []string // resources that could not be listed in the cluster
	filesPolicy string   // the hash of the policy that the API server's files were exported from; "" if it is not known

	sources map[apiObject]string // FILE:LINE
	skips   offline.Skips
}

// apiObject is the interface of all types in the Inventory.
type apiObject interface {
	metav1.Object
	runtime.Object
}

// decodedKind describes how to read objects of one kind.
type decodedKind struct {
	apiVersion string // the version that is read; a group and a slash: every version of it
	decode     func(*Inventory, manifest) error
}

// kinds returns the kinds that are read, by name. Objects of other kinds are ignored.
func kinds() map[string]decodedKind {
	const (
		networking  = "networking.k8s.io/v1"
		rbac        = "rbac.authorization.k8s.io/v1"
		certManager = "cert-manager.io/v1"
		monitoring  = "monitoring.coreos.com/"
		gatewayAPI  = "gateway.networking.k8s.io/"
		openShift   = "route.openshift.io/"
	)
	type inv = *Inventory
	all := map[string]decodedKind{
		"Namespace":      {"v1", into(func(i inv) *[]*corev1.Namespace { return &i.namespaces })},
		"Node":           {"v1", into(func(i inv) *[]*corev1.Node { return &i.nodes })},
		"Pod":            {"v1", into(func(i inv) *[]*corev1.Pod { return &i.pods })},
		"Service":        {"v1", into(func(i inv) *[]*corev1.Service { return &i.services })},
		"ConfigMap":      {"v1", into(func(i inv) *[]*corev1.ConfigMap { return &i.configMaps })},
		"Secret":         {"v1", into(func(i inv) *[]*corev1.Secret { return &i.secrets })},
		"ServiceAccount": {"v1", into(func(i inv) *[]*corev1.ServiceAccount { return &i.serviceAccounts })},
		"ResourceQuota":  {"v1", into(func(i inv) *[]*corev1.ResourceQuota { return &i.resourceQuotas })},
		"LimitRange":     {"v1", into(func(i inv) *[]*corev1.LimitRange { return &i.limitRanges })},
		"EndpointSlice": {"discovery.k8s.io/v1",
			into(func(i inv) *[]*discoveryv1.EndpointSlice { return &i.endpointSlices })},

		"Deployment": {"apps/v1", into(func(i inv) *[]*appsv1.Deployment { return &i.deployments })},
		"HorizontalPodAutoscaler": {"autoscaling/v2",
			into(func(i inv) *[]*autoscalingv2.HorizontalPodAutoscaler { return &i.autoscalers })},
		"VerticalPodAutoscaler": loosely("autoscaling.k8s.io/",
			func(i inv) *[]*unstructured.Unstructured { return &i.verticalAutoscalers }),
		"ScaledObject": loosely("keda.sh/", func(i inv) *[]*unstructured.Unstructured { return &i.scaledObjects }),
		"PodDisruptionBudget": {"policy/v1",
			into(func(i inv) *[]*policyv1.PodDisruptionBudget { return &i.disruptionBudgets })},
		"NetworkPolicy": {networking,
			into(func(i inv) *[]*networkingv1.NetworkPolicy { return &i.networkPolicies })},
		"Ingress":   {networking, into(func(i inv) *[]*networkingv1.Ingress { return &i.ingresses })},
		"HTTPRoute": loosely(gatewayAPI, func(i inv) *[]*unstructured.Unstructured { return &i.routes }),
		"TLSRoute":  loosely(gatewayAPI, func(i inv) *[]*unstructured.Unstructured { return &i.routes }),
		"GRPCRoute": loosely(gatewayAPI, func(i inv) *[]*unstructured.Unstructured { return &i.claimantKinds }),
		"TCPRoute":  loosely(gatewayAPI, func(i inv) *[]*unstructured.Unstructured { return &i.claimantKinds }),
		"UDPRoute":  loosely(gatewayAPI, func(i inv) *[]*unstructured.Unstructured { return &i.claimantKinds }),
		"Gateway":   loosely(gatewayAPI, func(i inv) *[]*unstructured.Unstructured { return &i.claimantKinds }),
		"ListenerSet": loosely(gatewayAPI,
			func(i inv) *[]*unstructured.Unstructured { return &i.claimantKinds }),
		"Route": loosely(openShift, func(i inv) *[]*unstructured.Unstructured { return &i.routes }),

		"Role":               {rbac, into(func(i inv) *[]*rbacv1.Role { return &i.roles })},
		"RoleBinding":        {rbac, into(func(i inv) *[]*rbacv1.RoleBinding { return &i.roleBindings })},
		"ClusterRole":        {rbac, into(func(i inv) *[]*rbacv1.ClusterRole { return &i.clusterRoles })},
		"ClusterRoleBinding": {rbac, into(func(i inv) *[]*rbacv1.ClusterRoleBinding { return &i.clusterRoleBindings })},

		"Certificate":   {certManager, into(func(i inv) *[]*certmanagerv1.Certificate { return &i.certificates })},
		"Issuer":        {certManager, into(func(i inv) *[]*certmanagerv1.Issuer { return &i.issuers })},
		"ClusterIssuer": {certManager, into(func(i inv) *[]*certmanagerv1.ClusterIssuer { return &i.clusterIssuers })},

		"Prometheus":      loosely(monitoring, func(i inv) *[]*unstructured.Unstructured { return &i.prometheuses }),
		"PrometheusAgent": loosely(monitoring, func(i inv) *[]*unstructured.Unstructured { return &i.prometheusAgents }),
		"PodMonitor":      loosely(monitoring, func(i inv) *[]*unstructured.Unstructured { return &i.podMonitors }),
		"ServiceMonitor":  loosely(monitoring, func(i inv) *[]*unstructured.Unstructured { return &i.serviceMonitors }),
	}
	maps.Copy(all, admissionKinds())
	all["Status"] = decodedKind{"v1", (*Inventory).addStatus}
	return all
}

// admissionKinds returns the kinds that configure admission.
func admissionKinds() map[string]decodedKind {
	const admission = "admissionregistration.k8s.io/v1"
	type inv = *Inventory
	return map[string]decodedKind{
		"MutatingWebhookConfiguration": {admission,
			into(func(i inv) *[]*admissionv1.MutatingWebhookConfiguration { return &i.mutatingWebhooks })},
		"ValidatingWebhookConfiguration": {admission,
			into(func(i inv) *[]*admissionv1.ValidatingWebhookConfiguration { return &i.validatingWebhooks })},
		"ValidatingAdmissionPolicy": {admission,
			into(func(i inv) *[]*admissionv1.ValidatingAdmissionPolicy { return &i.admissionPolicies })},
		"ValidatingAdmissionPolicyBinding": {admission,
			into(func(i inv) *[]*admissionv1.ValidatingAdmissionPolicyBinding { return &i.policyBindings })},
		"MutatingAdmissionPolicy": {admission,
			into(func(i inv) *[]*admissionv1.MutatingAdmissionPolicy { return &i.mutatingPolicies })},
		"MutatingAdmissionPolicyBinding": {admission,
			into(func(i inv) *[]*admissionv1.MutatingAdmissionPolicyBinding { return &i.mutatingBindings })},
	}
}

// into returns a function that decodes a manifest as a T, which has to be an object, and appends it to its list in
// the Inventory.
func into[T any, P interface {
	*T
	apiObject
}](place func(*Inventory) *[]P) func(*Inventory, manifest) error {
	return func(inv *Inventory, m manifest) error {
		o := P(new(T))
		if err := m.decode(o); err != nil {
			return err
		}
		if found := faultsOfHooks(o); len(found) > 0 && !live(o) {
			return m.errorf(found)
		}
		list := place(inv)
		*list = append(*list, o)
		inv.sources[o] = m.source
		return nil
	}
}

// addStatus reads an answer of the API server. The answer to the probe of its files contains the hash of their
// policy, which no object contains. The details of an answer to a list contain the resource that could not be listed.
func (inv *Inventory) addStatus(m manifest) error {
	var status metav1.Status
	if err := kjson.UnmarshalCaseSensitivePreserveInts(m.json, &status); err != nil {
		return fmt.Errorf("%s: %s: %w", m.source, m.kind, err)
	}
	if hash, ok := export.ProbedPolicy(status.Message); ok {
		inv.filesPolicy = hash
	} else if status.Details != nil {
		inv.notListed = append(inv.notListed, status.Details.Kind)
	}
	return nil
}

// loosely reads manifests of a group without its Go types, in any version. The checks use only a few of the hundreds
// of fields of the Prometheus operator, and only the hosts of routes. Unknown fields are not an error.
func loosely(group string, place func(*Inventory) *[]*unstructured.Unstructured) decodedKind {
	decode := func(inv *Inventory, m manifest) error {
		o := &unstructured.Unstructured{}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(m.json, &o.Object); err != nil {
			return fmt.Errorf("%s: %s: %w", m.source, m.kind, err)
		}
		o.SetGroupVersionKind(schema.FromAPIVersionAndKind(m.apiVersion, m.kind))
		list := place(inv)
		*list = append(*list, o)
		inv.sources[o] = m.source
		return nil
	}
	return decodedKind{group, decode}
}

// count returns the number of objects.
func (inv *Inventory) count() int { return len(inv.sources) }

// ref returns the ref of an object in the Inventory.
func (inv *Inventory) ref(o apiObject) ref {
	return ref{
		kind: o.GetObjectKind().GroupVersionKind().Kind, namespace: o.GetNamespace(), name: o.GetName(),
		source:  inv.sources[o],
		accepts: strings.Split(strings.ReplaceAll(o.GetAnnotations()[acceptAnnotation], " ", ""), ","),
	}
}

// find returns the object of a list with a namespace and a name, or nil.
func find[P apiObject](list []P, namespace, name string) P {
	i := slices.IndexFunc(list, func(o P) bool { return o.GetNamespace() == namespace && o.GetName() == name })
	if i < 0 {
		var none P
		return none
	}
	return list[i]
}

// filter returns the elements of a list that keep accepts.
func filter[T any](list []T, keep func(T) bool) []T {
	var kept []T
	for _, element := range list {
		if keep(element) {
			kept = append(kept, element)
		}
	}
	return kept
}

// live reports whether an object was read from a cluster and not from a manifest. Only the API server sets a UID.
func live(o metav1.Object) bool { return o.GetUID() != "" }
