package policy

import (
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/net/publicsuffix"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// externalNameRules is the externalNames block: {allowed: ["*.corp.example"], denied: [old.corp.example]}. Names are
// compared like DNS names: case and a trailing dot do not matter. *.x covers one label before x, and **.x covers one or
// more labels. The block also validates spec.externalHostname.hostname of XBackends. An XBackend is an experimental
// Gateway API object, with which a route can send requests to a host outside the cluster without a Service.
//
// If the block is present, even as {}, unsafe targets are denied: all spellings of localhost, IP addresses, names
// inside the cluster, names that a Pod's search list completes to a name inside the cluster, and machines and metadata
// services of clouds. An unsafe target passes only if a pattern of allowed refers to it specifically: the name itself
// (localhost) or a wildcard below an unsafe name (**.svc.cluster.local). A name of two labels also passes by a pattern
// such as *.lan. "**" and *.internal do not suffice.
type externalNameRules struct {
	// Allowed lists the targets that pass. All other targets are denied. [] denies all targets.
	Allowed []match.HostPattern `yaml:"allowed"`
	// Denied lists targets that do not pass, even if allowed lists them.
	Denied []match.HostPattern `yaml:"denied"`
}

func (b *externalNameRules) Validate() error {
	var faults strict.Faults
	faults.Add(rule.RejectEmpty("denied", b.Denied))
	denied := match.NewHostSet(b.Denied)
	for _, a := range b.Allowed {
		if d, also := denied.Covers(a); also {
			faults.Fieldf("allowed", "%s is also denied, by %s: no Service can pass by it", a, d)
		}
	}
	return faults.Err()
}

func (b *externalNameRules) checks() []rule.Check[serviceView] {
	meant := slices.DeleteFunc(slices.Clone(b.Allowed), func(p match.HostPattern) bool { return !allowsUnsafe(p) })
	return []rule.Check[serviceView]{&externalNames{
		unsafeAllowed: match.NewHostSet(meant),
		denied:        match.NewHostSet(b.Denied),
		limited:       b.Allowed != nil,
		allowed:       match.NewHostSet(b.Allowed),
		passing:       rule.Passing(text.Strings(b.Allowed)),
	}}
}

// allowsUnsafe reports whether a pattern of allowed lets the unsafe targets pass that it covers. A wildcard does so
// only below a name that is itself unsafe. If a wildcard is below a single label, as in *.internal, its author may not
// have considered the unsafe targets.
func allowsUnsafe(p match.HostPattern) bool {
	switch kind := kindOf(p.Name); {
	case p.Depth == match.HostItself:
		return true
	case kind == metadataTarget, kind == loopbackTarget, kind == clusterTarget, kind == cloudTarget:
		return !match.EndsInNumber(p.Name)
	}
	return false
}

// xBackends is the resource of XBackends (gateway.networking.x-k8s.io) in Attributes.Resource.
const xBackends = "xbackends"

// backendRule compiles the entry for XBackends. Only the externalNames block applies to them, so an entry without the
// block is off for XBackends.
func (e *servicesEntry) backendRule() rule.Rule[serviceView] {
	h, checks := e.RuleHeader, rule.ChecksOf(e.ExternalNames, (*externalNameRules).checks)
	if len(checks) == 0 {
		h.Mode = Off
	}
	return rule.New(h, checks)
}

// externalNames finds a Service of type ExternalName whose spec.externalName does not pass, and an XBackend whose
// spec.externalHostname.hostname does not pass. It adds at most one finding, for the first check that fails:
// externalNames if the target is unsafe, externalNames.denied if it is denied, externalNames.allowed if it is not
// allowed. Services of other types are not evaluated, because the field has no effect in them. An update to type
// ExternalName is evaluated.
type externalNames struct {
	unsafeAllowed *match.HostSet // patterns that let unsafe targets pass
	denied        *match.HostSet
	limited       bool // the list allowed is present
	allowed       *match.HostSet
	passing       string
}

func (c *externalNames) Find(svc *serviceView, r *rule.Recorder) {
	name, field := svc.ExternalName, "spec.externalName"
	if r.Subject.Resource == xBackends {
		name, field = svc.ExternalHostname, "spec.externalHostname.hostname"
		if name == "" {
			return
		}
	} else if svc.effectiveType() != externalName {
		return
	}
	if !r.Spend(rule.StepsOf(4, name)) {
		return
	}
	host := svc.externalTarget(name)
	if check, reason := c.evaluate(host); check != "" {
		r.Add(claim.Identity(check, host), field, text.Quote(name)+" "+reason)
	}
}

// externalTarget parses name, the target of the object, as a host, and keeps the result.
func (svc *serviceView) externalTarget(name string) match.HostPattern {
	if svc.externalHost == nil {
		svc.externalHost = new(match.ParseHost(name))
	}
	return *svc.externalHost
}

// evaluate returns the check that a target does not pass, and the reason. check is empty if the target passes.
func (c *externalNames) evaluate(host match.HostPattern) (check, reason string) {
	if kind := kindOf(host.Name); kind != ordinaryTarget {
		_, meant := c.unsafeAllowed.Covers(host)
		if by, ok := c.allowed.Covers(host); kind == completedName {
			meant = ok && !by.IsEvery()
		}
		if !meant {
			return "externalNames", kind.describe() + "; it passes only if externalNames.allowed lists it"
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

// targetKind is why the target of an ExternalName is unsafe. A client that follows the name, such as an ingress
// controller or a Pod with more rights than the author of the Service, connects to a server that trusts clients from
// its network.
type targetKind uint8

const (
	ordinaryTarget  targetKind = iota
	metadataTarget             // a cloud's metadata service, which provides credentials
	loopbackTarget             // the client that follows the name
	addressTarget              // an IP address instead of a name
	clusterTarget              // inside the cluster, which bypasses namespaces and network policies
	cloudTarget                // a machine in the cloud's network
	completedName              // a name that a Pod's search list completes to a name inside the cluster
	unqualifiedName            // a name of one label, which the client's resolver completes
	longName                   // longer than a host name, and not classified further
)

// describe returns the description of a target of this kind for messages.
func (k targetKind) describe() string {
	return [...]string{
		metadataTarget: "is the address of a cloud's metadata service",
		loopbackTarget: "is the client's machine (localhost)",
		addressTarget:  "is an IP address, not a name",
		clusterTarget:  "is a name inside the cluster",
		cloudTarget:    "is the name of a machine inside the cloud's network",
		completedName: "has two labels and no public top-level domain, so a Pod's search list may turn it into a Service " +
			"(name.namespace)",
		unqualifiedName: "has only one label, so its meaning depends on the resolver",
		longName:        "is longer than a host name, which has at most 253 characters",
	}[k]
}

// kindOf classifies a host name in lower case without a trailing dot. It only reads the name, because the result of
// resolving it depends on the resolver and the time. Other unsafe names, such as localtest.me or names in a cluster
// domain other than cluster.local, have to be listed in denied.
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
	case isMetadataName(name), first == "instance-data" && strings.HasSuffix(name, ".compute.internal"):
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

// isCloudName reports whether a cloud gives a name to machines inside its network: AWS (ip-10-0-0-1.ec2.internal, or a
// region before compute.internal) and Google Cloud (vm.zone.c.project.internal). Other names below .internal, which is
// reserved for private use, belong to companies.
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

// isPublicDomain reports whether a label is a top-level domain of the public DNS. If a name has fewer than five dots
// (ndots), the resolver of a Pod first appends the domains of its search list, such as svc.cluster.local, and only then
// resolves the name itself. So grafana.monitoring is the Service grafana in the namespace monitoring. A namespace whose
// name is a public domain, such as dev, cannot be recognised.
func isPublicDomain(label string) bool {
	_, public := publicsuffix.PublicSuffix(label)
	return public
}

// isMetadataName reports whether a name is the name of a metadata service in a cloud.
func isMetadataName(name string) bool {
	switch name {
	case "metadata", "metadata.google.internal", "metadata.goog", // Google Cloud
		"instance-data", "instance-data.ec2.internal", // AWS
		"metadata.tencentyun.com", // Tencent Cloud
		"metadata.packet.net", "metadata.platformequinix.com":
		return true
	}
	return false
}

// metadataRanges are the addresses of metadata services. Most are link-local. The others are specific to a cloud.
var metadataRanges = []netip.Prefix{ //nolint:gochecknoglobals // netip has no constants, and checks parse nothing
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

// isLoopbackName reports whether a name is a name of the machine itself in the hosts files of Debian or Red Hat, or in
// the hosts file that kubelet writes into Pods. Names below .localhost, which are loopback names by RFC 6761, are
// recognised by their last label.
func isLoopbackName(first, rest string, qualified bool) bool {
	switch first {
	case "localhost", "localhost4", "localhost6", "ip6-localhost", "ip6-loopback", "loopback":
		return !qualified || strings.HasPrefix(rest, "localdomain") && !strings.Contains(rest, ".")
	}
	return false
}

// kindOfAddress classifies IP addresses in all forms that resolvers accept. A name that ends in a number but is not an
// address also counts as an address, because no top-level domain is a number and some parser may accept it.
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
