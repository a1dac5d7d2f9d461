package kit

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// oneAddress is a patch of a Service's status.
const oneAddress = `{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}`

var dryRunPatch = metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}}

// statusRequests returns requests about the addresses of a load balancer, the Service lb in the namespace team, and
// about the rest of its status. Their order matters.
func statusRequests() []request {
	yes, no := []string{balancer}, []string(nil)
	change := func(change func(*corev1.LoadBalancerStatus)) write {
		return changeStatus(func(s *corev1.Service) { change(&s.Status.LoadBalancer) })
	}
	return []request{
		{"a load balancer", createLoadBalancer("team", "lb"), []string{services}},
		{"an address in a write of the Service itself, which drops it", changeLoadBalancer(func(s *corev1.Service) {
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		}), no},
		{"a condition in the status", changeStatus(func(s *corev1.Service) {
			s.Status.Conditions = []metav1.Condition{{
				Type: "Ready", Status: metav1.ConditionTrue, Reason: "r", LastTransitionTime: metav1.Now(),
			}}
		}), no},
		{"an address in the status", change(func(l *corev1.LoadBalancerStatus) {
			l.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.1"}}
		}), yes},
		{"the same again", change(func(*corev1.LoadBalancerStatus) {}), no},
		{"another one next to it", change(func(l *corev1.LoadBalancerStatus) {
			l.Ingress = append(l.Ingress, corev1.LoadBalancerIngress{IP: "8.8.8.8"})
		}), yes},
		{"a host name", change(func(l *corev1.LoadBalancerStatus) {
			l.Ingress = append(l.Ingress, corev1.LoadBalancerIngress{Hostname: "a.example"})
		}), yes},
		{"the mode of an address", change(func(l *corev1.LoadBalancerStatus) {
			proxy := corev1.LoadBalancerIPModeProxy
			l.Ingress[0].IPMode = &proxy
		}), yes},
		{"a port of an address", change(func(l *corev1.LoadBalancerStatus) {
			l.Ingress[0].Ports = []corev1.PortStatus{{Port: 80, Protocol: corev1.ProtocolTCP}}
		}), yes},
		{"a label through the status", changeStatus(func(s *corev1.Service) { s.Labels = map[string]string{"a": "b"} }),
			[]string{services}},
		{"a finalizer through the status", changeStatus(func(s *corev1.Service) { s.Finalizers = []string{"a.example/b"} }),
			no},
		{"an annotation and an address", changeStatus(func(s *corev1.Service) {
			s.Annotations = map[string]string{"a": "b"}
			s.Status.LoadBalancer.Ingress = []corev1.LoadBalancerIngress{{IP: "192.0.2.2"}}
		}), []string{services, balancer}},
		{"an address by a patch", patchStatus("team", "lb", oneAddress, metav1.PatchOptions{}), yes},
		{"an address by server-side apply", applyStatus("192.0.2.3"), yes},
		{"the same by server-side apply", applyStatus("192.0.2.3"), no},
		{"the addresses go", change(func(l *corev1.LoadBalancerStatus) { l.Ingress = nil }), yes},
		{"the status goes", patchStatus("team", "lb", `{"status": null}`, metav1.PatchOptions{}), no},
	}
}

func createLoadBalancer(namespace, name string) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		svc := &corev1.Service{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeLoadBalancer, Ports: []corev1.ServicePort{{Port: 80}}},
		}
		_, err := api.CoreV1().Services(namespace).Create(ctx, svc, metav1.CreateOptions{})
		return err
	}
}

func changeLoadBalancer(change func(*corev1.Service)) write {
	return updateService("lb", false, change)
}

func changeStatus(change func(*corev1.Service)) write { return updateService("lb", true, change) }

func patchStatus(namespace, name, patch string, o metav1.PatchOptions) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		_, err := api.CoreV1().Services(namespace).Patch(ctx, name, types.MergePatchType, []byte(patch), o, "status")
		return err
	}
}

// applyStatus writes an address like a controller that uses server-side apply.
func applyStatus(ip string) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		force := true
		_, err := api.CoreV1().Services("team").Patch(ctx, "lb", types.ApplyPatchType, []byte(
			`{"apiVersion": "v1", "kind": "Service", "metadata": {"name": "lb"}, "status": {"loadBalancer": {"ingress": `+
				`[{"ip": "`+ip+`"}]}}}`,
		), metav1.PatchOptions{FieldManager: "balancer", Force: &force}, "status")
		return err
	}
}
