package review

import (
	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy"
)

// DNSEndpoints are externaldns.k8s.io/v1alpha1 DNSEndpoints.
func DNSEndpoints() Objects[policy.DNSEndpoint] {
	kinds := []Kind{{"DNSEndpoint", Resource{"externaldns.k8s.io", "v1alpha1", "dnsendpoints"}, nil}}
	return Objects[policy.DNSEndpoint]{kinds, readDNSEndpoint, readDNSEndpoint, nil, false}
}

func readDNSEndpoint(r *jsonscan.Reader, e *policy.DNSEndpoint) {
	for name := range r.Fields {
		switch string(name) {
		case "metadata":
			readMeta(r, &e.Meta)
		case "spec":
			for name := range r.Fields {
				if string(name) == "endpoints" {
					e.Endpoints = jsonscan.List(r, readEndpoint)
				}
			}
		}
	}
}

func readEndpoint(r *jsonscan.Reader, e *policy.Endpoint) {
	for name := range r.Fields {
		if string(name) == "dnsName" {
			e.DNSName = r.String()
		}
	}
}
