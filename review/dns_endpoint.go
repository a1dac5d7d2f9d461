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
		if isOwnership(r.String()) {
			owns = true
		}
	}
	return owns
}

// isOwnership reports whether a target is an ownership record. Some providers send the target as the text of a zone
// file, in which a backslash escapes a character or is before its decimal code (RFC 1035, section 5.1).
func isOwnership(target string) bool {
	const heritage = "heritage="
	if !strings.Contains(target, `\`) {
		return strings.Contains(target, heritage)
	}
	matched := 0 // bytes of heritage before i
	for i := 0; i < len(target); i++ {
		char := target[i]
		if char == '\\' {
			if code, ok := decimalCode(target[i+1:]); ok {
				char, i = code, i+len("000")
			} else if i+1 < len(target) {
				i++
				char = target[i]
			}
		}
		switch char {
		case heritage[matched]:
			matched++
		case heritage[0]:
			matched = 1
		default:
			matched = 0
		}
		if matched == len(heritage) {
			return true
		}
	}
	return false
}

// decimalCode returns the character whose three decimal digits are at the beginning of a text.
func decimalCode(s string) (char byte, ok bool) {
	if len(s) < 3 {
		return 0, false
	}
	code := 0
	for _, digit := range []byte(s[:3]) {
		if digit < '0' || digit > '9' {
			return 0, false
		}
		code = 10*code + int(digit-'0')
	}
	return byte(code), code < 256
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
