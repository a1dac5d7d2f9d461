package kit

import (
	"context"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/client-go/kubernetes"
)

// podRequests returns requests about one Pod, p in the namespace team, throughout its life. Their order matters.
func podRequests() []request {
	all := []string{mutate, again, pods}
	withInit, withVolume, annotated := pod("", mirrored), pod("", mirrored), pod("", mirrored)
	withInit.Spec.InitContainers = []corev1.Container{{Name: "i", Image: foreign}}
	withVolume.Spec.Volumes = []corev1.Volume{
		{Name: "e", VolumeSource: corev1.VolumeSource{EmptyDir: &corev1.EmptyDirVolumeSource{}}},
		{Name: "v", VolumeSource: corev1.VolumeSource{Image: &corev1.ImageVolumeSource{Reference: foreign}}},
	}
	annotated.Labels = map[string]string{"a": "b"}
	annotated.Annotations = map[string]string{"evergate.dev/original-images": "forged"}
	lookalike, mirrorPod := pod("", "mirror.corp.example.evil/nginx:1"), pod("", foreign)
	mirrorPod.Annotations = map[string]string{"kubernetes.io/config.mirror": "x"}
	first := pod("p", foreign)
	first.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("1m")}
	one := func(p *corev1.Pod) write { return createPod("team", p, metav1.CreateOptions{}) }
	return []request{
		{"a Pod", createPod("team", first, metav1.CreateOptions{}), all},
		{"a Pod from a mirror", one(pod("", mirrored)), []string{mutate, pods}},
		{"a Pod from what begins like a mirror", one(lookalike), all},
		{"an init container that is not from a mirror", one(withInit), all},
		{"an image volume that is not from a mirror", one(withVolume), all},
		{"annotations that claim it was rewritten", one(annotated), []string{mutate, pods}},
		{"a dry run", createPod("team", pod("", foreign), dryRun), all},
		{"the annotation of a mirror Pod", func(ctx context.Context, api kubernetes.Interface) error {
			p := mirrorPod.DeepCopy()
			p.Spec.NodeName = "n"
			_, err := api.CoreV1().Pods("team").Create(ctx, p, metav1.CreateOptions{})
			return err
		}, all},
		{"a label of a Pod", changePod("", func(p *corev1.Pod) { p.Labels = map[string]string{"a": "b"} }), nil},
		{"an annotation of a Pod", changePod("", func(p *corev1.Pod) { p.Annotations = map[string]string{"a": "b"} }), nil},
		{"a finalizer of a Pod", changePod("", func(p *corev1.Pod) { p.Finalizers = []string{"a.example/b"} }), nil},
		{"the finalizer goes", changePod("", func(p *corev1.Pod) { p.Finalizers = nil }), nil},
		{"an owner of a Pod", changePod("", func(p *corev1.Pod) {
			p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "n", UID: "u"}}
		}), nil},
		{"a toleration of a Pod", changePod("", func(p *corev1.Pod) {
			p.Spec.Tolerations = append(p.Spec.Tolerations, corev1.Toleration{Key: "k", Operator: corev1.TolerationOpExists})
		}), nil},
		{"the image of a Pod", changePod("", func(p *corev1.Pod) { p.Spec.Containers[0].Image = "quay.io/x/y:1" }), all},
		{"an image of a mirror", changePod("", func(p *corev1.Pod) { p.Spec.Containers[0].Image = mirrored }),
			[]string{mutate, pods}},
		{"the status of a Pod", changePod("status", func(p *corev1.Pod) { p.Status.Phase = corev1.PodRunning }), nil},
		{"the size of a Pod", changePod("resize", func(p *corev1.Pod) {
			p.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2m")}
		}), nil},
		{"the binding of a Pod", func(ctx context.Context, api kubernetes.Interface) error {
			b := &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "p"},
				Target: corev1.ObjectReference{Kind: "Node", Name: "n"}}
			return api.CoreV1().Pods("team").Bind(ctx, b, metav1.CreateOptions{})
		}, nil},
		{"an ephemeral container", changePod("ephemeralcontainers", func(p *corev1.Pod) {
			p.Spec.EphemeralContainers = []corev1.EphemeralContainer{
				{EphemeralContainerCommon: corev1.EphemeralContainerCommon{Name: "e", Image: foreign}},
			}
		}), all},
		{"an eviction", func(ctx context.Context, api kubernetes.Interface) error {
			e := &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "team"}}
			return api.PolicyV1().Evictions("team").Evict(ctx, e)
		}, nil},
	}
}

