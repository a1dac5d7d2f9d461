package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// gatewayAddressRules is the addresses field of a gateways entry: {allowed: [203.0.113.0/24], hostnames:
// ["*.lb.example.com"]}. A Gateway that does not request an address passes.
type gatewayAddressRules struct {
	// Allowed lists the address ranges in which addresses of type IPAddress may be.
	Allowed []match.CIDR `yaml:"allowed"`
	// Hostnames lists the host patterns that addresses of type Hostname may match.
	Hostnames []match.HostPattern `yaml:"hostnames"`
}

func (b *gatewayAddressRules) Validate() error {
	if b.Allowed == nil && b.Hostnames == nil {
		return rule.ErrNoCheck("allowed or hostnames")
	}
	return nil
}

func (b *gatewayAddressRules) checks() []rule.Check[gatewayView] {
	return []rule.Check[gatewayView]{gatewayAddresses{
		match.NewCIDRSet(b.Allowed), match.NewHostSet(b.Hostnames),
		rule.Passing(append(text.Strings(b.Allowed), text.Strings(b.Hostnames)...)),
	}}
}

// gatewayAddresses (addresses) finds each element of spec.addresses that does not pass. An address of type IPAddress
// passes if it is in one of the ranges. An address of type Hostname passes if one of the host patterns covers it. An
// absent type means IPAddress. Other types do not pass, because their meaning depends on the implementation. An address
// without a value does not pass either, because the implementation chooses the value.
type gatewayAddresses struct {
	ranges    match.CIDRSet
	hostnames *match.HostSet
	passing   string
}

func (c gatewayAddresses) Find(g *gatewayView, r *rule.Recorder) {
	ips := g.gatewayIPs(r)
	for i := range ips {
		a := &g.Addresses[i]
		if !r.Spend(2 + rule.StepsOf(2, a.Value)) {
			return
		}
		if c.passes(a, &ips[i]) {
			continue
		}
		if f := r.TryAdd(addressIdentity(a, &ips[i])); f != nil {
			field, reason := describeAddress(a, &ips[i])
			f.Path, f.Reason = "spec.addresses["+strconv.Itoa(i)+"]."+field, reason+c.passing
		}
	}
}

// passes reports whether an address passes. ip is the parsed value of an address of type IPAddress.
func (c gatewayAddresses) passes(a *object.GatewayAddress, ip *address) bool {
	switch {
	case a.Value == "":
		return false
	case isIPAddress(a):
		return ip.err == nil && c.ranges.Covers(ip.prefix)
	case a.Type == "Hostname":
		host := match.ParseHost(a.Value)
		_, ok := c.hostnames.Covers(host)
		return ok && host.Depth == match.HostItself
	}
	return false
}

// gatewayIPs returns the parsed elements of spec.addresses. An element of another type or without a value is a zero
// value.
func (g *gatewayView) gatewayIPs(r *rule.Recorder) []address {
	if g.addresses == nil && r.Spend(2*len(g.Addresses)) {
		g.addresses = make([]address, len(g.Addresses))
		for i := range g.Addresses {
			if a := &g.Addresses[i]; a.Value != "" && isIPAddress(a) {
				g.addresses[i] = newAddress(a.Value)
			}
		}
	}
	return g.addresses
}

// isIPAddress reports whether the type is IPAddress, which is the default of the API.
func isIPAddress(a *object.GatewayAddress) bool { return a.Type == "" || a.Type == "IPAddress" }

func addressIdentity(a *object.GatewayAddress, ip *address) rule.Identity {
	if a.Value != "" && isIPAddress(a) {
		return ip.identity("addresses")
	}
	return rule.Identity{Check: "addresses", Value: a.Value, Detail: a.Type}
}

// describeAddress returns the field that does not pass in an address, and the beginning of the sentence about it.
func describeAddress(a *object.GatewayAddress, ip *address) (field, reason string) {
	switch {
	case a.Value == "":
		return "value", "is not set, so the implementation chooses, which is not allowed"
	case isIPAddress(a):
		return "value", ip.reason("")
	case a.Type == "Hostname":
		return "value", text.Quote(a.Value) + " is not allowed"
	}
	return "type", text.Quote(a.Type) + " is neither IPAddress nor Hostname, and not allowed"
}
