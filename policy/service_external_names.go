package policy

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// externalNameRules is the field externalNames: {allowed: ["*.corp.example"], denied: [old.corp.example]}. Names are
// compared as DNS compares them: upper and lower case and a trailing dot make no difference; *.x covers one label
// before x, **.x one or more. The field also judges spec.externalHostname.hostname of XBackends, by which a route sends
// requests to a host outside of the cluster without a Service. XBackend is an experimental kind of Gateway API.
//
// Where the field is present, also as {}, unsafe targets are denied: localhost in all its spellings, IP addresses,
// names inside the cluster, names that a Pod's search list completes to one inside the cluster, machines and metadata
// services of clouds. They pass only by a pattern of allowed that means them: the name itself (localhost), or a
// wildcard below an unsafe name (**.svc.cluster.local); a name of two labels also by *.lan. "**" and *.internal do not
// suffice.
type externalNameRules struct {
	// Allowed lists the targets that pass; every other one is denied. [] denies all.
	Allowed []match.HostPattern `yaml:"allowed"`
	// Denied lists targets that do not pass, even if allowed lists them.
	Denied []match.HostPattern `yaml:"denied"`
}

// Validate implements strict.Validator.
func (b *externalNameRules) Validate() error {
	var faults strict.Faults
	faults.Add(refuseEmpty("denied", b.Denied))
	denied := match.NewHostSet(b.Denied)
	for _, a := range b.Allowed {
		if d, also := denied.Covers(a); also {
			faults.Fieldf("allowed", "%s is also denied, by %s: no Service can pass by it", a, d)
		}
	}
	return faults.Err()
}

func (b *externalNameRules) checks() []check[serviceView] {
	if b == nil {
		return nil
	}
	meant := slices.DeleteFunc(slices.Clone(b.Allowed), func(p match.HostPattern) bool { return !allowsUnsafe(p) })
	return []check[serviceView]{&externalNames{
		unsafeAllowed: match.NewHostSet(meant),
		denied:        match.NewHostSet(b.Denied),
		limited:       b.Allowed != nil,
		allowed:       match.NewHostSet(b.Allowed),
		passing:       passing(stringsOf(b.Allowed)),
	}}
}

// allowsUnsafe reports whether a pattern of allowed means the unsafe targets that it covers. A wildcard does only below
// a name that is itself unsafe; below a single label, as in *.internal, its author may not have considered them.
func allowsUnsafe(p match.HostPattern) bool {
	switch kind := kindOf(p.Name); {
	case p.Depth == match.HostItself:
		return true
	case kind == metadataTarget, kind == loopbackTarget, kind == clusterTarget, kind == cloudTarget:
		return !match.EndsInNumber(p.Name)
	}
	return false
}

// xBackends is the resource of the XBackends of gateway.networking.x-k8s.io, as Attributes.Resource has it.
const xBackends = "xbackends"

// backendRule compiles the entry for XBackends, of which only externalNames checks something. An entry without it is
// off for them.
func (e *servicesEntry) backendRule() rule[serviceView] {
	h, checks := e.ruleHeader, e.ExternalNames.checks()
	if len(checks) == 0 {
		h.Mode = Off
	}
	return rule[serviceView]{h, checks}
}

// xBackendRules compiles the rules for XBackends.
func xBackendRules(b *blocks, c *compilation) rules {
	return rulesOf(b.Services, c, (*servicesEntry).backendRule)
}

// externalNames finds a Service of type ExternalName whose spec.externalName does not pass, and an XBackend whose
// spec.externalHostname.hostname does not. It has one finding, the first of: the target is unsafe (externalNames), it
// is denied (externalNames.denied), it is not allowed (externalNames.allowed). Services of other types are not judged:
// the field has no effect there, and an update to type ExternalName is judged.
type externalNames struct {
	unsafeAllowed *match.HostSet // patterns that unsafe targets pass by
	denied        *match.HostSet
	limited       bool // allowed is there
	allowed       *match.HostSet
	passing       string
}