// namespaceRequests returns requests about the same Pod in namespaces that Evergate does not cover, whatever their
// labels are.
func namespaceRequests() []request {
	var requests []request
	for _, ns := range []string{"plain", "out", "default", "kube-system", "kube-public", "kube-node-lease", "cert-manager",
		"evergate-system"} {
		requests = append(requests, request{"a Pod in " + ns, createPod(ns, pod("", foreign), metav1.CreateOptions{}), nil},
			request{"an Ingress in " + ns, createIngress(ns, metav1.CreateOptions{}), nil},
			request{"a Service in " + ns, createService(ns, metav1.CreateOptions{}), nil},
			request{"a load balancer in " + ns, createLoadBalancer(ns, "lb"), nil},
			request{"its address in " + ns, patchStatus(ns, "lb", oneAddress, metav1.PatchOptions{}), nil})
		for _, w := range workloadKinds() {
			requests = append(requests, request{"a " + w.kind + " in " + ns, w.create(ns, "w", ""), nil})
		}
	}
	return requests
}

func ingressRequests() []request {
	yes, no := []string{ingress}, []string(nil)
	return []request{
		{"an Ingress", createIngress("team", metav1.CreateOptions{}), yes},
		{"a finalizer of an Ingress", changeIngress(false,
			func(i *networkingv1.Ingress) { i.Finalizers = []string{"a.example/b"} }), no},
		{"the finalizer goes", changeIngress(false, func(i *networkingv1.Ingress) { i.Finalizers = nil }), no},
		{"an annotation of an Ingress", changeIngress(false,
			func(i *networkingv1.Ingress) { i.Annotations = map[string]string{"a": "b"} }), yes},
		{"the annotation goes", changeIngress(false, func(i *networkingv1.Ingress) { i.Annotations = nil }), yes},
		{"a label of an Ingress", changeIngress(false, func(i *networkingv1.Ingress) {
			i.Labels = map[string]string{"a": "b"}
		}), yes},
		{"a host", changeIngress(false, func(i *networkingv1.Ingress) { i.Spec.Rules[0].Host = "b.example" }), yes},
		{"an address in the status", changeIngress(true, func(i *networkingv1.Ingress) {
			i.Status.LoadBalancer.Ingress = []networkingv1.IngressLoadBalancerIngress{{IP: "192.0.2.1"}}
		}), no},
		{"an annotation through the status", changeIngress(true,
			func(i *networkingv1.Ingress) { i.Annotations = map[string]string{"c": "d"} }), yes},
		{"the deletion of an Ingress", func(ctx context.Context, api kubernetes.Interface) error {
			return api.NetworkingV1().Ingresses("team").Delete(ctx, "i", metav1.DeleteOptions{})
		}, no},
	}
}

func serviceRequests() []request {
	yes, no := []string{services}, []string(nil)
	return []request{
		{"a Service", createService("team", metav1.CreateOptions{}), yes},
		{"a finalizer of a Service", changeService(false, func(s *corev1.Service) { s.Finalizers = []string{"a.example/b"} }),
			no},
		{"the finalizer goes", changeService(false, func(s *corev1.Service) { s.Finalizers = nil }), no},
		{"an annotation of a Service", changeService(false,
			func(s *corev1.Service) { s.Annotations = map[string]string{"a": "b"} }), yes},
		{"a port", changeService(false, func(s *corev1.Service) { s.Spec.Ports[0].TargetPort = intstr.FromInt32(8080) }),
			yes},
		{"the type", changeService(false, func(s *corev1.Service) { s.Spec.Type = corev1.ServiceTypeLoadBalancer }), yes},
		{"an annotation through the status", changeService(true,
			func(s *corev1.Service) { s.Annotations = map[string]string{"c": "d"} }), yes},
		{"the deletion of a Service", func(ctx context.Context, api kubernetes.Interface) error {
			return api.CoreV1().Services("team").Delete(ctx, "s", metav1.DeleteOptions{})
		}, no},
	}
}

