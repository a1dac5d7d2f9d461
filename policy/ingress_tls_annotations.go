package policy

import (
	"slices"
	"strings"
	"unicode"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
)

// TLSClass is an Ingress class whose annotations decide whether its controller serves plain HTTP, with and without
// spec.tls.
type TLSClass struct {
	Names []string
	// Ways lists the ways to serve only TLS, or nothing at all. One of them is enough.
	Ways []TLSWay
	// Fix is the end of the sentence about an Ingress that may be served without TLS, although it sets spec.tls or the
	// controller ignores spec.tls.
	Fix string
}

// TLSWay is a way to serve an Ingress only over TLS. All of its conditions must be true.
type TLSWay struct {
	Carrier     TLSCarrier
	Annotations []TLSAnnotation
	// Ports and Redirect are the annotations of a load balancer with its listeners and with the port to which its plain
	// listeners redirect. See httpsOnly. They are empty for other ways.
	Ports, Redirect string
}

// TLSCarrier is the object or the field that determines the certificate.
type TLSCarrier string

// The values of TLSCarrier.
const (
	TLSInSpec        TLSCarrier = "spec.tls" // which must have a host or a Secret
	TLSInAnnotations TLSCarrier = "annotations"
	TLSElsewhere     TLSCarrier = "another object"
)

// TLSAnnotation is a condition for the value of an annotation. The value of an absent annotation is empty.
type TLSAnnotation struct {
	// Key is a key. A * at the beginning means any prefix and any case. If there are several such annotations, all must
	// pass.
	Key    string
	Values []string // nil means a list with an element that is not blank
}

// TLSClasses returns the table of the classes. An Ingress of another class, or without a class, needs spec.tls.
func TLSClasses() []TLSClass {
	const (
		alb, traefik = "alb.ingress.kubernetes.io/", "traefik.ingress.kubernetes.io/router.tls"
		allowHTTP    = allowHTTPAnnotation
		force        = "ingress.kubernetes.io/force-ssl-redirect"
		protocols    = "konghq.com/protocols"
	)
	inSpec := func(conditions ...TLSAnnotation) TLSWay { return TLSWay{Carrier: TLSInSpec, Annotations: conditions} }
	by := func(conditions ...TLSAnnotation) TLSWay {
		return TLSWay{Carrier: TLSInAnnotations, Annotations: conditions}
	}
	is := func(key string, values ...string) TLSAnnotation { return TLSAnnotation{key, values} }
	// The values that strconv.ParseBool reads as true. The empty value means the default, which is true.
	on := []string{"", "1", "t", "T", "TRUE", "true", "True"}
	redirects := inSpec(is("*/ssl-redirect", on...))
	setRedirect := `set the annotation ssl-redirect to "true", or remove it`
	return []TLSClass{
		// AWS (aws-load-balancer-controller@0173b0e9 pkg/ingress/model_build_listener.go): without listen-ports, it listens
		// on HTTP:80, unless certificate-arn is set. It reads spec.tls only to find certificates. Alibaba Cloud has the
		// same class and annotation. Its ssl-redirect "true" means port 443.
		{[]string{"alb"}, []TLSWay{
			by(is(alb+"listen-ports", ""), is(alb+"certificate-arn")),
			{Carrier: TLSInAnnotations, Ports: alb + "listen-ports", Redirect: alb + "ssl-redirect"},
		}, "list only HTTPS in the annotation " + alb + "listen-ports, or set " + alb + "ssl-redirect to an HTTPS port"},
		// application-gateway-kubernetes-ingress@028d4353 pkg/appgw/ingress_rules.go: with a certificate, it creates an
		// HTTP listener only for redirects.
		{[]string{"azure-application-gateway", "azure/application-gateway"},
			[]TLSWay{inSpec(), by(is("appgw.ingress.kubernetes.io/appgw-ssl-certificate"))}, ""},
		// ingress-gce@0b7b3f1d pkg/annotations/ingress.go: it listens on port 80 too, unless allow-http is false.
		{[]string{"gce", "gce-internal"}, []TLSWay{by(is(allowHTTP, "false"))},
			"set the annotation " + allowHTTP + ` to "false"`},
		// traefik@v3.7.13 pkg/provider/kubernetes/ingress/kubernetes.go: only annotations make a router serve TLS, and it
		// then ignores plain HTTP. It reads spec.tls only to load certificates. It ignores case in keys: a false wins over
		// the options of the same key, and the key in lower case wins over others (paerser@v0.2.2 parser).
		{[]string{"traefik"}, []TLSWay{
			by(is(traefik, "true", "True", "TRUE")),
			by(is("*/router.tls", ""), is(traefik+".certresolver")), by(is("*/router.tls", ""), is(traefik+".options")),
		}, "set the annotation " + traefik + ` to "true"`},
		// kubernetes-ingress-controller@05186373 (Kong) internal/annotations/annotations.go: the default protocols are http
		// and https. Kong answers other plain requests with an error or a redirect.
		{[]string{"kong"}, []TLSWay{by(is(protocols, "https", "grpcs")), by(is(protocols, ""), is(force, "true"))},
			"set the annotation " + protocols + ` to "https"`},
		// contour@v1.33.8 internal/dag/ingress_processor.go: it serves plain HTTP too, unless one of these is set.
		{[]string{"contour"}, []TLSWay{by(is(force, "true")), by(is(allowHTTP, "false"))},
			"set the annotation " + force + ` to "true"`},
		// cilium@v1.20.2 operator/pkg/model/ingestion/ingress.go: hosts in spec.tls redirect by default.
		{[]string{"cilium"}, []TLSWay{inSpec(is("ingress.cilium.io/force-https", append(on, "enabled")...))},
			"remove the annotation ingress.cilium.io/force-https"},
		// ingress-nginx@controller-v1.15.1 internal/ingress/annotations/rewrite/main.go, and F5's NGINX Ingress Controller
		// (kubernetes-ingress@003d5228 internal/configs/annotations.go): hosts in spec.tls redirect by default. F5 takes
		// the TLS of a minion's host from its master, and ignores spec.tls and ssl-redirect of the minion.
		{[]string{"nginx"}, []TLSWay{redirects, {
			Carrier: TLSElsewhere, Annotations: []TLSAnnotation{is(minionAnnotation, "minion")},
		}}, setRedirect},
		// HAProxy Technologies' controller 3.2 (documentation/annotations.md, #https) and haproxy-ingress@aea0701d
		// (docs/content/en/docs/configuration/keys.md): an Ingress with spec.tls redirects by default.
		{[]string{"haproxy"}, []TLSWay{redirects}, setRedirect},
	}
}

