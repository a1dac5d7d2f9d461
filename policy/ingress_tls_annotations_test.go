package policy

import (
	"maps"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
	"github.com/google/go-cmp/cmp"
)

// Some classes take certificates from annotations, and then serve TLS without spec.tls. With other classes the
// annotations have no effect.
func TestTLSByAnnotation(t *testing.T) {
	const (
		unset  = "r/tls.required: spec.tls: is not set, so plain HTTP may be served; set it"
		ports  = unset + ", or list only HTTPS in the annotation " + albPorts + ", or set " + albRedirect + " to an HTTPS port"
		noHTTP = unset + `, or set the annotation kubernetes.io/ingress.allow-http to "false"`
	)
	alb := func(pairs ...string) map[string]string { return annotationsOf("alb.ingress.kubernetes.io/", pairs...) }
	for name, test := range map[string]struct {
		field, annotation string // the classes in it
		annotations       map[string]string
		want              string
	}{
		"a certificate":         {"alb", "", alb("certificate-arn", "arn:x"), ""},
		"and HTTPS":             {"alb", "", alb("certificate-arn", "arn:x", "listen-ports", `[{"HTTPS":443}]`), ""},
		"found by host":         {"alb", "", alb("listen-ports", `[ {"HTTPS": 443}, {"HTTPS":8443} ]`), ""},
		"several in one":        {"alb", "", alb("listen-ports", `[{"HTTPS":443,"HTTPS":8443}]`), ""},
		"a redirect":            {"alb", "", alb("listen-ports", `[{"HTTP":80}, {"HTTPS":443}]`, "ssl-redirect", "443"), ""},
		"Alibaba's redirect":    {"alb", "", alb("listen-ports", `[{"HTTP":80}, {"HTTPS":443}]`, "ssl-redirect", "true"), ""},
		"Alibaba, elsewhere":    {"alb", "", alb("listen-ports", `[{"HTTP":80}, {"HTTPS":8443}]`, "ssl-redirect", "true"), ports},
		"a redirect elsewhere":  {"alb", "", alb("listen-ports", `[{"HTTP":80}, {"HTTPS":443}]`, "ssl-redirect", "44"), ports},
		"a redirect by a trick": {"alb", "", alb("listen-ports", `[{"HTTPS":443,"HTTP":80}]`, "ssl-redirect", `443,"HTTP":80`), ports},
		"HTTP too":              {"alb", "", alb("certificate-arn", "arn:x", "listen-ports", `[{"HTTP":80}, {"HTTPS":443}]`), ports},
		"HTTP alone":            {"alb", "", alb("certificate-arn", "arn:x", "listen-ports", `[{"HTTP":80}]`), ports},
		"no ports":              {"alb", "", alb("certificate-arn", "arn:x", "listen-ports", `[]`), ports},
		"empty ports":           {"alb", "", alb("certificate-arn", "arn:x", "listen-ports", ""), ports},
		"not ports":             {"alb", "", alb("certificate-arn", "arn:x", "listen-ports", `[{"HTTPS":"443"}]`), ports},
		"many ports":            {"alb", "", alb("listen-ports", `[{"HTTPS":443}`+strings.Repeat(" ", 2048)+"]"), ports},
		"a comma":               {"alb", "", alb("certificate-arn", ","), unset},
		"blank":                 {"alb", "", alb("certificate-arn", " \t,\u00a0"), unset},
		"after a comma":         {"alb", "", alb("certificate-arn", ", arn:x"), ""},
		"an empty certificate":  {"alb", "", alb("certificate-arn", ""), unset},
		"nothing":               {"alb", "", nil, unset},
		"another class":         {"nginx", "", alb("certificate-arn", "arn:x"), unset},
		"no class":              {"", "", alb("certificate-arn", "arn:x"), unset},
		"the old annotation":    {"", "alb", alb("certificate-arn", "arn:x"), ""},
		"both":                  {"alb", "alb", alb("certificate-arn", "arn:x"), ""},
		"and another class":     {"alb", "nginx", alb("certificate-arn", "arn:x"), unset},
		"another, and it":       {"nginx", "alb", alb("certificate-arn", "arn:x"), unset},

		"Application Gateway": {"azure-application-gateway", "", map[string]string{appgwCertificate: "default"}, ""},
		"its old class":       {"", "azure/application-gateway", map[string]string{appgwCertificate: "default"}, ""},
		"no certificate":      {"azure-application-gateway", "", map[string]string{"appgw.ingress.kubernetes.io/ssl-redirect": "true"}, unset},

		"GKE":                 {"", "gce", map[string]string{gkeManaged: "shop", allowHTTPAnnotation: "false"}, ""},
		"internal":            {"", "gce-internal", map[string]string{gkePreShared: "shop", allowHTTPAnnotation: "false"}, ""},
		"GKE with HTTP":       {"", "gce", map[string]string{gkeManaged: "shop"}, noHTTP},
		"GKE with HTTP, said": {"", "gce", map[string]string{gkeManaged: "shop", allowHTTPAnnotation: "true"}, noHTTP},
		"GKE without":         {"", "gce", map[string]string{allowHTTPAnnotation: "false"}, unset},

		"Traefik":          {"traefik", "", map[string]string{traefikTLS: "true"}, ""},
		"Traefik, upper":   {"traefik", "", map[string]string{traefikTLS: "True"}, ""},
		"Traefik resolver": {"traefik", "", map[string]string{traefikTLS + ".certresolver": "le"}, ""},
		"Traefik options":  {"traefik", "", map[string]string{traefikTLS + ".options": "default"}, ""},
		"Traefik, off":     {"traefik", "", map[string]string{traefikTLS: "no", traefikTLS + ".certresolver": "le"}, unset},
		"Traefik, not TLS": {"traefik", "", map[string]string{traefikTLS: "false"}, unset},
		"Kong":             {"kong", "", map[string]string{kongProtocols: "https"}, ""},
		"Kong with gRPC":   {"kong", "", map[string]string{kongProtocols: "grpcs"}, ""},
		"Kong with both":   {"kong", "", map[string]string{kongProtocols: "http,https"}, unset},
	} {
		t.Run(name, func(t *testing.T) {
			ing := withHosts("shop.apps.example.com")
			ing.Annotations = maps.Clone(test.annotations)
			if ing.Annotations == nil {
				ing.Annotations = map[string]string{}
			}
			if test.field != "" {
				ing.ClassName = &test.field
			}
			if test.annotation != "" {
				ing.Annotations[classAnnotation] = test.annotation
			}
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			a := object.Attributes{Operation: object.Create, Namespace: "team-a"}
			p := mustLoad(t, "ingresses: [{name: r, mode: enforce, tls: {required: true}}]")
			if diff := cmp.Diff(want, sentences(must(p.EvaluateIngress(a, ing, nil, nil)))); diff != "" {
				t.Error(diff)
			}
			p = mustLoad(t, "ingresses: [{name: r, mode: enforce, tls: {coversHosts: true}}]")
			if found := must(p.EvaluateIngress(a, ing, nil, nil)); len(found) > 0 != (test.want != "") {
				t.Errorf("of coversHosts: %v", sentences(found))
			}
		})
	}
}

// annotationsOf returns annotations with a prefix before each key.
func annotationsOf(prefix string, pairs ...string) map[string]string {
	all := map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		all[prefix+pairs[i]] = pairs[i+1]
	}
	return all
}

// If spec.tls is set, its hosts are compared, whatever the annotations contain.
func TestTLSByAnnotationBesideTLS(t *testing.T) {
	p := mustLoad(t, "ingresses: [{name: r, mode: enforce, tls: {required: true, coversHosts: true}}]")
	ing := withHosts("a.example", "b.example")
	ing.ClassName, ing.TLS = new("alb"), []object.IngressTLS{{Hosts: []string{"a.example"}}}
	ing.Annotations = map[string]string{albCertificate: "arn:x"}
	if got := must(p.EvaluateIngress(object.Attributes{Operation: object.Create}, ing, nil, nil)); len(got) != 1 {
		t.Errorf("got %v", sentences(got))
	}
}
