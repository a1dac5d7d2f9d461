package policy

import (
	"strings"
	"unicode"

	"github.com/evergate/evergate/policy/internal/rule"
)

// tlsByAnnotation is the result of tlsAnnotations.
type tlsByAnnotation struct {
	served bool   // only by TLS: without plain HTTP, or with a redirect
	lacks  string // the annotation that is missing, if others are there
}

// These are the annotations that tlsAnnotations reads.
const (
	albCertificate   = "alb.ingress.kubernetes.io/certificate-arn"
	albPorts         = "alb.ingress.kubernetes.io/listen-ports"
	albRedirect      = "alb.ingress.kubernetes.io/ssl-redirect"
	appgwCertificate = "appgw.ingress.kubernetes.io/appgw-ssl-certificate"
	gkeManaged       = "networking.gke.io/managed-certificates"
	gkePreShared     = "ingress.gcp.kubernetes.io/pre-shared-cert"
	traefikTLS       = "traefik.ingress.kubernetes.io/router.tls"
	kongProtocols    = "konghq.com/protocols"
)

// maxListenPorts is the maximum length of the annotation listen-ports in bytes. A longer value is not parsed. An AWS
// load balancer has at most 50 listeners, which need less.
const maxListenPorts = 2048

// tlsAnnotations returns whether an Ingress is served only over TLS because of its annotations. An annotation counts
// only for the classes of the controller that reads it. If an Ingress sets two classes, the annotations must count for
// both. The following classes and annotations count.
//
//   - alb (AWS load balancer controller): certificate-arn, with listen-ports absent or only for HTTPS, or with
//     ssl-redirect to one of the HTTPS ports. Without certificate-arn, listen-ports is required, because the controller
//     then looks for a certificate by host.
//   - azure-application-gateway, azure/application-gateway: appgw-ssl-certificate. The controller then creates an HTTP
//     listener only for redirects.
//   - gce, gce-internal (GKE): managed-certificates or pre-shared-cert, and allow-http "false".
//   - traefik: router.tls "true". The router then ignores plain HTTP.
//   - kong: protocols with only https or only grpcs. Kong answers plain HTTP requests with an error or a redirect.
func (ing *ingressView) tlsAnnotations(r *rule.Recorder) (tls tlsByAnnotation) {
	if len(ing.Annotations) == 0 {
		return tls
	}
	// These values may be long. The others are bounded by maxListenPorts or compared with constants.
	for _, key := range [...]string{albCertificate, appgwCertificate, gkeManaged, gkePreShared} {
		if !r.Spend(rule.StepsOf(1, ing.Annotations[key])) {
			return tls
		}
	}
	all := true
	for _, class := range ing.classNames() {
		tls = ing.tlsOfClass(class)
		all = all && tls.served
	}
	tls.served = tls.served && all
	return tls
}

// tlsOfClass returns the result of tlsAnnotations for one class.
func (ing *ingressView) tlsOfClass(class string) tlsByAnnotation {
	a := ing.Annotations
	switch class {
	case "alb":
		return ing.tlsOfALB()
	case "azure-application-gateway", "azure/application-gateway":
		return tlsByAnnotation{served: hasElement(a[appgwCertificate])}
	case "gce", "gce-internal":
		certified := hasElement(a[gkeManaged]) || hasElement(a[gkePreShared])
		if certified && a[allowHTTPAnnotation] != "false" {
			return tlsByAnnotation{lacks: `set the annotation ` + allowHTTPAnnotation + ` to "false"`}
		}
		return tlsByAnnotation{served: certified}
	case "traefik":
		if on, set := a[traefikTLS]; set {
			return tlsByAnnotation{served: strings.EqualFold(on, "true")}
		}
		return tlsByAnnotation{served: a[traefikTLS+".certresolver"] != "" || a[traefikTLS+".options"] != ""}
	case "kong":
		return tlsByAnnotation{served: a[kongProtocols] == "https" || a[kongProtocols] == "grpcs"}
	}
	return tlsByAnnotation{}
}

// hasElement reports whether a comma-separated list has an element that is not blank. Controllers skip other elements.
func hasElement(list string) bool {
	return strings.ContainsFunc(list, func(c rune) bool { return c != ',' && !unicode.IsSpace(c) })
}

// tlsOfALB returns the result of tlsAnnotations for the load balancer controllers of AWS and Alibaba Cloud. The value
// true of ssl-redirect is Alibaba Cloud's, and means port 443.
func (ing *ingressView) tlsOfALB() tlsByAnnotation {
	text, listed := ing.Annotations[albPorts]
	if !listed {
		return tlsByAnnotation{served: hasElement(ing.Annotations[albCertificate])}
	}
	ports, ok := parseListenPorts(text)
	plain, redirected, to := false, false, ing.Annotations[albRedirect]
	for _, p := range ports {
		plain = plain || !p.https
		redirected = redirected || p.https && (p.port == to || p.port == "443" && to == "true")
	}
	if ok && (!plain || redirected) {
		return tlsByAnnotation{served: true}
	}
	return tlsByAnnotation{lacks: "list only HTTPS in the annotation " + albPorts + ", or set " + albRedirect +
		" to an HTTPS port"}
}

// listenPort is an element of the annotation listen-ports.
type listenPort struct {
	https bool
	port  string
}

// parseListenPorts parses the annotation listen-ports: [{"HTTP": 80}, {"HTTPS": 443}]. ok reports whether the text is
// such a list with at least one port.
func parseListenPorts(text string) (ports []listenPort, ok bool) {
	if len(text) > maxListenPorts {
		return nil, false
	}
	text = strings.Map(func(c rune) rune {
		if c == ' ' || c == '\t' || c == '\n' || c == '\r' {
			return -1
		}
		return c
	}, text)
	text, opened := strings.CutPrefix(text, "[{")
	text, closed := strings.CutSuffix(text, "}]")
	if !opened || !closed {
		return nil, false
	}
	text = strings.ReplaceAll(text, "},{", ",") // an element may have several ports
	for pair := range strings.SplitSeq(text, ",") {
		protocol, port, _ := strings.Cut(pair, ":")
		if protocol != `"HTTP"` && protocol != `"HTTPS"` || !isPort(port) {
			return nil, false
		}
		ports = append(ports, listenPort{protocol == `"HTTPS"`, port})
	}
	return ports, true
}

// isPort reports whether a text is a number of one to five digits without a leading zero.
func isPort(s string) bool {
	if s == "" || len(s) > 5 || s[0] == '0' {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}
