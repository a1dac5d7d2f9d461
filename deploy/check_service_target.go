package deploy

import (
	"cmp"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// serviceTarget checks that the Service that webhooks call leads to Pods whose Deployment runs evergate
// serve, on the port of --listen, and to no other Pods.
func serviceTarget() check {
	return check{
		id: "service-target", severity: Error, needs: []premise{coherent(), agreed()},
		finds: "a Service that does not route to an Evergate Pod, that routes to a port that Evergate does not serve, or " +
			"that also routes to other Pods",
		why: "every call fails, or the calls that other Pods get, although the Deployment looks healthy",
		fix: "let the Service select the labels of the Pod template, and set its targetPort to the port of " +
			"--listen",
		run: func(c *cluster, r *reporter) {
			seen := map[*corev1.Service]bool{nil: true} // nil: see the check service
			for _, h := range c.hooks {
				if svc := c.service(h); !seen[svc] {
					seen[svc] = true
					c.checkTarget(svc, h.servicePort(), r)
				}
			}
		},
	}
}

func (c *cluster) checkTarget(svc *corev1.Service, port int32, r *reporter) {
	behind := c.behindService(svc)
	if len(behind) == 0 && len(c.servers) > 0 { // see the check deployment
		s := c.servers[0]
		r.error(c.ref(svc), "it selects %s, and the Pods of %s, which runs evergate serve, have the labels %s",
			labels.Set(svc.Spec.Selector), s.ref, labels.Set(s.templateLabels()))
	}
	for _, s := range behind {
		l, ok := s.listener("listen")
		target, has := targetOf(svc, port)
		switch found := podPort(s.pod, target); {
		case !ok || !has || found == l.port:
		case found == 0:
			r.error(c.ref(svc), "the targetPort of its port %d is %s, and %s does not have a TCP port with this name", port,
				target.StrVal, s.ref)
		default:
			r.error(c.ref(svc), "its port %d leads to port %d of %s, which listens on %d", port, found, s.ref, l.port)
		}
	}
	if others := c.othersBehind(svc, port); len(behind) > 0 && len(others) > 0 {
		r.error(c.ref(svc), "it also sends calls to Pods that do not run evergate serve: %s", refsOf(others))
	}
}

// behindService returns the Deployments whose Pods a Service selects.
func (c *cluster) behindService(svc *corev1.Service) []*server {
	return filter(c.servers, func(s *server) bool {
		return s.Namespace == svc.Namespace && containsAll(s.templateLabels(), svc.Spec.Selector)
	})
}

// othersBehind returns the other Deployments whose Pods get calls to a port of a Service, and the other Pods that
// get them.
func (c *cluster) othersBehind(svc *corev1.Service, port int32) []ref {
	target, has := targetOf(svc, port)
	gets := func(namespace string, labels map[string]string, pod *corev1.PodSpec) bool {
		return has && namespace == svc.Namespace && containsAll(labels, svc.Spec.Selector) &&
			!slices.ContainsFunc(pod.Containers, runsServe) && podPort(pod, target) != 0
	}
	var others []ref
	var deployments []*appsv1.Deployment
	for _, d := range c.deployments {
		if gets(d.Namespace, d.Spec.Template.Labels, &d.Spec.Template.Spec) {
			others, deployments = append(others, c.ref(d)), append(deployments, d)
		}
	}
	for _, p := range c.pods {
		ended := p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
		reported := slices.ContainsFunc(deployments, func(d *appsv1.Deployment) bool {
			return containsAll(p.Labels, d.Spec.Template.Labels)
		})
		if !ended && !reported && gets(p.Namespace, p.Labels, &p.Spec) {
			others = append(others, c.ref(p))
		}
	}
	return others
}

// targetOf returns the port of Pods that a port of a Service leads to. ok is false if the Service does not have the
// port.
func targetOf(svc *corev1.Service, port int32) (target intstr.IntOrString, ok bool) {
	i := slices.IndexFunc(svc.Spec.Ports, func(p corev1.ServicePort) bool { return p.Port == port })
	if i < 0 {
		return target, false // see the check service
	}
	return cmp.Or(svc.Spec.Ports[i].TargetPort, intstr.FromInt32(port)), true
}

// podPort returns the port of a Pod that a targetPort of a Service leads to, over TCP. It is 0 if no container has a
// TCP port with its name.
func podPort(pod *corev1.PodSpec, target intstr.IntOrString) int32 {
	if target.Type == intstr.Int {
		return target.IntVal
	}
	for _, container := range slices.Concat(pod.Containers, pod.InitContainers) {
		for _, p := range container.Ports {
			if p.Name == target.StrVal && (p.Protocol == "" || p.Protocol == corev1.ProtocolTCP) {
				return p.ContainerPort
			}
		}
	}
	return 0
}
