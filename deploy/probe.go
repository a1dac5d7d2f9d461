package deploy

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// The ports that are served, as probes have to ask them: --listen by HTTPS, --ops-listen by HTTP.
func schemeOf(flag string) corev1.URIScheme {
	if flag == "listen" {
		return corev1.URISchemeHTTPS
	}
	return corev1.URISchemeHTTP
}

// misdirected says what keeps a probe from being answered on one of the listeners that flags name, as the end of a
// sentence that begins with the probe: another address, another port, another scheme. It is empty where nothing does,
// or where a listener is not known.
func (s *server) misdirected(get *corev1.HTTPGetAction, flags ...string) string {
	port := s.port(get.Port)
	switch {
	case get.Host != "":
		return fmt.Sprintf("asks the host %q, and not the Pod, as it does without a host", get.Host)
	case get.Port.Type == intstr.String && port == 0:
		return fmt.Sprintf("asks the port %q, and the container names none so", get.Port.StrVal)
	}
	served := ""
	for _, flag := range flags {
		l, ok := s.listener(flag)
		switch {
		case !ok || l.port == port && schemeOf(flag) == scheme(get):
			return ""
		case l.port == port:
			return fmt.Sprintf("asks port %d by %s, and --%s serves %s there", port, scheme(get), flag, schemeOf(flag))
		case served != "":
			served += ", and "
		}
		served += fmt.Sprintf("--%s is on %d", flag, l.port)
	}
	return fmt.Sprintf("asks port %d, and %s", port, served)
}

// scheme returns that of a probe; it is HTTP by default.
func scheme(get *corev1.HTTPGetAction) corev1.URIScheme {
	if get.Scheme == "" {
		return corev1.URISchemeHTTP
	}
	return get.Scheme
}
