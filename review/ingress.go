package review

import "github.com/evergate/evergate/policy"

func (r *reader) ingress(ing *policy.Ingress) {
	for field := range r.fields(objectFields) {
		switch field {
		case "metadata":
			r.meta(&ing.Meta, metaFields)
		case "spec":
			r.ingressSpec(ing)
		}
	}
}

var ingressFields = fieldsOf("ingressClassName", "defaultBackend", "tls", "rules")

func (r *reader) ingressSpec(ing *policy.Ingress) {
	for field := range r.fields(ingressFields) {
		switch field {
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

var ingressRuleFields = fieldsOf("host", "http")

func (r *reader) ingressRule(rule *policy.IngressRule) {
	for field := range r.fields(ingressRuleFields) {
		switch field {
		case "host":
			rule.Host = r.string()
		case "http":
			rule.Paths = r.ingressHTTP()
		}
	}
}

var ingressHTTPFields = fieldsOf("paths")

func (r *reader) ingressHTTP() (paths []policy.IngressPath) {
	for field := range r.fields(ingressHTTPFields) {
		if field == "paths" {
			paths = listIn(&r.paths, r, (*reader).ingressPath)
		}
	}
	return paths
}

var ingressPathFields = fieldsOf("path", "pathType", "-backend")

var pathTypes = []string{"Prefix", "Exact", "ImplementationSpecific"}

func (r *reader) ingressPath(p *policy.IngressPath) {
	for field := range r.fields(ingressPathFields) {
		switch field {
		case "path":
			p.Path = r.string()
		case "pathType":
			p.Type = r.oneOf(pathTypes)
		}
	}
}

var ingressTLSFields = fieldsOf("hosts", "-secretName")

func (r *reader) ingressTLS(tls *policy.IngressTLS) {
	for field := range r.fields(ingressTLSFields) {
		if field == "hosts" {
			tls.Hosts = r.strings()
		}
	}
}
