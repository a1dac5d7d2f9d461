package deploy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
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

// scheme returns the scheme of a probe, which is HTTP by default.
func scheme(get *corev1.HTTPGetAction) corev1.URIScheme {
	if get.Scheme == "" {
		return corev1.URISchemeHTTP
	}
	return get.Scheme
}
