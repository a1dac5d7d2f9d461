package deploy

import (
	"fmt"
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
)

// Inventory holds the objects that the checks look at, in the order of the input.
type Inventory struct {
	MutatingWebhooks   []*admissionv1.MutatingWebhookConfiguration
	ValidatingWebhooks []*admissionv1.ValidatingWebhookConfiguration
	AdmissionPolicies  []*admissionv1.ValidatingAdmissionPolicy
	PolicyBindings     []*admissionv1.ValidatingAdmissionPolicyBinding

	Namespaces     []*corev1.Namespace
	Nodes          []*corev1.Node
	Pods           []*corev1.Pod
	Services       []*corev1.Service
	EndpointSlices []*discoveryv1.EndpointSlice
	ConfigMaps     []*corev1.ConfigMap
	Secrets        []*corev1.Secret
	ResourceQuotas []*corev1.ResourceQuota

	Deployments       []*appsv1.Deployment
	Autoscalers       []*autoscalingv2.HorizontalPodAutoscaler
	DisruptionBudgets []*policyv1.PodDisruptionBudget
	NetworkPolicies   []*networkingv1.NetworkPolicy
	Ingresses         []*networkingv1.Ingress

	Roles               []*rbacv1.Role
	RoleBindings        []*rbacv1.RoleBinding
	ClusterRoles        []*rbacv1.ClusterRole
	ClusterRoleBindings []*rbacv1.ClusterRoleBinding

	Certificates   []*certmanagerv1.Certificate
	Issuers        []*certmanagerv1.Issuer
	ClusterIssuers []*certmanagerv1.ClusterIssuer

	Prometheuses     []*unstructured.Unstructured
	PrometheusAgents []*unstructured.Unstructured
	PodMonitors      []*unstructured.Unstructured
	ServiceMonitors  []*unstructured.Unstructured

	sources map[object]string // FILE:LINE
}

// object is what every type of the Inventory is.
type object interface {
	metav1.Object
	runtime.Object
}

// kind is how one kind is read.
type kind struct {
	apiVersion string // the one that is read; a group and a slash: every one of it
	decode     func(*Inventory, Manifest) error
}

// kinds holds the kinds that are read, by name. Objects of other kinds are passed over.
func kinds() map[string]kind {
	const (
		admission   = "admissionregistration.k8s.io/v1"
		networking  = "networking.k8s.io/v1"
		rbac        = "rbac.authorization.k8s.io/v1"
		certManager = "cert-manager.io/v1"
	)
	type inv = *Inventory
	return map[string]kind{
		"MutatingWebhookConfiguration": {admission,
			into(func(i inv) *[]*admissionv1.MutatingWebhookConfiguration { return &i.MutatingWebhooks })},
		"ValidatingWebhookConfiguration": {admission,
			into(func(i inv) *[]*admissionv1.ValidatingWebhookConfiguration { return &i.ValidatingWebhooks })},
		"ValidatingAdmissionPolicy": {admission,
			into(func(i inv) *[]*admissionv1.ValidatingAdmissionPolicy { return &i.AdmissionPolicies })},
		"ValidatingAdmissionPolicyBinding": {admission,
			into(func(i inv) *[]*admissionv1.ValidatingAdmissionPolicyBinding { return &i.PolicyBindings })},

		"Namespace":     {"v1", into(func(i inv) *[]*corev1.Namespace { return &i.Namespaces })},
		"Node":          {"v1", into(func(i inv) *[]*corev1.Node { return &i.Nodes })},
		"Pod":           {"v1", into(func(i inv) *[]*corev1.Pod { return &i.Pods })},
		"Service":       {"v1", into(func(i inv) *[]*corev1.Service { return &i.Services })},
		"ConfigMap":     {"v1", into(func(i inv) *[]*corev1.ConfigMap { return &i.ConfigMaps })},
		"Secret":        {"v1", into(func(i inv) *[]*corev1.Secret { return &i.Secrets })},
		"ResourceQuota": {"v1", into(func(i inv) *[]*corev1.ResourceQuota { return &i.ResourceQuotas })},
		"EndpointSlice": {"discovery.k8s.io/v1",
			into(func(i inv) *[]*discoveryv1.EndpointSlice { return &i.EndpointSlices })},

		"Deployment": {"apps/v1", into(func(i inv) *[]*appsv1.Deployment { return &i.Deployments })},
		"HorizontalPodAutoscaler": {"autoscaling/v2",
			into(func(i inv) *[]*autoscalingv2.HorizontalPodAutoscaler { return &i.Autoscalers })},
		"PodDisruptionBudget": {"policy/v1",
			into(func(i inv) *[]*policyv1.PodDisruptionBudget { return &i.DisruptionBudgets })},
		"NetworkPolicy": {networking,
			into(func(i inv) *[]*networkingv1.NetworkPolicy { return &i.NetworkPolicies })},
		"Ingress": {networking, into(func(i inv) *[]*networkingv1.Ingress { return &i.Ingresses })},

		"Role":               {rbac, into(func(i inv) *[]*rbacv1.Role { return &i.Roles })},
		"RoleBinding":        {rbac, into(func(i inv) *[]*rbacv1.RoleBinding { return &i.RoleBindings })},
		"ClusterRole":        {rbac, into(func(i inv) *[]*rbacv1.ClusterRole { return &i.ClusterRoles })},
		"ClusterRoleBinding": {rbac, into(func(i inv) *[]*rbacv1.ClusterRoleBinding { return &i.ClusterRoleBindings })},

		"Certificate":   {certManager, into(func(i inv) *[]*certmanagerv1.Certificate { return &i.Certificates })},
		"Issuer":        {certManager, into(func(i inv) *[]*certmanagerv1.Issuer { return &i.Issuers })},
		"ClusterIssuer": {certManager, into(func(i inv) *[]*certmanagerv1.ClusterIssuer { return &i.ClusterIssuers })},

		"Prometheus":      loosely(func(i inv) *[]*unstructured.Unstructured { return &i.Prometheuses }),
		"PrometheusAgent": loosely(func(i inv) *[]*unstructured.Unstructured { return &i.PrometheusAgents }),
		"PodMonitor":      loosely(func(i inv) *[]*unstructured.Unstructured { return &i.PodMonitors }),
		"ServiceMonitor":  loosely(func(i inv) *[]*unstructured.Unstructured { return &i.ServiceMonitors }),
	}
}

