package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
)

// claimPlace is the field of an object that makes a claim.
type claimPlace struct {
	kind       placeKind
	sameDomain bool // the claim before it is one name too, in the same domain, as most hosts of an object are
	unreadable bool // it is every host, since text cannot be read as a name
	speaks     bool // text is a name of DNS that controls the claimed hosts, and is not among them

	i, j       int32       // the element of spec.rules or spec.hostnames, or of spec.tls and of its hosts
	text       string      // as it is written; empty for claims that no text makes
	annotation *annotation // nil for the other places
}

// key returns the key of the annotation; empty for the other places.
func (p *claimPlace) key() string {
	if p.annotation == nil {
		return ""
	}
	return p.annotation.key
}

type placeKind uint8

const (
	ruleHost           placeKind = iota // spec.rules[i].host
	noRules                             // an Ingress that has only a default backend
	defaultBackend                      // a default backend beside rules
	hostname                            // spec.hostnames[i]
	noHostnames                         // a route without hostnames
	openShiftHost                       // spec.host of a Route of OpenShift
	openShiftSubdomain                  // spec.subdomain
	tlsHost                             // spec.tls[i].hosts[j]
	annotationHost
	dnsNameHost        // spec.dnsNames[i], of a Certificate like those up to ipAddressHost
	commonNameHost     // spec.commonName
	literalSubjectHost // spec.literalSubject
	uriHost            // spec.uris[i]
	ipAddressHost      // spec.ipAddresses[i]
	endpointHost       // spec.endpoints[i].dnsName of a DNSEndpoint
	endpointType       // spec.endpoints[i].recordType, by which the record controls the names below dnsName
	ownershipHost      // spec.endpoints[i].targets, which make the record one of ownership
	propertyHost       // spec.endpoints[i].providerSpecific[j]
	listenerHost       // spec.listeners[i].hostname
	infrastructureHost // spec.infrastructure.annotations
)

// String returns the field, as users write it.
func (p *claimPlace) String() string {
	switch p.kind {
	case noRules:
		return "spec.rules"
	case defaultBackend:
		return "spec.defaultBackend"
	case openShiftHost:
		return "spec.host"
	case openShiftSubdomain:
		return "spec.subdomain"
	case hostname:
		return "spec.hostnames[" + strconv.Itoa(int(p.i)) + "]"
	case noHostnames:
		return "spec.hostnames"
	case tlsHost:
		return "spec.tls[" + strconv.Itoa(int(p.i)) + "].hosts[" + strconv.Itoa(int(p.j)) + "]"
	case annotationHost:
		return annotationPath(p.key())
	case dnsNameHost:
		return elementPath("spec.dnsNames", p.i)
	case commonNameHost:
		return "spec.commonName"
	case literalSubjectHost:
		return "spec.literalSubject"
	case uriHost:
		return elementPath("spec.uris", p.i)
	case ipAddressHost:
		return elementPath("spec.ipAddresses", p.i)
	case endpointHost:
		return elementPath("spec.endpoints", p.i) + ".dnsName"
	case endpointType:
		return elementPath("spec.endpoints", p.i) + ".recordType"
	case ownershipHost:
		return elementPath("spec.endpoints", p.i) + ".targets"
	case propertyHost:
		return elementPath(elementPath("spec.endpoints", p.i)+".providerSpecific", p.j) + ".value"
	case listenerHost:
		return listenerPath(int(p.i), "hostname")
	case infrastructureHost:
		return "spec.infrastructure.annotations[" + text.QuoteUpTo(maxAnnotationKey, p.key()) + "]"
	default:
		return elementPath("spec.rules", p.i) + ".host"
	}
}

// elementPath returns the path of an element of a list.
func elementPath(list string, i int32) string { return list + "[" + strconv.Itoa(int(i)) + "]" }

// every returns the beginning of a sentence about what stands for every host.
func (p *claimPlace) every() string {
	switch {
	case p.kind == openShiftSubdomain:
		return text.Quote(p.text) + " is below the domain of each router, which means every host"
	case p.kind == defaultBackend:
		return "serves every host that no rule names"
	case p.kind == ownershipHost:
		return "has the form of an ownership record of external-dns, which takes over the records of any host"
	case p.unreadable:
		return text.Quote(p.text) + " may stand for every host"
	default:
		return "no host is set, which means every host"
	}
}

// setOne returns the end of a sentence that requires a host.
func (p *claimPlace) setOne() string {
	switch {
	case p.kind == openShiftSubdomain:
		return "; set spec.host instead"
	case p.kind == defaultBackend:
		return "; name hosts in spec.rules instead"
	case p.kind == ownershipHost:
		return "; leave heritage= out"
	case p.unreadable:
		return "; write each host out"
	default:
		return "; set one"
	}
}
