package policy

import (
	"maps"
	"os"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// For some classes the annotations decide, with and without spec.tls. With other classes they have no effect.
func TestTLSByAnnotation(t *testing.T) {
	const (
		albPorts, albRedirect   = "alb.ingress.kubernetes.io/listen-ports", "alb.ingress.kubernetes.io/ssl-redirect"
		traefik, allowHTTP      = "traefik.ingress.kubernetes.io/router.tls", allowHTTPAnnotation
		minion, nginxRedirect   = "nginx.org/mergeable-ingress-type", "nginx.ingress.kubernetes.io/ssl-redirect"
		appgw, managed          = "appgw.ingress.kubernetes.io/appgw-ssl-certificate", "networking.gke.io/managed-certificates"
		unset                   = "r/tls.required: spec.tls: is not set, so plain HTTP may be served; set it"
		forClass, plain, setTLS = "r/tls.required: spec.tls: is not enough for the class ", ", so plain HTTP may be served; ", ` to "true"`
		ports                   = forClass + `"alb"` + plain + "list only HTTPS in the annotation " + albPorts + ", or set " + albRedirect + " to an HTTPS port"
		noHTTP                  = forClass + `"gce"` + plain + "set the annotation " + allowHTTP + ` to "false"`
		router                  = forClass + `"traefik"` + plain + "set the annotation " + traefik + setTLS
		kong                    = forClass + `"kong"` + plain + `set the annotation konghq.com/protocols to "https"`
		nginx                   = forClass + `"nginx"` + plain + "set the annotation ssl-redirect" + setTLS + ", or remove it"
	)
	alb := func(pairs ...string) map[string]string { return annotationsOf("alb.ingress.kubernetes.io/", pairs...) }
	for name, test := range map[string]struct {
		field, annotation string // the classes in it
		annotations       map[string]string
		want, withTLS     string // without spec.tls, and with it
	}{
		"a certificate":         {"alb", "", alb("certificate-arn", "arn:x"), "", ""},
		"and HTTPS":             {"alb", "", alb("certificate-arn", "arn:x", "listen-ports", `[{"HTTPS":443}]`), "", ""},
		"found by host":         {"alb", "", alb("listen-ports", `[ {"HTTPS": 443}, {"HTTPS":8443} ]`), "", ""},
		"several in one":        {"alb", "", alb("listen-ports", `[{"HTTPS":443,"HTTPS":8443}]`), "", ""},
		"a redirect":            {"alb", "", alb("listen-ports", `[{"HTTP":80}, {"HTTPS":443}]`, "ssl-redirect", "443"), "", ""},
		"Alibaba's redirect":    {"alb", "", alb("listen-ports", `[{"HTTP":80}, {"HTTPS":443}]`, "ssl-redirect", "true"), "", ""},
		"Alibaba, elsewhere":    {"alb", "", alb("listen-ports", `[{"HTTP":80}, {"HTTPS":8443}]`, "ssl-redirect", "true"), ports, ports},
		"a redirect elsewhere":  {"alb", "", alb("listen-ports", `[{"HTTP":80}, {"HTTPS":443}]`, "ssl-redirect", "44"), ports, ports},
		"a redirect by a trick": {"alb", "", alb("listen-ports", `[{"HTTPS":443,"HTTP":80}]`, "ssl-redirect", `443,"HTTP":80`), ports, ports},
		"HTTP too":              {"alb", "", alb("certificate-arn", "arn:x", "listen-ports", `[{"HTTP":80}, {"HTTPS":443}]`), ports, ports},
		"not ports":             {"alb", "", alb("certificate-arn", "arn:x", "listen-ports", `[{"HTTPS":"443"}]`), ports, ports},
		"many ports":            {"alb", "", alb("listen-ports", `[{"HTTPS":443}`+strings.Repeat(" ", 2048)+"]"), ports, ports},
		"a comma":               {"alb", "", alb("certificate-arn", ","), ports, ports},
		"after a comma":         {"alb", "", alb("certificate-arn", ", arn:x"), "", ""},
		"nothing":               {"alb", "", nil, ports, ports},
		"another class":         {"internal", "", alb("certificate-arn", "arn:x"), unset, ""},
		"no class":              {"", "", alb("certificate-arn", "arn:x"), unset, ""},
		"the old annotation":    {"", "alb", alb("certificate-arn", "arn:x"), "", ""},
		"both":                  {"alb", "alb", alb("certificate-arn", "arn:x"), "", ""},
		"and another class":     {"alb", "internal", alb("certificate-arn", "arn:x"), unset, ""},
		"another, and it":       {"internal", "alb", nil, unset, ports},
		"two that differ":       {"kong", "alb", alb("certificate-arn", "arn:x"), kong, kong},

		"no certificate": {"azure/application-gateway", "", map[string]string{"appgw.ingress.kubernetes.io/ssl-redirect": "true"}, unset, ""},

		"GKE with HTTP, said": {"", "gce", map[string]string{managed: "shop", allowHTTP: "true"}, noHTTP, noHTTP},

		"Traefik, off":          {"traefik", "", map[string]string{traefik: "no", traefik + ".certresolver": "le"}, router, router},
		"Traefik, case":         {"traefik", "", map[string]string{traefik[:len(traefik)-3] + "TLS": "false", traefik + ".options": "x"}, router, router},
		"Traefik, not TLS":      {"traefik", "", map[string]string{traefik: "false"}, router, router},
		"Traefik, entry point":  {"traefik", "", map[string]string{"traefik.ingress.kubernetes.io/router.entrypoints": "websecure"}, router, router},
		"Kong with both":        {"kong", "", map[string]string{"konghq.com/protocols": "http,https"}, kong, kong},
		"Kong, plain, forced":   {"kong", "", map[string]string{"konghq.com/protocols": "http", "ingress.kubernetes.io/force-ssl-redirect": "true"}, kong, kong},
		"nginx":                 {"nginx", "", nil, unset, ""},
		"nginx without":         {"nginx", "", map[string]string{nginxRedirect: "false"}, unset, nginx},
		"nginx, another prefix": {"nginx", "", map[string]string{"corp.example/ssl-redirect": "0"}, unset, nginx},
		"F5 without":            {"nginx", "", map[string]string{"nginx.org/ssl-redirect": "False"}, unset, nginx},
		"a minion":              {"nginx", "", map[string]string{minion: "minion"}, "", ""},
		"a master":              {"nginx", "", map[string]string{minion: "master"}, unset, ""},
		"a minion elsewhere":    {"internal", "", map[string]string{minion: "minion"}, unset, ""},
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
			a := object.Attributes{Operation: object.Create, Namespace: "team-a"}
			p := mustLoad(t, "ingresses: [{name: r, mode: enforce, tls: {coversHosts: true}}]")
			if found := must(p.EvaluateIngress(a, ing, nil, nil)); len(found) > 0 != (test.want != "") {
				t.Errorf("of coversHosts: %v", sentences(found))
			}
			p = mustLoad(t, "ingresses: [{name: r, mode: enforce, tls: {required: true}}]")
			for tls, want := range map[string]string{"": test.want, "x": test.withTLS} {
				ing.TLS = []object.IngressTLS{{SecretName: tls}}[:len(tls)]
				if got := strings.Join(sentences(must(p.EvaluateIngress(a, ing, nil, nil))), "\n"); got != want {
					t.Errorf("with a Secret %q:\ngot  %s\nwant %s", tls, got, want)
				}
			}
		})
	}
}

