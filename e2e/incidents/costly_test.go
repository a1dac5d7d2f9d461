package incidents

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/cluster"
)

// noisy is the namespace of a tenant who may only create objects in it. It has opted in.
const noisy = "noisy"

// forbidden is an address that no Service may use.
const forbidden = "8.8.8.8"

// strictPolicy returns the policy of all incidents and ten rules of each kind, because they multiply the cost of an
// object. Each rule denies all of the costly objects.
func strictPolicy() string {
	kinds := map[string]string{
		"pods":      `match: {namespaces: [` + noisy + `]}, images: {from: mirrors}`,
		"ingresses": `hosts: {allowed: ["*.apps.example"]}, paths: {denied: [/admin]}`,
		"services":  `externalIPs: {allowed: [10.0.0.0/8]}, loadBalancerSourceRanges: {allowed: [10.0.0.0/8]}`,
	}
	text := policy
	for kind, fields := range kinds {
		var rules strings.Builder
		for i := range 10 {
			fmt.Fprintf(&rules, "- {name: %s-%d, mode: enforce, %s}\n", kind, i, fields)
		}
		text = strings.Replace(text, kind+":\n", kind+":\n"+rules.String(), 1)
	}
	return text
}

// beStrict activates this policy in every replica. The next test restores the previous policy.
func (l *lab) beStrict(t *testing.T) {
	t.Helper()
	l.enforcePolicy(t, strictPolicy())
}

// costly is a forbidden object with the maximum size for the API server that was designed to be expensive to review.
type costly struct {
	name string
	path string // without the namespace
	body []byte
}

const (
	podsPath      = "/api/v1/namespaces/%s/pods"
	servicesPath  = "/api/v1/namespaces/%s/services"
	ingressesPath = "/apis/networking.k8s.io/v1/namespaces/%s/ingresses"
)

// costlyObjects returns the objects that were attacks before their cost was limited, and the objects that cost most
// within the limits: many elements that pass every rule, followed by one that does not.
func costlyObjects() []costly {
	const size = 14 << 20 / 10 // the size of the small elements, about the limit of etcd
	return []costly{
		{"260,000 commas", servicesPath, typed("v1", "Service", commas())},
		{"external addresses of 1.4 MiB", servicesPath, addresses(repeat(forbidden, size/len(`"8.8.8.8",`)))},
		{"an image of 2.9 MB of 0x7f", podsPath, typed("v1", "Pod", pod("", strings.Repeat("\x7f", 2_900_000)))},
		{"paths of 1.4 MiB", ingressesPath, typed("networking.k8s.io/v1", "Ingress", manyPaths(size))},
		{"9,000 addresses that pass", servicesPath, addresses(append(numbered("10.0.%d.%d", 9000), forbidden))},
		{"9,000 hosts that pass", ingressesPath, typed("networking.k8s.io/v1", "Ingress", manyHosts(9000))},
	}
}

func addresses(all []string) []byte {
	return typed("v1", "Service", &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "x-"},
		Spec:       corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}, ExternalIPs: all},
	})
}

// numbered returns n different texts, from a format with two numbers below 256.
func numbered(format string, n int) []string {
	all := make([]string, n)
	for i := range all {
		all[i] = fmt.Sprintf(format, i>>8, i&255)
	}
	return all
}

// manyHosts returns an Ingress with n allowed hosts and one forbidden host.
func manyHosts(n int) *networkingv1.Ingress {
	in := ingress("", "")
	in.Spec.Rules = nil
	for _, host := range append(numbered("a%d-%d.apps.example", n), "a.evil.example") {
		in.Spec.Rules = append(in.Spec.Rules, networkingv1.IngressRule{Host: host})
	}
	return in
}

// commas returns a Service with empty address ranges in an annotation that the API server does not read, because the
// field is set.
func commas() *corev1.Service {
	none := false
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "x-", Annotations: map[string]string{
			// All annotations of an object together may have 262,144 bytes.
			corev1.AnnotationLoadBalancerSourceRangesKey: strings.Repeat(",", 260_000),
		}},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeLoadBalancer, AllocateLoadBalancerNodePorts: &none,
			LoadBalancerSourceRanges: []string{"10.0.0.0/8"}, ExternalIPs: []string{forbidden},
			Ports: []corev1.ServicePort{{Port: 80}},
		},
	}
}

func manyPaths(size int) *networkingv1.Ingress {
	kind := networkingv1.PathTypeImplementationSpecific
	path := networkingv1.HTTPIngressPath{Path: "/", PathType: &kind, Backend: networkingv1.IngressBackend{
		Service: &networkingv1.IngressServiceBackend{Name: "a", Port: networkingv1.ServiceBackendPort{Number: 1}},
	}}
	one, err := json.Marshal(path)
	if err != nil {
		panic(err) // these types can always be marshaled
	}
	in := ingress("", "a.evil.example")
	in.Spec.Rules[0].HTTP = &networkingv1.HTTPIngressRuleValue{Paths: repeat(path, size/(len(one)+1))}
	return in
}

func repeat[T any](value T, n int) []T {
	all := make([]T, n)
	for i := range all {
		all[i] = value
	}
	return all
}

// small returns a forbidden Service that is cheap to review.
func small() costly { return costly{"a small one", servicesPath, addresses([]string{forbidden})} }

// boundless is the last revision without limits on the cost of a review and on the memory for it. An overlay of files
// in the current revision cannot remove these limits, because they are in the code that reads lists, truncates texts
// and evaluates rules.
const boundless = "373998b"

// unbounded loads a build of that revision, and returns a product with this build and its manifests.
func (l *lab) unbounded(t *testing.T, p cluster.Product) cluster.Product {
	t.Helper()
	p.Source, p.Tag = l.revision(t, boundless), boundless
	l.load(t, boundless, p.Source, nil)
	return p
}

// bare loads a server that allows everything, and returns its tag.
func (l *lab) bare(t *testing.T) string {
	t.Helper()
	const tag = "bare"
	binary := filepath.Join(t.TempDir(), "bare")
	l.build(t, "./cmd/bare", binary)
	l.LoadBinary(t, cluster.Repository+":"+tag, binary)
	return tag
}
