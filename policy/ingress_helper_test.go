package policy

import (
	"testing"

	"sigs.k8s.io/yaml"
)

// mustLoadIngressRule loads a policy of one ingresses entry r with these fields, in lines indented by two but the first.
func mustLoadIngressRule(t testing.TB, text string) *Policy {
	t.Helper()
	return mustLoad(t, ingressRule(text))
}

func ingressRule(text string) string {
	return "ingresses:\n- name: r\n  mode: enforce\n  " + text + "\n"
}

var creating = Attributes{Operation: Create, Namespace: "team-a", Resource: "ingresses"}

// ingressManifest is as much of networking.k8s.io/v1 as the tests' manifests use.
type ingressManifest struct {
	Metadata struct {
		Name        string            `json:"name"`
		Annotations map[string]string `json:"annotations"`
	} `json:"metadata"`
	Spec struct {
		IngressClassName *string `json:"ingressClassName"`
		DefaultBackend   any     `json:"defaultBackend"`
		Rules            []struct {
			Host string `json:"host"`
			HTTP struct {
				Paths []struct {
					Path     string `json:"path"`
					PathType string `json:"pathType"`
				} `json:"paths"`
			} `json:"http"`
		} `json:"rules"`
		TLS []struct {
			Hosts []string `json:"hosts"`
		} `json:"tls"`
	} `json:"spec"`
}

func readIngress(t *testing.T, file string) *Ingress {
	t.Helper()
	var m ingressManifest
	if err := yaml.Unmarshal(readFile(t, file), &m); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	ing := &Ingress{
		Meta:           Meta{Name: m.Metadata.Name, Annotations: m.Metadata.Annotations},
		ClassName:      m.Spec.IngressClassName,
		DefaultBackend: m.Spec.DefaultBackend != nil,
	}
	for _, r := range m.Spec.Rules {
		rule := IngressRule{Host: r.Host}
		for _, p := range r.HTTP.Paths {
			rule.Paths = append(rule.Paths, IngressPath{p.Path, p.PathType})
		}
		ing.Rules = append(ing.Rules, rule)
	}
	for _, entry := range m.Spec.TLS {
		ing.TLS = append(ing.TLS, IngressTLS{entry.Hosts})
	}
	return ing
}

// withHosts returns an Ingress with a rule for each host.
func withHosts(hosts ...string) *Ingress {
	ing := &Ingress{}
	for _, h := range hosts {
		ing.Rules = append(ing.Rules, IngressRule{Host: h, Paths: []IngressPath{{"/", "Prefix"}}})
	}
	return ing
}

// withTLS adds an element of spec.tls.
func withTLS(ing *Ingress, hosts ...string) *Ingress {
	ing.TLS = append(ing.TLS, IngressTLS{Hosts: hosts})
	return ing
}

// withAnnotations returns an Ingress for one host with these annotations: key, value, key, value.
func withAnnotations(pairs ...string) *Ingress {
	ing := withHosts("a.example")
	ing.Annotations = map[string]string{}
	for i := 0; i < len(pairs); i += 2 {
		ing.Annotations[pairs[i]] = pairs[i+1]
	}
	return ing
}

// withPaths returns an Ingress for one host with paths: type, path, type, path.
func withPaths(pairs ...string) *Ingress {
	ing := &Ingress{Rules: []IngressRule{{Host: "a.example"}}}
	for i := 0; i < len(pairs); i += 2 {
		ing.Rules[0].Paths = append(ing.Rules[0].Paths, IngressPath{pairs[i+1], pairs[i]})
	}
	return ing
}

// withClass returns an Ingress with the class in its spec and in its annotation; empty ones are absent.
func withClass(spec, annotation string) *Ingress {
	ing := withHosts("a.example")
	if spec != "" {
		ing.ClassName = &spec
	}
	if annotation != "" {
		ing.Annotations = map[string]string{classAnnotation: annotation}
	}
	return ing
}