// otherRequests returns the usual writes of the control plane and other clients in a namespace that has opted in, and
// writes of the policy.
func otherRequests() []request {
	create := metav1.CreateOptions{}
	return []request{
		{"a ConfigMap", createConfigMap("team", "c", create), nil},
		{"a ConfigMap of the policy's name elsewhere", createConfigMap("team", "evergate-policy", create), nil},
		{"another ConfigMap next to the policy", createConfigMap("evergate-system", "c", create), nil},
		{"the policy", createConfigMap("evergate-system", "evergate-policy", create), []string{policy}},
		{"a label of the policy", changePolicy(func(cm *corev1.ConfigMap) { cm.Labels = map[string]string{"a": "b"} }), nil},
		{"a key of the policy", changePolicy(func(cm *corev1.ConfigMap) { cm.Data = map[string]string{"a.yaml": ""} }),
			[]string{policy}},
		{"a binary key", changePolicy(func(cm *corev1.ConfigMap) { cm.BinaryData = map[string][]byte{"b.yaml": {}} }),
			[]string{policy}},
		{"the deletion of the policy", func(ctx context.Context, api kubernetes.Interface) error {
			return api.CoreV1().ConfigMaps("evergate-system").Delete(ctx, "evergate-policy", metav1.DeleteOptions{})
		}, []string{policy}},
		{"the policy under a name with kustomize's hash",
			createConfigMap("evergate-system", "evergate-policy-9t8g2kf5bh", create), []string{policy}},
		{"a ConfigMap whose name only begins so",
			createConfigMap("evergate-system", "evergate-policy-of-others", create), nil},
		{"the deletion of all ConfigMaps, as with a namespace", func(ctx context.Context, api kubernetes.Interface) error {
			return api.CoreV1().ConfigMaps("evergate-system").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
		}, []string{policy}},
		{"a Secret", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Secrets("team").Create(ctx, &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "s"}}, create)
			return err
		}, nil},
		{"a Lease", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoordinationV1().Leases("team").Create(ctx,
				&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "l"}}, create)
			return err
		}, nil},
		{"an EndpointSlice", func(ctx context.Context, api kubernetes.Interface) error {
			slice := &discoveryv1.EndpointSlice{ObjectMeta: metav1.ObjectMeta{Name: "e"},
				AddressType: discoveryv1.AddressTypeIPv4}
			_, err := api.DiscoveryV1().EndpointSlices("team").Create(ctx, slice, create)
			return err
		}, nil},
		{"an Event", func(ctx context.Context, api kubernetes.Interface) error {
			event := &corev1.Event{
				ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Namespace: "team"},
			}
			_, err := api.CoreV1().Events("team").Create(ctx, event, create)
			return err
		}, nil},
		{"a Node", func(ctx context.Context, api kubernetes.Interface) error {
			_, err := api.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "another"}}, create)
			return err
		}, nil},
		{"a webhook configuration", func(ctx context.Context, api kubernetes.Interface) error {
			client := api.AdmissionregistrationV1().ValidatingWebhookConfigurations()
			w, err := client.Get(ctx, "evergate", metav1.GetOptions{})
			if err != nil {
				return err
			}
			w.Annotations["a"] = "b"
			_, err = client.Update(ctx, w, metav1.UpdateOptions{})
			return err
		}, nil},
	}
}

// testNode creates the mirror Pod of a static Pod, like the kubelet of the node n.
func testNode(t *testing.T, c *cluster) {
	kubelet := c.as(t, "system:node:n", "system:nodes")
	p := pod("static-n", foreign)
	p.Annotations = map[string]string{"kubernetes.io/config.mirror": "x"}
	p.Spec.NodeName = "n"
	before := c.calls(t)
	if _, err := kubelet.CoreV1().Pods("team").Create(t.Context(), p, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	if called := difference(before, c.calls(t)); len(called) > 0 {
		t.Errorf("webhooks called: %v", called)
	}
}
