package review

import (
	"strings"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

// DNSEndpoints returns the kind DNSEndpoint of externaldns.k8s.io/v1alpha1.
func DNSEndpoints() Objects[object.DNSEndpoint] {
	kinds := []Kind{{"DNSEndpoint", Resource{"externaldns.k8s.io", "v1alpha1", "dnsendpoints"}, nil}}
	return Objects[object.DNSEndpoint]{kinds, readDNSEndpoint, readDNSEndpoint, nil, false}
}

func readDNSEndpoint(r *jsonscan.Reader, e *object.DNSEndpoint) {
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

func readEndpoint(r *jsonscan.Reader, e *object.Endpoint) {
	for name := range r.Fields {
		switch string(name) {
		case "dnsName":
			e.DNSName = r.String()
		case "recordType":
			e.RecordType = r.String()
		case "targets":
			e.OwnershipRecord = readOwnership(r)
		case "providerSpecific":
			e.Properties = jsonscan.List(r, readProperty)
		}
	}
}

// readOwnership reports whether a target has the form of an external-dns ownership record (endpoint/labels.go), with or
// without quotes around it. Other targets do not affect the decision.
func readOwnership(r *jsonscan.Reader) (owns bool) {
	for range r.Items {
		if strings.Contains(r.String(), "heritage=") {
			owns = true
		}
	}
	return owns
}

func readProperty(r *jsonscan.Reader, p *object.EndpointProperty) {
	for name := range r.Fields {
		switch string(name) {
		case "name":
			p.Name = r.String()
		case "value":
			p.Value = r.String()
		}
	}
}
