package review

import "github.com/evergate/evergate/policy"

func (r *reader) ingress(ing *policy.Ingress) {
	for field := range r.fields {
		switch string(field) {
		case "metadata":
			r.meta(&ing.Meta)
		case "spec":
			r.ingressSpec(ing)
		}
	}
}

func (r *reader) ingressSpec(ing *policy.Ingress) {
	for field := range r.fields {
		switch string(field) {
		case "ingressClassName":
			ing.ClassName = r.optionalString()
		case "defaultBackend":
			ing.DefaultBackend = r.present()
		case "rules":
			ing.Rules = list(r, (*reader).ingressRule)
		case "tls":
			ing.TLS = list(r, (*reader).ingressTLS)
		}
	}
}

func (r *reader) ingressRule(rule *policy.IngressRule) {
	for field := range r.fields {
		switch string(field) {
		case "host":
			rule.Host = r.string()
		case "http":
			rule.Paths = r.ingressHTTP()
		}
	}
}

func (r *reader) ingressHTTP() (paths []policy.IngressPath) {
	for field := range r.fields {
		if string(field) == "paths" {
			paths = listIn(&r.paths, r, (*reader).ingressPath)
		}
	}
	return paths
}

func (r *reader) ingressPath(p *policy.IngressPath) {
	for field := range r.fields {
		switch string(field) {
		case "path":
			p.Path = r.string()
		case "pathType":
			p.Type = r.string()
		}
	}
}

func (r *reader) ingressTLS(tls *policy.IngressTLS) {
	for field := range r.fields {
		if string(field) == "hosts" {
			tls.Hosts = r.strings()
		}
	}
}
