package deploy

import (
	"cmp"
	"path"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evergate/evergate/internal/settings"
)

// server is a Deployment that runs evergate serve.
type server struct {
	*appsv1.Deployment
	pod        *corev1.PodSpec
	container  *corev1.Container
	env        *environment
	settings   *settings.Parsed
	refused    []error                                // by evergate serve, of its settings
	autoscaler *autoscalingv2.HorizontalPodAutoscaler // nil: none
	budgets    []*policyv1.PodDisruptionBudget        // that select its Pods
	ref        ref
	process    ref // its container
}

// newServers returns the Deployments of a namespace that run evergate serve.
func newServers(inv *Inventory, namespace string) []*server {
	var servers []*server
	for _, d := range inv.deployments {
		pod := &d.Spec.Template.Spec
		i := slices.IndexFunc(pod.Containers, runsServe)
		if d.Namespace != namespace || i < 0 {
			continue
		}
		s := &server{Deployment: d, pod: pod, container: &pod.Containers[i], ref: inv.ref(d)}
		s.env = newEnvironment(inv, namespace, pod, s.container)
		s.settings, s.refused = s.env.settings(s.container)
		s.process = s.ref.in("container %s", s.container.Name)
		for _, a := range inv.autoscalers {
			target := a.Spec.ScaleTargetRef
			if a.Namespace == namespace && target.Kind == "Deployment" && target.Name == d.Name {
				s.autoscaler = a
			}
		}
		for _, b := range inv.disruptionBudgets {
			if b.Namespace == namespace && b.Spec.Selector != nil && selects(b.Spec.Selector, d.Spec.Template.Labels) {
				s.budgets = append(s.budgets, b)
			}
		}
		servers = append(servers, s)
	}
	return servers
}

// runsServe reports whether a container runs evergate serve: the subcommand is its first argument.
func runsServe(c corev1.Container) bool { return serveArgs(&c) != nil }

// serveArgs returns the arguments of evergate serve in a container, not nil; nil where it does not run.
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

// exitMargin is how long a process may live after the drain and the shutdown: telemetry is flushed.
const exitMargin = 5 * time.Second

// lifetime returns how long the process may live after SIGTERM; ok is false where it is not known. The drain is counted
// from SIGTERM, its delay included.
func (s *server) lifetime() (lasts time.Duration, ok bool) {
	return s.settings.DrainTimeout + s.settings.ShutdownTimeout + exitMargin,
		s.settings.Known("drain-timeout", "shutdown-timeout")
}

// listener is an address that the process listens on.
type listener struct {
	flag string // listen or ops-listen
	host string // "": on all addresses
	port int32
}

// listener returns that of a flag; ok is false where its port is not known, or it is refused. A host that is not known
// is taken to be right: $(POD_IP). With --dev the check listen-address says all.
func (s *server) listener(flag string) (l listener, ok bool) {
	address := s.settings.Listen
	if flag == "ops-listen" {
		address = s.settings.OpsListen
	}
	host, port, err := settings.SplitAddress(address)
	hostUnknown := strings.Contains(host, settings.Unknown)
	if hostUnknown {
		host = ""
	}
	return listener{flag, host, int32(port)}, err == nil && !s.settings.Dev && (hostUnknown || s.settings.Known(flag))
}

// listens returns the port of a flag that is an address; 0 where it is not known.
func (s *server) listens(flag string) int32 {
	l, ok := s.listener(flag)
	if !ok {
		return 0
	}
	return l.port
}

// replicas returns how many replicas there are at least.
func (s *server) replicas() int {
	n := s.Spec.Replicas
	if s.autoscaler != nil {
		n = s.autoscaler.Spec.MinReplicas
	}
	if n == nil {
		return 1 // the API's default of both
	}
	return int(*n)
}

