package reviewtest

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TemplateKind is a custom resource with templates. The templates block of a policy lists their paths. It is the kind
// worst.example/v1 worsts in review/reviewtest/costliest/policy.yaml.
type TemplateKind struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              TemplateKindSpec `json:"spec"`
}

// TemplateKindSpec has a PodTemplateSpec in a field, a PodSpec in the elements of a list, and a PodTemplateSpec two
// levels deep in maps.
type TemplateKindSpec struct {
	Template corev1.PodTemplateSpec                 `json:"template"`
	Jobs     []TemplateKindJob                      `json:"jobs"`
	Roles    map[string]map[string]TemplateKindRole `json:"roles,omitempty"`
}

// TemplateKindJob is an element of spec.jobs.
type TemplateKindJob struct {
	Template TemplateKindPod `json:"template"`
}

// TemplateKindPod has a PodSpec.
type TemplateKindPod struct {
	Spec corev1.PodSpec `json:"spec"`
}

// TemplateKindRole is an entry of spec.roles.
type TemplateKindRole struct {
	Template corev1.PodTemplateSpec `json:"template"`
}

// Templates returns a TemplateKind with a container in each of its templates.
func Templates() *TemplateKind {
	pod := corev1.PodSpec{Containers: []corev1.Container{{Name: "app", Image: "quay.io/app/app:1"}}}
	k := &TemplateKind{
		TypeMeta:   metav1.TypeMeta{Kind: "Worst", APIVersion: "worst.example/v1"},
		ObjectMeta: metav1.ObjectMeta{Name: "shop", Namespace: "team-shop"},
		Spec: TemplateKindSpec{
			Template: corev1.PodTemplateSpec{Spec: pod},
			Jobs:     []TemplateKindJob{{TemplateKindPod{pod}}},
			Roles:    map[string]map[string]TemplateKindRole{"a": {"b": {corev1.PodTemplateSpec{Spec: pod}}}},
		},
	}
	manage(k, "worst.example/v1")
	return k
}

// DNSEndpoint is an external-dns DNSEndpoint, with only the fields that affect decisions. The module of external-dns
// needs a newer version of Go.
type DNSEndpoint struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              DNSEndpointSpec `json:"spec"`
}

// DNSEndpointSpec is the spec of a DNSEndpoint.
type DNSEndpointSpec struct {
	Endpoints []DNSRecord `json:"endpoints,omitempty"`
}

// DNSRecord is an element of spec.endpoints.
type DNSRecord struct {
	DNSName       string            `json:"dnsName,omitempty"`
	RecordType    string            `json:"recordType,omitempty"`
	Targets       []string          `json:"targets,omitempty"`
	RecordTTL     int64             `json:"recordTTL,omitempty"`
	SetIdentifier string            `json:"setIdentifier,omitempty"`
	Labels        map[string]string `json:"labels,omitempty"`

	ProviderSpecific []DNSProperty `json:"providerSpecific,omitempty"`
}

// DNSProperty is an element of providerSpecific.
type DNSProperty struct {
	Name  string `json:"name,omitempty"`
	Value string `json:"value,omitempty"`
}

// DNSRecords returns a DNSEndpoint with the given number of records.
func DNSRecords(records int) *DNSEndpoint {
	e := &DNSEndpoint{
		TypeMeta:   metav1.TypeMeta{Kind: "DNSEndpoint", APIVersion: "externaldns.k8s.io/v1alpha1"},
		ObjectMeta: meta("shop", "team-shop"),
	}
	for i := range records {
		e.Spec.Endpoints = append(e.Spec.Endpoints, DNSRecord{
			DNSName: fmt.Sprintf("shop-%03d.apps.corp.example", i), RecordType: "A", RecordTTL: 300,
			Targets: []string{"192.0.2.1", "192.0.2.2"},
		})
	}
	manage(e, "externaldns.k8s.io/v1alpha1")
	return e
}

// OpenShiftRoute is a Route of route.openshift.io/v1, with only the fields that affect decisions. OpenShift's module
// does not have a release with spec.subdomain.
type OpenShiftRoute struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              OpenShiftRouteSpec `json:"spec"`
}

// OpenShiftRouteSpec is the spec of a Route.
type OpenShiftRouteSpec struct {
	Host              string             `json:"host,omitempty"`
	Subdomain         string             `json:"subdomain,omitempty"`
	Path              string             `json:"path,omitempty"`
	To                OpenShiftBackend   `json:"to"`
	AlternateBackends []OpenShiftBackend `json:"alternateBackends,omitempty"`
	WildcardPolicy    string             `json:"wildcardPolicy,omitempty"`
}

// OpenShiftBackend is a backend of a Route.
type OpenShiftBackend struct {
	Kind   string `json:"kind"`
	Name   string `json:"name"`
	Weight int32  `json:"weight"`
}

// Route returns an OpenShift Route.
func Route() *OpenShiftRoute {
	r := &OpenShiftRoute{
		TypeMeta:   metav1.TypeMeta{Kind: "Route", APIVersion: "route.openshift.io/v1"},
		ObjectMeta: meta("shop", "team-shop"),
		Spec: OpenShiftRouteSpec{
			Host: "shop.apps.corp.example", Path: "/api", To: OpenShiftBackend{"Service", "shop", 100},
			AlternateBackends: []OpenShiftBackend{{"Service", "shop-next", 10}}, WildcardPolicy: "None",
		},
	}
	r.Annotations = map[string]string{"haproxy.router.openshift.io/timeout": "5s"}
	manage(r, "route.openshift.io/v1")
	return r
}