// minionAnnotation makes an Ingress a part of another one, its master, if F5's NGINX Ingress Controller serves it.
const minionAnnotation = "nginx.org/mergeable-ingress-type"

// tlsClasses is the compiled table.
type tlsClasses []TLSClass

// plain returns the first class of an Ingress whose controller may serve plain HTTP, and its row, or nil if the table
// does not have it. found is false if every class serves only TLS. named reports whether spec.tls has a host or a
// Secret.
func (t tlsClasses) plain(ing *ingressView, named bool, r *rule.Recorder) (class string, row *TLSClass, found bool) {
	none := true
	for _, class := range ing.classNames() {
		none = false
		i := slices.IndexFunc(t, func(c TLSClass) bool { return slices.Contains(c.Names, class) })
		if i < 0 && !named {
			return class, nil, true
		}
		if i >= 0 && !slices.ContainsFunc(t[i].Ways, func(w TLSWay) bool { return w.holds(ing.Annotations, named, r) }) {
			return class, &t[i], true
		}
	}
	return "", nil, none && !named
}

// ReadsSpec reports whether the controller reads spec.tls to serve TLS.
func (c *TLSClass) ReadsSpec() bool {
	return slices.ContainsFunc(c.Ways, func(w TLSWay) bool { return w.Carrier == TLSInSpec })
}

func (w *TLSWay) holds(annotations map[string]string, named bool, r *rule.Recorder) bool {
	if w.Carrier == TLSInSpec && !named || w.Ports != "" && !httpsOnly(annotations[w.Ports], annotations[w.Redirect]) {
		return false
	}
	return !slices.ContainsFunc(w.Annotations, func(a TLSAnnotation) bool { return !a.holds(annotations, r) })
}

func (a *TLSAnnotation) holds(annotations map[string]string, r *rule.Recorder) bool {
	suffix, anyPrefix := strings.CutPrefix(a.Key, "*")
	if !anyPrefix {
		return a.passes(annotations[a.Key], r)
	}
	for key, value := range annotations {
		end := match.LowerASCII(key[max(0, len(key)-len(suffix)):])
		if !r.Spend(1) || end == suffix && !a.passes(value, r) {
			return false
		}
	}
	return true
}

// passes reports whether a value passes. Comparing it with the values has a bounded cost.
func (a *TLSAnnotation) passes(value string, r *rule.Recorder) bool {
	if a.Values == nil {
		return r.Spend(rule.StepsOf(1, value)) && hasElement(value)
	}
	return slices.Contains(a.Values, value)
}

// hasElement reports whether a comma-separated list has an element that is not blank. Controllers skip other elements.
func hasElement(list string) bool {
	return strings.ContainsFunc(list, func(c rune) bool { return c != ',' && !unicode.IsSpace(c) })
}

// MaxListenPorts is the maximum length of the annotation listen-ports in bytes. A longer value is not parsed. An AWS
// load balancer has at most 50 listeners, which need less.
const MaxListenPorts = 2048

// httpsOnly reports whether listen-ports has only HTTPS ports, or the plain ports redirect to one of its HTTPS ports.
func httpsOnly(listenPorts, redirect string) bool {
	ports, ok := parseListenPorts(listenPorts)
	plain, redirected := false, false
	for _, p := range ports {
		plain = plain || !p.https
		redirected = redirected || p.https && (p.port == redirect || p.port == "443" && redirect == "true")
	}
	return ok && (!plain || redirected)
}

// listenPort is an element of the annotation listen-ports.
type listenPort struct {
	https bool
	port  string
}

// parseListenPorts parses the annotation listen-ports: [{"HTTP": 80}, {"HTTPS": 443}]. ok reports whether the text is
// such a list with at least one port.
func parseListenPorts(text string) (ports []listenPort, ok bool) {
	if len(text) > MaxListenPorts {
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
