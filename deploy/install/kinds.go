package install

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
	kjson "sigs.k8s.io/json"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/export"
)

// Place is the part of a cluster from which the objects of a kind are read.
type Place int

// The places.
const (
	Cluster   Place = iota // all namespaces, or objects without a namespace
	Namespace              // Evergate's namespace
	Called                 // each namespace whose Services webhooks call
	Named                  // single objects in Evergate's namespace: the Secrets of its Certificates
)

// Kind is a kind of objects that is read. Kinds contains all of them.
type Kind struct {
	Name       string
	APIVersion string // that is read
	Resource   string
	From       Place

	// Optional is true if not every cluster serves the kind.
	Optional bool
	// Needed is true if preflight would take objects that cannot be listed for absent.
	Needed bool

	add func(*Objects, offline.Object) error
}

// Kinds returns the table of kinds. The plugin, collect.sh and the component preflight read the kinds in this table,
// and tests compare them with it.
func Kinds() []Kind {
	const (
		admission, cm = "admissionregistration.k8s.io/v1", "cert-manager.io/v1"
		net, rbac     = "networking.k8s.io/v1", "rbac.authorization.k8s.io/v1"
	)
	needed := func(k Kind) Kind { k.Needed = true; return k }
	optional := func(k Kind) Kind { k.Optional = true; return k }
	return []Kind{
		needed(kind[admissionv1.MutatingWebhookConfiguration](admission, "mutatingwebhookconfigurations", Cluster)),
		needed(kind[admissionv1.ValidatingWebhookConfiguration](admission, "validatingwebhookconfigurations", Cluster)),
		kind[admissionv1.ValidatingAdmissionPolicy](admission, "validatingadmissionpolicies", Cluster),
		kind[admissionv1.ValidatingAdmissionPolicyBinding](admission, "validatingadmissionpolicybindings", Cluster),
		optional(kind[admissionv1.MutatingAdmissionPolicy](admission, "mutatingadmissionpolicies", Cluster)),
		optional(kind[admissionv1.MutatingAdmissionPolicyBinding](admission, "mutatingadmissionpolicybindings", Cluster)),
		kind[corev1.Namespace]("v1", "namespaces", Cluster),
		kind[corev1.Node]("v1", "nodes", Cluster),
		kind[corev1.Service]("v1", "services", Cluster),
		kind[rbacv1.ClusterRoleBinding](rbac, "clusterrolebindings", Cluster),
		optional(kind[certmanagerv1.ClusterIssuer](cm, "clusterissuers", Cluster)),
		kind[networkingv1.Ingress](net, "ingresses", Cluster),
		needed(kind[corev1.ConfigMap]("v1", "configmaps", Namespace)),
		kind[corev1.ResourceQuota]("v1", "resourcequotas", Namespace),
		kind[policyv1.PodDisruptionBudget]("policy/v1", "poddisruptionbudgets", Namespace),
		kind[autoscalingv2.HorizontalPodAutoscaler]("autoscaling/v2", "horizontalpodautoscalers", Namespace),
		kind[networkingv1.NetworkPolicy](net, "networkpolicies", Namespace),
		kind[discoveryv1.EndpointSlice]("discovery.k8s.io/v1", "endpointslices", Namespace),
		kind[rbacv1.RoleBinding](rbac, "rolebindings", Namespace),
		optional(kind[certmanagerv1.Certificate](cm, "certificates", Namespace)),
		optional(kind[certmanagerv1.Issuer](cm, "issuers", Namespace)),
		needed(kind[appsv1.Deployment]("apps/v1", "deployments", Called)),
		kind[corev1.Secret]("v1", "secrets", Named),
	}
}

// kind returns the row of a kind whose name is the name of its Go type.
func kind[T any, P object[T]](apiVersion, resource string, from Place) Kind {
	_, name, _ := strings.Cut(fmt.Sprintf("%T", *new(T)), ".")
	add := func(o *Objects, m offline.Object) error {
		is := P(new(T))
		if err := decode(m, is); err != nil {
			return err
		}
		Add(o, is, m.Origin.String())
		return nil
	}
	return Kind{Name: name, APIVersion: apiVersion, Resource: resource, From: from, add: add}
}

// add reads an object and ignores kinds that are not in the table. kustomize's kinds are an error, because the files
// next to them are patches and bases that are not applied unchanged.
func (o *Objects) add(m offline.Object) error {
	if sameGroup(m.APIVersion, "kustomize.config.k8s.io/v1beta1") {
		return m.Errorf("preflight does not render a %s: run kubectl kustomize DIRECTORY | evergate preflight -f -",
			text.Printable(m.Kind, text.Short))
	}
	if m.Kind == "Status" && m.APIVersion == "v1" {
		return o.addStatus(m)
	}
	kinds := Kinds()
	i := slices.IndexFunc(kinds, func(k Kind) bool {
		return k.Name == m.Kind && sameGroup(k.APIVersion, m.APIVersion)
	})
	switch {
	case i < 0:
		return nil
	case m.APIVersion != kinds[i].APIVersion:
		return m.Errorf("%s in %s is not supported: use apiVersion: %s", m.Kind, text.Printable(m.APIVersion, text.Short),
			kinds[i].APIVersion)
	}
	return kinds[i].add(o, m)
}

// addStatus reads an answer of the API server. The answer to the probe of its files contains the hash of their
// policy, which no object contains. The details of an answer to a list contain the resource that could not be listed.
func (o *Objects) addStatus(m offline.Object) error {
	var status metav1.Status
	if err := kjson.UnmarshalCaseSensitivePreserveInts(m.JSON, &status); err != nil {
		return m.Errorf("%s: %w", m.Kind, err)
	}
	if hash, ok := export.ProbedPolicy(status.Message); ok {
		o.FilesPolicy = hash
	} else if status.Details != nil {
		o.unread = append(o.unread, status.Details.Kind)
	}
	return nil
}
