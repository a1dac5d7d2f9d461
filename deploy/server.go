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

	"github.com/evergate/evergate/lifecycle/settings"
)

// server is a Deployment that runs evergate serve.
type server struct {
	*appsv1.Deployment
	pod        *corev1.PodSpec
	container  *corev1.Container
	env        *environment
	settings   *settings.Parsed
	rejected   []error                                // errors with which evergate serve rejects its settings
	autoscaler *autoscalingv2.HorizontalPodAutoscaler // nil without an autoscaler; see scalerOf
	budgets    []*policyv1.PodDisruptionBudget        // budgets that select its Pods
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
		s.settings, s.rejected = s.env.settings(s.container)
		s.process = s.ref.in("container %s", s.container.Name)
		for _, a := range inv.allAutoscalers() {
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

// allAutoscalers returns the autoscalers, and last the autoscalers that have the effect of a ScaledObject, because KEDA
// creates a HorizontalPodAutoscaler for each ScaledObject.
func (inv *Inventory) allAutoscalers() []*autoscalingv2.HorizontalPodAutoscaler {
	all := slices.Clone(inv.autoscalers)
	for _, o := range inv.scaledObjects {
		if a := scalerOf(o); a != nil {
			all = append(all, a)
		}
	}
	return all
}

// runsServe reports whether a container runs evergate serve: the subcommand is its first argument.
func runsServe(c corev1.Container) bool { return serveArgs(&c) != nil }

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

// exitMargin is how long a process may live after the drain and the shutdown, to flush telemetry.
const exitMargin = 5 * time.Second

// lifetime returns how long the process may live after SIGTERM. The drain starts at SIGTERM and includes its delay.
// ok is false if the flags are not known.
func (s *server) lifetime() (lasts time.Duration, ok bool) {
	return s.settings.DrainTimeout + s.settings.ShutdownTimeout + exitMargin,
		s.settings.Known("drain-timeout", "shutdown-timeout")
}

// listener is an address that the process listens on.
type listener struct {
	flag string // listen or ops-listen
	host string // "" for all addresses
	port int32
}

// listener returns the listener of a flag. ok is false if its port is not known or evergate serve rejects the address.
// A host that is not known, such as $(POD_IP), is assumed to be right. With --dev, ok is false too, because the check
// listen-address reports it.
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

// listens returns the port of a flag that is an address, or 0 if it is not known.
func (s *server) listens(flag string) int32 {
	l, ok := s.listener(flag)
	if !ok {
		return 0
	}
	return l.port
}

// replicas returns the minimum number of replicas.
func (s *server) replicas() int {
	n := s.Spec.Replicas
	if s.scaled() {
		n = s.autoscaler.Spec.MinReplicas
	}
	if n == nil {
		return 1 // the default of both in the API
	}
	return int(*n)
}

// scaled reports whether an autoscaler sets the number of replicas. It ignores a Deployment with zero replicas.
func (s *server) scaled() bool {
	return s.autoscaler != nil && (s.Spec.Replicas == nil || *s.Spec.Replicas != 0)
}

// maxReplicas returns the maximum number of replicas.
func (s *server) maxReplicas() int {
	if s.autoscaler == nil {
		return s.replicas()
	}
	return max(s.replicas(), int(s.autoscaler.Spec.MaxReplicas))
}

// quarter returns the default of maxSurge and of maxUnavailable in the API.
func quarter() *intstr.IntOrString {
	q := intstr.FromString("25%")
	return &q
}

// surge returns how many Pods a rollout adds to a number of replicas.
func (s *server) surge(replicas int) int {
	if s.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return 0
	}
	update := cmp.Or(s.Spec.Strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
	return scaled(cmp.Or(update.MaxSurge, quarter()), replicas, true)
}

// rollout returns how many replicas may be missing, and how many may be added, during a rollout.
func (s *server) rollout() (unavailable, surge int) {
	if s.Spec.Strategy.Type == appsv1.RecreateDeploymentStrategyType {
		return s.replicas(), 0
	}
	update := cmp.Or(s.Spec.Strategy.RollingUpdate, &appsv1.RollingUpdateDeployment{})
	surge = s.surge(s.replicas())
	unavailable = scaled(cmp.Or(update.MaxUnavailable, quarter()), s.replicas(), false)
	if surge == 0 && unavailable == 0 {
		unavailable = 1 // as the Deployment controller does, because otherwise the rollout would never proceed
	}
	return unavailable, surge
}

// scaled returns a number, or a percentage of total. It returns 0 for a value that cannot be parsed, which the API
// server rejects.
func scaled(n *intstr.IntOrString, total int, up bool) int {
	v, err := intstr.GetScaledValueFromIntOrPercent(n, total, up)
	if err != nil {
		return 0
	}
	return v
}

// volumeAt returns the volume that contains a path of the container, and its mount. Both are nil if no volume does.
func (s *server) volumeAt(file string) (*corev1.Volume, *corev1.VolumeMount) {
	var mount *corev1.VolumeMount
	for i := range s.container.VolumeMounts {
		m := &s.container.VolumeMounts[i]
		inside := strings.HasPrefix(file+"/", strings.TrimSuffix(m.MountPath, "/")+"/")
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

// inVolume returns the path of a file in the volume of its mount. It is "" for the root of the volume.
func (s *server) inVolume(file string, mount *corev1.VolumeMount) string {
	below := strings.TrimPrefix(file, strings.TrimSuffix(mount.MountPath, "/"))
	return strings.TrimPrefix(path.Join(mount.SubPath, below), "/")
}

// tlsSecret returns the name of the Secret that contains --tls-cert, or "" if no Secret does.
func (s *server) tlsSecret() string { return s.secretFile(s.settings.TLSCert).secret }

// secretFile is a file in a volume with a Secret.
type secretFile struct {
	secret string // "" if the volume does not contain a Secret
	key    string // the key whose value is in the file; "" if the volume does not contain the file
	mode   int32
}

// secretFile returns the file of a Secret at a path of the container.
func (s *server) secretFile(file string) secretFile {
	v, mount := s.volumeAt(file)
	var f secretFile
	var items []corev1.KeyToPath
	var mode *int32
	switch {
	case v == nil:
	case v.Secret != nil:
		f.secret, items, mode = v.Secret.SecretName, v.Secret.Items, v.Secret.DefaultMode
	case v.Projected != nil:
		i := slices.IndexFunc(v.Projected.Sources, func(p corev1.VolumeProjection) bool { return p.Secret != nil })
		if i >= 0 {
			source := v.Projected.Sources[i].Secret
			f.secret, items, mode = source.Name, source.Items, v.Projected.DefaultMode
		}
	}
	if f.secret == "" {
		return secretFile{}
	}
	at := s.inVolume(file, mount)
	if len(items) == 0 {
		f.key = at
	}
	for _, item := range items {
		if item.Path == at {
			f.key, mode = item.Key, cmp.Or(item.Mode, mode)
		}
	}
	f.mode = *cmp.Or(mode, new(corev1.SecretVolumeSourceDefaultMode))
	return f
}

// policyConfigMaps lists the ConfigMaps in the volume that contains --policy.
func (s *server) policyConfigMaps() []corev1.ConfigMapProjection {
	v, _ := s.volumeAt(s.settings.Policy)
	var mounted []corev1.ConfigMapProjection
	switch {
	case v == nil:
	case v.ConfigMap != nil:
		mounted = append(mounted, corev1.ConfigMapProjection{
			LocalObjectReference: v.ConfigMap.LocalObjectReference, Items: v.ConfigMap.Items,
		})
	case v.Projected != nil:
		for _, source := range v.Projected.Sources {
			if source.ConfigMap != nil {
				mounted = append(mounted, *source.ConfigMap)
			}
		}
	}
	return mounted
}

// port resolves a port of the container by name or number. It returns 0 for an unknown name.
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

// security returns the security contexts of the Pod and of the container, which are empty if they are not set.
func (s *server) security() (*corev1.PodSecurityContext, *corev1.SecurityContext) {
	return cmp.Or(s.pod.SecurityContext, &corev1.PodSecurityContext{}),
		cmp.Or(s.container.SecurityContext, &corev1.SecurityContext{})
}

// templateLabels returns the labels in the Pod template.
func (s *server) templateLabels() map[string]string { return s.Spec.Template.Labels }

// counted reports whether a selector counts the Deployment's own Pods. Unlike a webhook's selector, a nil selector
// does not select anything.
func (s *server) counted(selector *metav1.LabelSelector) bool {
	return selector != nil && selects(selector, s.templateLabels())
}

func (s *server) namedPort(name string) int32 { return s.port(intstr.FromString(name)) }
