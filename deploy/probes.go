package deploy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evergate/evergate/deploy/install"
	"github.com/evergate/evergate/internal/text"
)

const again = ": every replica is restarted again and again"

// readiness inspects the readiness probe, which has to use HTTPS for /readyz on the port of --listen.
func (i *inspection) readiness(s *install.Server) {
	probe := s.Container.ReadinessProbe
	if probe == nil || probe.HTTPGet == nil {
		i.error("readiness", s.Process, "it has no readinessProbe by httpGet")
		return
	}
	if problem := misdirected(s, probe.HTTPGet, "listen"); problem != "" {
		i.error("readiness", s.Process, "its readinessProbe %s", problem)
	}
	if path := probe.HTTPGet.Path; path != "/readyz" {
		i.error("readiness", s.Process, "its readinessProbe uses the path %q, and /readyz reports whether it is ready", path)
	}
}

// hasCondition reports whether a Pod in a namespace has a condition of a type.
func (i *inspection) hasCondition(namespace string, t corev1.PodConditionType) bool {
	return slices.ContainsFunc(install.In[*corev1.Pod](i.Objects, namespace), func(p *corev1.Pod) bool {
		return slices.ContainsFunc(p.Status.Conditions, func(cond corev1.PodCondition) bool { return cond.Type == t })
	})
}

// liveness inspects the liveness probe, which has to use HTTP for /livez on the port of --ops-listen, because it fails
// only when the process hangs. A startup probe has to use an address that Evergate serves, and a postStart hook must not
// run a command that the image does not contain. The kubelet kills the container if the hook fails.
func (i *inspection) liveness(s *install.Server) {
	const id = "liveness"
	switch probe := s.Container.LivenessProbe; {
	case probe == nil:
		i.error(id, s.Process, "it has no livenessProbe")
	case probe.HTTPGet == nil && unanswered(s, probe) != "":
		i.error(id, s.Process, "its livenessProbe %s"+again, unanswered(s, probe))
	case probe.HTTPGet == nil:
		i.error(id, s.Process, "its livenessProbe does not use httpGet: an open port does not show a hang")
	default:
		i.livenessGet(s, probe.HTTPGet)
	}
	if probe := s.Container.StartupProbe; probe != nil {
		problem := unanswered(s, probe)
		if probe.HTTPGet != nil {
			problem = misdirected(s, probe.HTTPGet, "ops-listen", "listen")
		}
		if problem != "" {
			i.error(id, s.Process, "its startupProbe %s"+again, problem)
		}
		if get := probe.HTTPGet; get != nil && get.Path != "/livez" && get.Path != "/readyz" {
			i.error(id, s.Process, "its startupProbe uses the path %q, and neither port answers it with 200: use /livez", get.Path)
		}
	}
	if lc := s.Container.Lifecycle; lc != nil && lc.PostStart != nil && lc.PostStart.Exec != nil {
		if problem := missingCommand(lc.PostStart.Exec); problem != "" {
			i.error(id, s.Process, "its postStart hook %s"+again, problem)
		}
	}
}

func (i *inspection) livenessGet(s *install.Server, get *corev1.HTTPGetAction) {
	if get.Path != "/livez" {
		i.error("liveness", s.Process, "its livenessProbe uses the path %q, and /livez reports whether it hangs", get.Path)
	}
	problem := misdirected(s, get, "ops-listen")
	if problem != "" && s.Listens("listen") != 0 && misdirected(s, get, "listen") == "" {
		i.warning("liveness", s.Process, "its livenessProbe uses port %d, which is bound only when there is a certificate: use "+
			"the port of --ops-listen", s.Port(get.Port))
	} else if problem != "" {
		i.error("liveness", s.Process, "its livenessProbe %s"+again, problem)
	}
}

// misdirected returns the reason why none of the listeners of flags can answer a probe: another address, another port
// or another scheme. The reason is the end of a sentence that starts with the probe. It is empty if a listener can
// answer or is not known.
func misdirected(s *install.Server, get *corev1.HTTPGetAction, flags ...string) string {
	port, scheme := s.Port(get.Port), get.Scheme
	if scheme == "" {
		scheme = corev1.URISchemeHTTP
	}
	switch {
	case get.Host != "":
		return fmt.Sprintf("uses the host %q instead of the Pod", get.Host)
	case get.Port.Type == intstr.String && port == 0:
		return fmt.Sprintf("uses the port %q, which the container does not have", get.Port.StrVal)
	}
	var served []string
	for _, flag := range flags {
		serves := corev1.URISchemeHTTP
		if flag == "listen" {
			serves = corev1.URISchemeHTTPS
		}
		l, ok := s.Listener(flag)
		switch {
		case !ok || l.Port == port && serves == scheme:
			return ""
		case l.Port == port:
			return fmt.Sprintf("uses port %d with %s, and --%s serves %s there", port, scheme, flag, serves)
		}
		served = append(served, fmt.Sprintf("--%s is on %d", flag, l.Port))
	}
	return fmt.Sprintf("uses port %d, and %s", port, strings.Join(served, ", and "))
}

// unanswered returns the reason why evergate serve never answers a probe that does not use HTTP, or "" if it may
// answer. The reason is the end of a sentence that starts with the probe.
func unanswered(s *install.Server, probe *corev1.Probe) string {
	switch {
	case probe.Exec != nil:
		return missingCommand(probe.Exec)
	case probe.GRPC != nil:
		return "uses gRPC, which evergate serve does not serve"
	case probe.TCPSocket != nil:
		get := corev1.HTTPGetAction{Host: probe.TCPSocket.Host, Port: probe.TCPSocket.Port, Scheme: corev1.URISchemeHTTPS}
		if misdirected(s, &get, "listen") == "" {
			return ""
		}
		get.Scheme = corev1.URISchemeHTTP
		return misdirected(s, &get, "ops-listen", "listen")
	}
	return ""
}

// missingCommand returns the reason why a command fails in the image, which contains only evergate, or "" if the
// command is evergate.
func missingCommand(exec *corev1.ExecAction) string {
	if len(exec.Command) > 0 && path.Base(exec.Command[0]) == "evergate" {
		return ""
	}
	return fmt.Sprintf("runs the command %q, and the image contains only evergate", text.Truncate(
		strings.Join(exec.Command, " "), text.Short))
}
