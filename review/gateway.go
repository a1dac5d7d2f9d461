package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

// Gateways returns the kinds Gateway and ListenerSet of gateway.networking.k8s.io/v1, and the kind XListenerSet of
// Gateway API up to v1.4, which has the same fields as a ListenerSet.
func Gateways() Objects[object.Gateway] {
	return Objects[object.Gateway]{[]Kind{
		{"Gateway", Resource{gatewayGroup, "v1", "gateways"}, []string{"v1beta1", "v1alpha2"}},
		{"ListenerSet", Resource{gatewayGroup, "v1", "listenersets"}, nil},
		{"XListenerSet", Resource{"gateway.networking.x-k8s.io", "v1alpha1", "xlistenersets"}, nil},
	}, readGateway, readGateway, nil, false}
}

func readGateway(r *jsonscan.Reader, g *object.Gateway) {
	for name := range r.Fields {
		switch string(name) {
		case "metadata":
			readMeta(r, &g.Meta)
		case "spec":
			readGatewaySpec(r, g)
		}
	}
}

func readGatewaySpec(r *jsonscan.Reader, g *object.Gateway) {
	for name := range r.Fields {
		switch string(name) {
		case "gatewayClassName":
			g.ClassName = r.String()
		case "listeners":
			g.Listeners = jsonscan.List(r, readListener)
		case "addresses":
			g.Addresses = jsonscan.List(r, readGatewayAddress)
		case "allowedListeners":
			g.AllowedListeners = readNamespaces(r)
		case "infrastructure":
			for name := range r.Fields {
				if string(name) == "annotations" {
					g.InfrastructureAnnotations = r.StringMap()
				}
			}
		case "tls":
			readGatewayTLS(r, g)
		}
	}
}

func readListener(r *jsonscan.Reader, l *object.Listener) {
	for name := range r.Fields {
		switch string(name) {
		case "name":
			l.Name = r.String()
		case "hostname":
			l.Hostname = r.String()
		case "port":
			l.Port = r.Int32()
		case "protocol":
			l.Protocol = r.String()
		case "tls":
			l.TLS = jsonscan.Optional(r, readListenerTLS)
		case "allowedRoutes":
			l.AllowedRoutes = readNamespaces(r)
		case "filters":
			for name := range r.Fields {
				if string(name) == "requests" {
					l.Filters = jsonscan.List(r, readRouteFilter)
				}
			}
		}
	}
}

func readListenerTLS(r *jsonscan.Reader, tls *object.ListenerTLS) {
	for name := range r.Fields {
		switch string(name) {
		case "mode":
			tls.Mode = r.String()
		case "certificateRefs":
			tls.CertificateRefs = jsonscan.List(r, readCertificateRef)
		}
	}
}

// readGatewayTLS reads spec.tls of a Gateway.
func readGatewayTLS(r *jsonscan.Reader, g *object.Gateway) {
	for name := range r.Fields {
		switch string(name) {
		case "frontend":
			for name := range r.Fields {
				switch string(name) {
				case "default":
					readTLSConfig(r, &g.FrontendCAs)
				case "perPort":
					g.PortCAs = jsonscan.List(r, readPortTLS)
				}
			}
		case "backend":
			for name := range r.Fields {
				if string(name) == "clientCertificateRef" {
					g.BackendCertificate = jsonscan.Optional(r, readCertificateRef)
				}
			}
		}
	}
}

func readPortTLS(r *jsonscan.Reader, cas *[]object.CertificateRef) {
	for name := range r.Fields {
		if string(name) == "tls" {
			readTLSConfig(r, cas)
		}
	}
}

func readTLSConfig(r *jsonscan.Reader, cas *[]object.CertificateRef) {
	for name := range r.Fields {
		if string(name) == "validation" {
			*cas = readValidation(r)
		}
	}
}

// readValidation returns caCertificateRefs.
func readValidation(r *jsonscan.Reader) (cas []object.CertificateRef) {
	for name := range r.Fields {
		if string(name) == "caCertificateRefs" {
			cas = jsonscan.List(r, readCertificateRef)
		}
	}
	return cas
}

func readCertificateRef(r *jsonscan.Reader, ref *object.CertificateRef) {
	for name := range r.Fields {
		switch string(name) {
		case "namespace":
			ref.Namespace = r.String()
		case "name":
			ref.Name = r.String()
		}
	}
}

func readGatewayAddress(r *jsonscan.Reader, a *object.GatewayAddress) {
	for name := range r.Fields {
		switch string(name) {
		case "type":
			a.Type = r.String()
		case "value":
			a.Value = r.String()
		}
	}
}

// readNamespaces returns the field namespaces of the next value, or nil if it is absent.
func readNamespaces(r *jsonscan.Reader) (n *object.ListenerNamespaces) {
	for name := range r.Fields {
		if string(name) == "namespaces" {
			n = jsonscan.Optional(r, readListenerNamespaces)
		}
	}
	return n
}

func readListenerNamespaces(r *jsonscan.Reader, n *object.ListenerNamespaces) {
	for name := range r.Fields {
		switch string(name) {
		case "from":
			n.From = r.String()
		case "selector":
			n.Selector = jsonscan.Optional(r, readNamespaceSelector)
		}
	}
}

func readNamespaceSelector(r *jsonscan.Reader, s *object.NamespaceSelector) {
	for name := range r.Fields {
		switch string(name) {
		case "matchLabels":
			s.MatchLabels = r.StringMap()
		case "matchExpressions":
			s.MatchExpressions = jsonscan.List(r, readSelectorExpression)
		}
	}
}

func readSelectorExpression(r *jsonscan.Reader, e *object.SelectorExpression) {
	for name := range r.Fields {
		switch string(name) {
		case "key":
			e.Key = r.String()
		case "operator":
			e.Operator = r.String()
		}
	}
}
