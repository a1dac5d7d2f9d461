package install

import (
	"cmp"
	"path"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/policy"
)

// Server is a Deployment that runs evergate serve.
type Server struct {
	*appsv1.Deployment
	Pod       *corev1.PodSpec
	Container *corev1.Container
	Settings  *settings.Parsed
	Rejected  []error // errors with which evergate serve rejects its settings
	Budgets   []*policyv1.PodDisruptionBudget
	Policy    []policy.File                          // that it loads, if the input has them
	Scaler    *autoscalingv2.HorizontalPodAutoscaler // or nil, also if there are zero replicas, which it leaves
	Ref       Ref
	Process   Ref // its container

	env *environment
}

// Serves reports whether a Deployment runs evergate serve.
func Serves(d *appsv1.Deployment) bool {
	return slices.ContainsFunc(d.Spec.Template.Spec.Containers, RunsServe)
}

// RunsServe reports whether a container runs evergate serve: the subcommand is its first argument.
func RunsServe(c corev1.Container) bool { return serveArgs(&c) != nil }

// serveArgs returns the arguments of evergate serve in a container. The result is nil only if the container does not
// run evergate serve.
func serveArgs(c *corev1.Container) []string {
	words := slices.Concat(c.Command, c.Args)
	if len(words) > 0 && path.Base(words[0]) == "evergate" {
		words = words[1:]
	}
	if len(words) == 0 || words[0] != "serve" {
		return nil
	}
	return append([]string{}, words[1:]...)
}

// Server returns a Deployment that runs evergate serve, with the given Pod, which admission may have changed. It is nil
// if the Pod does not run evergate serve.
func (o *Objects) Server(d *appsv1.Deployment, pod *corev1.PodSpec) *Server {
	i := slices.IndexFunc(pod.Containers, RunsServe)
	if i < 0 {
		return nil
	}
	s := &Server{Deployment: d, Pod: pod, Container: &pod.Containers[i], Ref: o.Ref(d)}
	s.env = newEnvironment(o, d.Namespace, pod, s.Container)
	var args []string
	for _, word := range serveArgs(s.Container) {
		args = append(args, s.env.expand(word))
	}
	s.Settings, s.Rejected = settings.Container{Args: args, Env: s.env.vars, Hidden: s.env.hidden}.Parse()
	s.Process = s.Ref.In("container %s", s.Container.Name)
	s.Policy = o.policyFiles(s)
	s.Budgets = Filter(In[*policyv1.PodDisruptionBudget](o, d.Namespace), func(b *policyv1.PodDisruptionBudget) bool {
		return s.Counted(b.Spec.Selector)
	})
	for _, a := range In[*autoscalingv2.HorizontalPodAutoscaler](o, s.Namespace) {
		to := a.Spec.ScaleTargetRef
		if to.Kind == "Deployment" && to.Name == s.Name && *cmp.Or(d.Spec.Replicas, new(int32(1))) != 0 {
			s.Scaler = a
		}
	}
	return s
}

// Replicas returns the minimum and the maximum number of replicas.
func (s *Server) Replicas() (least, most int) {
	n := s.Spec.Replicas
	if a := s.Scaler; a != nil {
		n, most = a.Spec.MinReplicas, int(a.Spec.MaxReplicas)
	}
	least = int(*cmp.Or(n, new(int32(1)))) // the default of both in the API
	return least, max(least, most)
}

// Rollout returns how many of a number of replicas may be missing, and how many may be added, during a rollout.
func (s *Server) Rollout(replicas int) (unavailable, surge int) {
	if s.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return replicas, 0
	}
	quarter := intstr.FromString("25%") // the default of both in the API
	update := cmp.Or(s.Spec.Strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
	surge = Scaled(cmp.Or(update.MaxSurge, &quarter), replicas, true)
	unavailable = Scaled(cmp.Or(update.MaxUnavailable, &quarter), replicas, false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1 // as the Deployment controller does, because otherwise the rollout would never proceed
	}
	return unavailable, surge
}

// Scaled returns a number, or a percentage of total. It returns 0 for a value that cannot be parsed, which the API
// server rejects.
func Scaled(n *intstr.IntOrString, total int, up bool) int {
	v, err := intstr.GetScaledValueFromIntOrPercent(n, total, up)
	if err != nil {
		return 0
	}
	return v
}

// Variable returns the value of a variable of the container, or absent if it is not set. A part of the value that is
// not in the input is settings.Unknown.
func (s *Server) Variable(name, absent string) string { return s.env.value(name, absent) }

// Environment returns the problems for which the kubelet does not start the container, and the errors about variables
// that do not set a flag.
func (s *Server) Environment() (problems []string, ignored []error) {
	return s.env.problems, s.env.vars.Ignored(settings.SetsFlag)
}

// Listener returns the host, which is "" for all addresses, and the port of a flag, listen or ops-listen. The port is
// 0 if it is not known, if evergate serve rejects the address, or with --dev. A host that is not known, such as
// $(POD_IP), is assumed to be right.
func (s *Server) Listener(flag string) (host string, port int32) {
	address := s.Settings.Listen
	if flag == "ops-listen" {
		address = s.Settings.OpsListen
	}
	host, number, err := settings.SplitAddress(address)
	hidden := strings.Contains(host, settings.Unknown)
	if hidden {
		host = ""
	}
	if err == nil && !s.Settings.Dev && (hidden || s.Settings.Known(flag)) {
		port = int32(number)
	}
	return host, port
}

// Port resolves a port of the container by name or number. It returns 0 for an unknown name.
func (s *Server) Port(p intstr.IntOrString) int32 {
	return PodPort(&corev1.PodSpec{Containers: []corev1.Container{*s.Container}}, p, "")
}

// PodPort returns the port of a Pod that a name or a number leads to, or 0 if no container has a port with the name.
// Without a protocol, the port can have any.
func PodPort(pod *corev1.PodSpec, port intstr.IntOrString, protocol corev1.Protocol) int32 {
	if port.Type == intstr.Int {
		return port.IntVal
	}
	for _, container := range slices.Concat(pod.Containers, pod.InitContainers) {
		for _, p := range container.Ports {
			if p.Name == port.StrVal && (protocol == "" || cmp.Or(p.Protocol, corev1.ProtocolTCP) == protocol) {
				return p.ContainerPort
			}
		}
	}
	return 0
}

// AllContainers lists the containers of the Pod, init containers first.
func (s *Server) AllContainers() []corev1.Container {
	return slices.Concat(s.Pod.InitContainers, s.Pod.Containers)
}

// Labels returns the labels in the Pod template.
func (s *Server) Labels() map[string]string { return s.Spec.Template.Labels }

// Counted reports whether a selector counts the Deployment's own Pods. Unlike a webhook's selector, a nil selector
// does not select anything.
func (s *Server) Counted(selector *metav1.LabelSelector) bool {
	return selector != nil && Selects(selector, s.Labels())
}

// Behind reports whether a Service selects the Pods of the Deployment. svc may be nil.
func (s *Server) Behind(svc *corev1.Service) bool {
	return svc != nil && s.Namespace == svc.Namespace && ContainsAll(s.Labels(), svc.Spec.Selector)
}