// maxReplicas returns how many replicas there are at most.
func (s *server) maxReplicas() int {
	if s.autoscaler == nil {
		return s.replicas()
	}
	return max(s.replicas(), int(s.autoscaler.Spec.MaxReplicas))
}

// quarter is the API's default of maxSurge and of maxUnavailable.
func quarter() *intstr.IntOrString {
	q := intstr.FromString("25%")
	return &q
}

// surge returns how many Pods a roll-out adds to so many replicas.
func (s *server) surge(replicas int) int {
	if s.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0
	}
	update := cmp.Or(s.Spec.Strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
	return scaled(cmp.Or(update.MaxSurge, quarter()), replicas, true)
}

// rollout returns how many replicas may be missing, and how many may be too many, while a new version is rolled out.
func (s *server) rollout() (unavailable, surge int) {
	if s.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return s.replicas(), 0
	}
	update := cmp.Or(s.Spec.Strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
	surge = s.surge(s.replicas())
	unavailable = scaled(cmp.Or(update.MaxUnavailable, quarter()), s.replicas(), false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1 // as the Deployment controller does: otherwise nothing would ever move
	}
	return unavailable, surge
}

// scaled returns a number, or a percentage of total. One that cannot be parsed is refused by the API server.
func scaled(n *intstr.IntOrString, total int, up bool) int {
	v, err := intstr.GetScaledValueFromIntOrPercent(n, total, up)
	if err != nil {
		return 0
	}
	return v
}

// volumeAt returns the volume that holds a path of the container, and how it is mounted; nil when none does.
func (s *server) volumeAt(file string) (*corev1.Volume, *corev1.VolumeMount) {
	var mount *corev1.VolumeMount
	for i := range s.container.VolumeMounts {
		m := &s.container.VolumeMounts[i]
		inside := file == m.MountPath || strings.HasPrefix(file, strings.TrimSuffix(m.MountPath, "/")+"/")
		if inside && (mount == nil || len(m.MountPath) > len(mount.MountPath)) {
			mount = m
		}
	}
	if mount == nil {
		return nil, nil
	}
	i := slices.IndexFunc(s.pod.Volumes, func(v corev1.Volume) bool { return v.Name == mount.Name })
	if i < 0 {
		return nil, mount
	}
	return &s.pod.Volumes[i], mount
}

// tlsSecret returns the name of the Secret that --tls-cert lies in; empty when it lies in none.
func (s *server) tlsSecret() string {
	v, _ := s.volumeAt(s.settings.TLSCert)
	switch {
	case v == nil:
		return ""
	case v.Secret != nil:
		return v.Secret.SecretName
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if source.Secret != nil {
				return source.Secret.Name
			}
		}
	}
	return ""
}

// policyConfigMaps lists the names of the ConfigMaps that --policy lies in.
func (s *server) policyConfigMaps() []string {
	v, _ := s.volumeAt(s.settings.Policy)
	var names []string
	switch {
	case v == nil:
	case v.ConfigMap != nil:
		names = append(names, v.ConfigMap.Name)
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if source.ConfigMap != nil {
				names = append(names, source.ConfigMap.Name)
			}
		}
	}
	return names
}

// port resolves a port of the container, by name or number; 0 when there is none of that name.
func (s *server) port(p intstr.IntOrString) int32 {
	if p.Type == intstr.Int {
		return p.IntVal
	}
	for _, port := range s.container.Ports {
		if port.Name == p.StrVal {
			return port.ContainerPort
		}
	}
	return 0
}

// templateLabels are the labels of its Pods.
func (s *server) templateLabels() map[string]string { return s.Spec.Template.Labels }

// counted reports whether a rule counts the Deployment's own Pods. Unlike a webhook's, its selector selects nothing
// when it is absent.
func (s *server) counted(selector *metav1.LabelSelector) bool {
	return selector != nil && selects(selector, s.templateLabels())
}

func (s *server) namedPort(name string) int32 { return s.port(intstr.FromString(name)) }
