package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

func readIngress(r *jsonscan.Reader, ing *object.Ingress) {
	for name := range r.Fields {
		switch string(name) {
		case "metadata":
			readMeta(r, &ing.Meta)
		case "spec":
			readIngressSpec(r, ing)
		}
	}
}

func readIngressSpec(r *jsonscan.Reader, ing *object.Ingress) {
	for name := range r.Fields {
		switch string(name) {
		case "ingressClassName":
			ing.ClassName = r.OptionalString()
		case "defaultBackend":
			ing.DefaultBackend = jsonscan.Optional(r, readIngressBackend)
		case "rules":
			ing.Rules = jsonscan.List(r, readIngressRule)
		case "tls":
			ing.TLS = jsonscan.List(r, readIngressTLS)
		}
	}
}

func readIngressRule(r *jsonscan.Reader, rule *object.IngressRule) {
	for name := range r.Fields {
		switch string(name) {
		case "host":
			rule.Host = r.String()
		case "http":
			for name := range r.Fields {
				if string(name) == "paths" {
					rule.Paths = jsonscan.List(r, readIngressPath)
				}
			}
		}
	}
}

func readIngressPath(r *jsonscan.Reader, p *object.IngressPath) {
	for name := range r.Fields {
		switch string(name) {
		case "path":
			p.Path = r.String()
		case "pathType":
			p.Type = r.String()
		case "backend":
			readIngressBackend(r, &p.Backend)
		}
	}
}

func readIngressBackend(r *jsonscan.Reader, b *object.IngressBackend) {
	for name := range r.Fields {
		switch string(name) {
		case "service":
			readIngressService(r, b)
		case "resource":
			var resource reference
			for name := range r.Fields {
				resource.read(r, name)
			}
			b.ResourceKind, b.ResourceName = resource.kind, resource.name
		}
	}
}

func readIngressService(r *jsonscan.Reader, b *object.IngressBackend) {
	for name := range r.Fields {
		switch string(name) {
		case "name":
			b.Service = r.String()
		case "port":
			for name := range r.Fields {
				switch string(name) {
				case "number":
					b.Port = r.Int32()
				case "name":
					b.PortName = r.String()
				}
			}
		}
	}
}

func readIngressTLS(r *jsonscan.Reader, tls *object.IngressTLS) {
	for name := range r.Fields {
		switch string(name) {
		case "hosts":
			tls.Hosts = r.Strings()
		case "secretName":
			tls.SecretName = r.String()
		}
	}
}