func (c *externalNames) find(svc *serviceView, r *report) {
	name, field := svc.ExternalName, "spec.externalName"
	if r.subject.resource == xBackends {
		name, field = svc.ExternalHostname, "spec.externalHostname.hostname"
		if name == "" {
			return
		}
	} else if svc.effectiveType() != externalName {
		return
	}
	if !r.spend(stepsOf(4, name)) {
		return
	}
	host := svc.externalTarget(name)
	if check, reason := c.evaluate(host); check != "" {
		r.add(hostIdentity(check, host), field, text.Quote(name)+" "+reason)
	}
}

// externalTarget returns the target of the object, which is name, as a host.
func (svc *serviceView) externalTarget(name string) match.HostPattern {
	if svc.externalHost == nil {
		svc.externalHost = new(match.ParseHost(name))
	}
	return *svc.externalHost
}

// evaluate returns the check that a target does not pass, and why. The check is empty if the target passes.
func (c *externalNames) evaluate(host match.HostPattern) (check, reason string) {
	if kind := kindOf(host.Name); kind != ordinaryTarget {
		_, meant := c.unsafeAllowed.Covers(host)
		if by, ok := c.allowed.Covers(host); kind == completedName {
			meant = ok && !by.IsEvery()
		}
		if !meant {
			return "externalNames", kind.describe() + "; it passes only where externalNames.allowed names it"
		}
	}
	if by, denied := c.denied.Covers(host); denied {
		return "externalNames.denied", "is denied by " + by.String() + "; write another name"
	}
	if _, allowed := c.allowed.Covers(host); c.limited && !allowed {
		return "externalNames.allowed", "is not allowed" + c.passing
	}
	return "", ""
}

// targetKind says why the target of an ExternalName is unsafe: a client that follows it (an ingress controller, a Pod
// with more rights than the author of the Service) connects to a server that trusts clients of its network.
type targetKind uint8

const (
	ordinaryTarget  targetKind = iota
	metadataTarget             // a cloud's metadata service, which hands out credentials
	loopbackTarget             // the client that follows the name
	addressTarget              // an IP address, which a name must not be
	clusterTarget              // inside the cluster, bypassing namespaces and network policies
	cloudTarget                // a machine in the cloud's own network
	completedName              // a name that the search list of a Pod completes to one inside the cluster
	unqualifiedName            // a name of one label, which the client's resolver completes
	longName                   // longer than a host name, and not looked at any further
)

// describe returns what a sentence says of a target of this kind.
func (k targetKind) describe() string {
	return [...]string{
		metadataTarget: "is the address of a cloud's metadata service",
		loopbackTarget: "is the machine of the client that follows it (localhost)",
		addressTarget:  "is an IP address, not a name",
		clusterTarget:  "is a name inside the cluster",
		cloudTarget:    "is the name of a machine inside the cloud's network",
		completedName: "has two labels and no public top-level domain, so that a Pod's search list may make a Service " +
			"of it (name.namespace)",
		unqualifiedName: "has one label only, so that its meaning depends on who resolves it",
		longName:        "is longer than a host name, which has at most 253 characters",
	}[k]
}

// kindOf classifies a host name in lower case without trailing dot. It reads the name alone: what a name resolves to
// depends on the resolver and on the time. Names such as localtest.me, or those of a cluster domain other than
// cluster.local, have to be listed in denied.
func kindOf(name string) targetKind {
	if len(name) > match.MaxHost {
		return longName
	}
	if kind := kindOfAddress(name); kind != ordinaryTarget {
		return kind
	}
	first, rest, qualified := strings.Cut(name, ".")
	top := name[strings.LastIndexByte(name, '.')+1:]
	switch {
	case slices.Contains(metadataNames, name), first == "instance-data" && strings.HasSuffix(name, ".compute.internal"):
		return metadataTarget
	case top == "localhost", isLoopbackName(first, rest, qualified):
		return loopbackTarget
	case top == "svc", top == "pod", hasDomain(name, "cluster.local"), hasDomain(name, "clusterset.local"):
		return clusterTarget
	case isCloudName(name):
		return cloudTarget
	case !qualified:
		return unqualifiedName
	case rest == top && !isPublicDomain(top):
		return completedName
	}
	return ordinaryTarget
}