// Each way in the table passes with all of its conditions and fails without any of them, and the page lists it.
func TestTLSClasses(t *testing.T) {
	page := string(must(os.ReadFile("../docs/policy/ingresses.md")))
	p := mustLoad(t, "ingresses: [{name: r, mode: enforce, tls: {required: true}}]")
	passes := func(class string, w TLSWay, annotations map[string]string) bool {
		ing := withHosts("a.example")
		ing.ClassName, ing.Annotations = &class, annotations
		if w.Carrier == TLSInSpec {
			ing.TLS = []object.IngressTLS{{Hosts: []string{"a.example"}}}
		}
		return len(must(p.EvaluateIngress(object.Attributes{Operation: object.Create}, ing, nil, nil))) == 0
	}
	for _, c := range TLSClasses() {
		for _, class := range c.Names {
			if !strings.Contains(page, "`"+class+"`") {
				t.Errorf("the page does not list the class %s", class)
			}
			for i, w := range c.Ways {
				good := map[string]string{}
				for _, a := range w.Annotations {
					key := strings.Replace(a.Key, "*", "x.example", 1)
					if _, name, _ := strings.Cut(key, "/"); !strings.Contains(page, name) {
						t.Errorf("the page does not list %s", key)
					}
					for _, value := range append(a.Values, "x")[:max(1, len(a.Values))] {
						good[key] = value
						if key == w.Annotations[len(w.Annotations)-1].Key && !passes(class, w, good) {
							t.Errorf("%s, way %d: fails with %v", class, i, good)
						}
					}
				}
				if w.Ports != "" {
					good[w.Ports] = `[{"HTTPS":443}]`
				}
				if !passes(class, w, good) {
					t.Errorf("%s, way %d: fails with %v", class, i, good)
				}
				for key := range good {
					bad := maps.Clone(good)
					bad[key] = ","
					if passes(class, w, bad) {
						t.Errorf("%s, way %d: passes with %v", class, i, bad)
					}
				}
			}
		}
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
	ing.Annotations = annotationsOf("alb.ingress.kubernetes.io/", "certificate-arn", "arn:x")
	if got := must(p.EvaluateIngress(object.Attributes{Operation: object.Create}, ing, nil, nil)); len(got) != 1 {
		t.Errorf("got %v", sentences(got))
	}
}
