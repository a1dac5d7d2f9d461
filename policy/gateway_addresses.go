package policy

import (
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// gatewayAddressRules is the field addresses of a gateways entry: {allowed: [203.0.113.0/24], hostnames:
// ["*.lb.example.com"]}. A Gateway that asks for no address passes.
type gatewayAddressRules struct {
	// Allowed lists the address ranges that addresses of type IPAddress may be in.
	Allowed []match.CIDR `yaml:"allowed"`
	// Hostnames lists patterns that addresses of type Hostname may match.
	Hostnames []match.HostPattern `yaml:"hostnames"`
}

// Validate implements strict.Validator.
func (b *gatewayAddressRules) Validate() error {
	if b.Allowed == nil && b.Hostnames == nil {
		return errNoCheck("allowed or hostnames")
	}
	return nil
}

func (b *gatewayAddressRules) checks() []check[Gateway] {
	if b == nil {
		return nil
	}
	return []check[Gateway]{gatewayAddresses{
		match.NewCIDRSet(b.Allowed), match.NewHostSet(b.Hostnames),
		passing(append(stringsOf(b.Allowed), stringsOf(b.Hostnames)...)),
	}}
}

// gatewayAddresses (addresses) finds each element of spec.addresses that is neither of type IPAddress and in one of
// the ranges, nor of type Hostname and covered by one of the host patterns. An absent type is IPAddress. Another type,
// whose meaning is the implementation's, does not pass, nor does one without a value, for which the implementation
// chooses.
type gatewayAddresses struct {
	ranges    match.CIDRSet
	hostnames *match.HostSet
	passing   string
}

func (c gatewayAddresses) find(g *Gateway, r *report) {
	for i := range g.Addresses {
		a := &g.Addresses[i]
		if !r.spend(2 + stepsOf(2, a.Value)) {
			return
		}
		id, field, reason := c.judge(a)
		if reason == "" {
			continue
		}
		if f := r.tryAdd(id); f != nil {
			f.Path, f.Reason = "spec.addresses["+strconv.Itoa(i)+"]."+field, reason+c.passing
		}
	}
}

// judge returns the identity of the finding about an address, its field, and the beginning of its sentence; none where
// the address passes.
func (c gatewayAddresses) judge(a *GatewayAddress) (id identity, field, reason string) {
	id = identity{check: "addresses", value: a.Value, detail: a.Type}
	switch {
	case a.Value == "":
		return id, "value", "is not set, so that the implementation chooses, which is not allowed"
	case a.Type == "" || a.Type == "IPAddress":
		ip := newAddress(a.Value)
		if ip.err == nil && c.ranges.Covers(ip.prefix) {
			return id, "", ""
		}
		return ip.identity("addresses"), "value", ip.reason("")
	case a.Type == "Hostname":
		host := match.ParseHost(a.Value)
		if _, ok := c.hostnames.Covers(host); ok && host.Depth == match.HostItself {
			return id, "", ""
		}
		return id, "value", text.Quote(a.Value) + " is not allowed"
	}
	return id, "type", text.Quote(a.Type) + " is neither IPAddress nor Hostname, and not allowed"
}