// hasDomain reports whether a name is a domain or a name below it.
func hasDomain(name, domain string) bool {
	rest, ok := strings.CutSuffix(name, domain)
	return ok && (rest == "" || strings.HasSuffix(rest, "."))
}

// isCloudName reports whether a cloud gives a name to machines inside its network: AWS (ip-10-0-0-1.ec2.internal, or
// with a region before compute.internal) and Google Cloud (vm.zone.c.project.internal). Others below .internal, which
// is reserved for private use, are a company's own.
func isCloudName(name string) bool {
	for _, domain := range [...]string{"compute.internal", "ec2.internal", "google.internal"} {
		if hasDomain(name, domain) {
			return true
		}
	}
	machine, ok := strings.CutSuffix(name, ".internal")
	project := strings.LastIndexByte(machine, '.')
	return ok && project >= 0 && hasDomain(machine[:project], "c")
}

// isPublicDomain reports whether a label is a top-level domain of the public DNS. The resolver of a Pod completes a
// name with fewer than five dots (ndots) by the domains of its search list, svc.cluster.local among them, before it
// resolves the name as it is: grafana.monitoring is the Service grafana. A namespace whose name is a public domain
// (dev) cannot be recognised.
func isPublicDomain(label string) bool {
	_, public := publicsuffix.PublicSuffix(label)
	return public
}

// metadataNames are the names of the metadata services of clouds.
var metadataNames = []string{
	"metadata", "metadata.google.internal", "metadata.goog", // Google Cloud
	"instance-data", "instance-data.ec2.internal", // AWS
	"metadata.tencentyun.com", // Tencent Cloud
	"metadata.packet.net", "metadata.platformequinix.com",
}

// metadataRanges are the addresses of those services. Most are link-local; the others are specific to a cloud.
var metadataRanges = []netip.Prefix{
	netip.MustParsePrefix("169.254.0.0/16"),     // AWS, Azure, Google Cloud, Oracle Cloud, OpenStack and others
	netip.MustParsePrefix("fe80::/10"),          // the same in IPv6: OpenStack
	netip.MustParsePrefix("fd00:ec2::/32"),      // AWS
	netip.MustParsePrefix("fd20:ce::/32"),       // Google Cloud
	netip.MustParsePrefix("fd00:c1::/32"),       // Oracle Cloud
	netip.MustParsePrefix("fd00:42::42/128"),    // Scaleway
	netip.MustParsePrefix("100.100.100.200/32"), // Alibaba Cloud
	netip.MustParsePrefix("168.63.129.16/32"),   // Azure's WireServer
	netip.MustParsePrefix("192.0.0.192/32"),     // Oracle Cloud Classic
}

// isLoopbackName reports whether hosts files give a name to the machine itself: those of Debian, of Red Hat, and those
// that kubelet writes into Pods. Names below .localhost, loopback by RFC 6761, are recognised by their last label.
func isLoopbackName(first, rest string, qualified bool) bool {
	switch first {
	case "localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback", "loopback":
		return !qualified || strings.HasPrefix(rest, "localdomain") && !strings.Contains(rest, ".")
	}
	return false
}

// kindOfAddress classifies IP addresses in all the forms that resolvers accept. A name that ends in a number without
// being an address counts as one, since some parser may accept it: no top-level domain is a number.
func kindOfAddress(name string) targetKind {
	bare := strings.TrimSuffix(strings.TrimPrefix(name, "["), "]")
	addr, err := netip.ParseAddr(bare)
	if err != nil {
		var ok bool
		if addr, ok = match.ParseLooseIPv4(name); !ok {
			if match.EndsInNumber(name) {
				return addressTarget
			}
			return ordinaryTarget
		}
	}
	addr = addr.Unmap().WithZone("")
	switch {
	case slices.ContainsFunc(metadataRanges, func(p netip.Prefix) bool { return p.Contains(addr) }):
		return metadataTarget
	case addr.IsLoopback(), addr.IsUnspecified(): // Linux connects 0.0.0.0 and :: to itself
		return loopbackTarget
	}
	return addressTarget
}
