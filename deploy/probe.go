package deploy

import (
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/evergate/evergate/internal/text"
)

// schemeOf returns the scheme of the port that a flag sets: HTTPS for --listen, HTTP for --ops-listen.
func schemeOf(flag string) corev1.URIScheme {
	if flag == "listen" {
		return corev1.URISchemeHTTPS
	}
	return corev1.URISchemeHTTP
}

// misdirected returns the reason why none of the listeners of flags can answer a probe: another address, another port
// or another scheme. The reason is the end of a sentence that starts with the probe. It is empty if a listener can
// answer or is not known.
func (s *server) misdirected(get *corev1.HTTPGetAction, flags ...string) string {
	port := s.port(get.Port)
	switch {
	case get.Host != "":
		return fmt.Sprintf("uses the host %q instead of the Pod", get.Host)
	case get.Port.Type == intstr.String && port == 0:
		return fmt.Sprintf("uses the port %q, which the container does not have", get.Port.StrVal)
	}
	served := ""
	for _, flag := range flags {
		l, ok := s.listener(flag)
		switch {
		case !ok || l.port == port && schemeOf(flag) == scheme(get):
			return ""
		case l.port == port:
			return fmt.Sprintf("uses port %d with %s, and --%s serves %s there", port, scheme(get), flag, schemeOf(flag))
		case served != "":
			served += ", and "
		}
		served += fmt.Sprintf("--%s is on %d", flag, l.port)
	}
	return fmt.Sprintf("uses port %d, and %s", port, served)
}

// unanswered returns the reason why evergate serve never answers a probe that does not use HTTP, or "" if it may
// answer. The reason is the end of a sentence that starts with the probe.
func (s *server) unanswered(probe *corev1.Probe) string {
	switch {
	case probe.Exec != nil:
		return missingCommand(probe.Exec)
	case probe.GRPC != nil:
		return "uses gRPC, which evergate serve does not serve"
	case probe.TCPSocket != nil:
		get := corev1.HTTPGetAction{Host: probe.TCPSocket.Host, Port: probe.TCPSocket.Port, Scheme: corev1.URISchemeHTTPS}
		if s.misdirected(&get, "listen") == "" {
			return ""
		}
		get.Scheme = corev1.URISchemeHTTP
		return s.misdirected(&get, "ops-listen", "listen")
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

// scheme returns the scheme of a probe, which is HTTP by default.
func scheme(get *corev1.HTTPGetAction) corev1.URIScheme {
	if get.Scheme == "" {
		return corev1.URISchemeHTTP
	}
	return get.Scheme
}
