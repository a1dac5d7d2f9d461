package kit

import (
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// rendered returns the objects of a type in an overlay, by name.
func rendered[T interface{ GetName() string }](t *testing.T, k *Kit, dir string) map[string]T {
	t.Helper()
	objects, decoder := map[string]T{}, strict(t)
	for _, doc := range documents(t, k.render(t, dir)) {
		object, _, err := decoder.Decode(doc, nil, nil)
		must(t, err)
		if o, ok := object.(T); ok {
			objects[o.GetName()] = o
		}
	}
	return objects
}

// TestNetworkPolicy checks that in every overlay with a server all clients reach the port for reviews, and one namespace reaches the
// ops port. Evergate itself reaches nothing, unless traces are configured.
func TestNetworkPolicy(t *testing.T) {
	monitoring := map[string]string{"platform": "observability"} // otherwise as in base
	eachServingOverlay(t, func(t *testing.T, k *Kit, dir string) {
		policies := rendered[*networkingv1.NetworkPolicy](t, k, dir)
		p, ok := policies["evergate"]
		if !ok {
			t.Fatal("there is no NetworkPolicy")
		}
		tcp, https, ops := corev1.ProtocolTCP, intstr.FromString("https"), intstr.FromString("ops")
		namespace := monitoring[t.Name()[len("TestNetworkPolicy/"):]]
		if namespace == "" {
			namespace = "monitoring"
		}
		want := networkingv1.NetworkPolicySpec{
			PodSelector: *rendered[*appsv1.Deployment](t, k, dir)["evergate"].Spec.Selector,
			PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress},
			Ingress: []networkingv1.NetworkPolicyIngressRule{
				{Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &https}}},
				{
					From:  []networkingv1.NetworkPolicyPeer{{NamespaceSelector: named(namespace)}},
					Ports: []networkingv1.NetworkPolicyPort{{Protocol: &tcp, Port: &ops}},
				},
			},
		}
		equal(t, want, p.Spec)
	})
}

// TestCollector checks that traces are configured in the same way for a separate collector and for the Jaeger in the
// manifests, except for the destination.
func TestCollector(t *testing.T) {
	env := func(component string) []corev1.EnvVar {
		k := read(t)
		d := rendered[*appsv1.Deployment](t, k, k.add(t, `
resources: [../../kustomize/overlays/fail-open]
components: [../../kustomize/components/`+component+`]
transformers: [../../kustomize/wiring]`))["evergate"]
		return withoutVariable(d.Spec.Template.Spec.Containers[0].Env, "OTEL_EXPORTER_OTLP_ENDPOINT")
	}
	equal(t, env("jaeger"), env("collector"))
}

// TestEgress checks that, if traces are configured, Evergate reaches only their collector and DNS.
func TestEgress(t *testing.T) {
	udp, tcp := corev1.ProtocolUDP, corev1.ProtocolTCP
	port := func(protocol *corev1.Protocol, port intstr.IntOrString) networkingv1.NetworkPolicyPort {
		return networkingv1.NetworkPolicyPort{Protocol: protocol, Port: &port}
	}
	for component, test := range map[string]struct {
		policy string
		to     networkingv1.NetworkPolicyPeer
		ports  []networkingv1.NetworkPolicyPort
	}{
		"collector": {
			"evergate-collector", networkingv1.NetworkPolicyPeer{NamespaceSelector: named("observability")},
			[]networkingv1.NetworkPolicyPort{port(&tcp, intstr.FromInt32(4317))},
		},
		"jaeger": {
			"evergate-traces",
			networkingv1.NetworkPolicyPeer{PodSelector: &metav1.LabelSelector{
				MatchLabels: map[string]string{"app.kubernetes.io/instance": "evergate-jaeger"},
			}},
			[]networkingv1.NetworkPolicyPort{port(&tcp, intstr.FromString("otlp-grpc")),
				port(&tcp, intstr.FromString("otlp-http"))},
		},
	} {
		t.Run(component, func(t *testing.T) {
			k := read(t)
			dir := k.add(t, `
resources: [../../kustomize/overlays/fail-open]
components: [../../kustomize/components/`+component+`]
transformers: [../../kustomize/wiring]`)
			p, ok := rendered[*networkingv1.NetworkPolicy](t, k, dir)[test.policy]
			if !ok {
				t.Fatalf("there is no NetworkPolicy %s", test.policy)
			}
			dns := intstr.FromInt32(53)
			want := networkingv1.NetworkPolicySpec{
				PodSelector: *rendered[*appsv1.Deployment](t, k, dir)["evergate"].Spec.Selector,
				PolicyTypes: []networkingv1.PolicyType{networkingv1.PolicyTypeEgress},
				Egress: []networkingv1.NetworkPolicyEgressRule{
					{To: []networkingv1.NetworkPolicyPeer{test.to}, Ports: test.ports},
					{Ports: []networkingv1.NetworkPolicyPort{port(&udp, dns), port(&tcp, dns)}},
				},
			}
			equal(t, want, p.Spec)
		})
	}
}

// TestJaegerIsClosed checks that spans are accepted from everywhere, and that nobody can reach the web pages.
func TestJaegerIsClosed(t *testing.T) {
	k := read(t)
	p := rendered[*networkingv1.NetworkPolicy](t, k, "examples/overlays/observed")["evergate-jaeger"]
	tcp, grpc, http := corev1.ProtocolTCP, intstr.FromString("otlp-grpc"), intstr.FromString("otlp-http")
	want := []networkingv1.NetworkPolicyIngressRule{{Ports: []networkingv1.NetworkPolicyPort{
		{Protocol: &tcp, Port: &grpc}, {Protocol: &tcp, Port: &http},
	}}}
	equal(t, want, p.Spec.Ingress)
}

func named(namespace string) *metav1.LabelSelector {
	return &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}}
}