// into decodes a manifest as a T, which has to be an object, and appends it to its place in the Inventory.
func into[T any, P interface {
	*T
	object
}](place func(*Inventory) *[]P) func(*Inventory, Manifest) error {
	return func(inv *Inventory, m Manifest) error {
		o := P(new(T))
		if err := m.decode(o); err != nil {
			return err
		}
		list := place(inv)
		*list = append(*list, o)
		inv.sources[o] = m.Source
		return nil
	}
}

// loosely reads manifests of the Prometheus operator without its types, whatever their version: of hundreds of fields a few
// selectors matter here, and no field is known to be wrong.
func loosely(place func(*Inventory) *[]*unstructured.Unstructured) kind {
	decode := func(inv *Inventory, m Manifest) error {
		o := &unstructured.Unstructured{}
		if err := kjson.UnmarshalCaseSensitivePreserveInts(m.JSON, &o.Object); err != nil {
			return fmt.Errorf("%s: %s: %w", m.Source, m.Kind, err)
		}
		o.SetGroupVersionKind(schema.FromAPIVersionAndKind(m.APIVersion, m.Kind))
		list := place(inv)
		*list = append(*list, o)
		inv.sources[o] = m.Source
		return nil
	}
	return kind{"monitoring.coreos.com/", decode}
}

// Len returns how many objects there are.
func (inv *Inventory) Len() int { return len(inv.sources) }

// ref names an object of the Inventory.
func (inv *Inventory) ref(o object) ref {
	return ref{
		kind: o.GetObjectKind().GroupVersionKind().Kind, namespace: o.GetNamespace(), name: o.GetName(),
		source:  inv.sources[o],
		accepts: strings.Split(strings.ReplaceAll(o.GetAnnotations()[acceptAnnotation], " ", ""), ","),
	}
}

// find returns the object of a list that has a namespace and a name, or nil.
func find[P object](list []P, namespace, name string) P {
	i := slices.IndexFunc(list, func(o P) bool { return o.GetNamespace() == namespace && o.GetName() == name })
	if i < 0 {
		var none P
		return none
	}
	return list[i]
}

// live says whether an object was read from a cluster, rather than from a manifest: only the API server gives a UID.
func live(o metav1.Object) bool { return o.GetUID() != "" }
