package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

func TestExternalIPs(t *testing.T) {
	const rule = `externalIPs: {allowed: [203.0.113.0/25, 203.0.113.128/25, 198.51.100.7, "2001:db8::/32"]}`
	const allowed = "; allowed: 203.0.113.0/25, 203.0.113.128/25, 198.51.100.7/32, 2001:db8::/32"
	ips := func(ips ...string) object.Service { return object.Service{ExternalIPs: ips} }
	testServices(t, []serviceCase{
		{"none", "externalIPs: {allowed: []}", object.Service{}, nil},
		{"inside", rule, ips("203.0.113.0", "203.0.113.255", "198.51.100.7", "2001:db8:ffff::1", "2001:DB8::1"), nil},
		{"mapped", rule, ips("::ffff:203.0.113.7", "::ffff:8.8.8.8"), []string{
			`r/externalIPs.allowed: spec.externalIPs[1]: "::ffff:8.8.8.8" is not allowed` + allowed}},
		{"IPv4 is not IPv6", `externalIPs: {allowed: ["::/0"]}`, ips("::1", "8.8.8.8", "::ffff:8.8.8.8"), []string{
			`r/externalIPs.allowed: spec.externalIPs[1]: "8.8.8.8" is not allowed; allowed: ::/0`,
			`r/externalIPs.allowed: spec.externalIPs[2]: "::ffff:8.8.8.8" is not allowed; allowed: ::/0`}},
		{"outside", rule, ips("198.51.100.8", "2001:db9::1"), []string{
			`r/externalIPs.allowed: spec.externalIPs[0]: "198.51.100.8" is not allowed` + allowed,
			`r/externalIPs.allowed: spec.externalIPs[1]: "2001:db9::1" is not allowed` + allowed}},
		{"nothing allowed", "externalIPs: {allowed: []}", ips("203.0.113.7"), []string{
			`r/externalIPs.allowed: spec.externalIPs[0]: "203.0.113.7" is not allowed; the policy allows none`}},
		{"no address", `externalIPs: {allowed: [0.0.0.0/0, "::/0"]}`, ips("010.0.0.1", "10.0.0", "10.0.0.0/8", "fe80::1%eth0", "", "a\nb"), []string{
			`r/externalIPs.allowed: spec.externalIPs[0]: "010.0.0.1" is not an address: IPv4 field has octet with leading zero`,
			`r/externalIPs.allowed: spec.externalIPs[1]: "10.0.0" is not an address: IPv4 address too short`,
			`r/externalIPs.allowed: spec.externalIPs[2]: "10.0.0.0/8" is not an address: unexpected character (at "/8")`,
			`r/externalIPs.allowed: spec.externalIPs[3]: "fe80::1%eth0" is not an address: an address with a zone means something on one machine only`,
			`r/externalIPs.allowed: spec.externalIPs[4]: "" is not an address: unable to parse IP`,
			`r/externalIPs.allowed: spec.externalIPs[5]: "a\nb" is not an address: unable to parse IP`}},
	})
}

func TestCIDRErrors(t *testing.T) {
	const write = "; write one such as 203.0.113.0/24 or 2001:db8::/32"
	testErrors(t, "services", servicesRule, map[string]string{
		"externalIPs: {allowed: [10.0.0.5/8]}":            `externalIPs.allowed[0]: "10.0.0.5/8" has bits set beyond its length: write 10.0.0.0/8 for the range or 10.0.0.5 for the one address`,
		`externalIPs: {allowed: ["2001:db8::1/32"]}`:      `externalIPs.allowed[0]: "2001:db8::1/32" has bits set beyond its length: write 2001:db8::/32 for the range or 2001:db8::1 for the one address`,
		`externalIPs: {allowed: ["::ffff:10.0.0.5/104"]}`: `externalIPs.allowed[0]: "::ffff:10.0.0.5/104" has bits set beyond its length: write 10.0.0.0/8 for the range or 10.0.0.5 for the one address`,
		`externalIPs: {allowed: ["::ffff:0:0/90"]}`:       `externalIPs.allowed[0]: "::ffff:0:0/90" has bits set beyond its length: write ::ffc0:0:0/90 for the range or ::ffff:0.0.0.0 for the one address`,
		"externalIPs: {allowed: [10.0.0.0/33]}":           `externalIPs.allowed[0]: "10.0.0.0/33" is not an address range: prefix length out of range` + write,
		"externalIPs: {allowed: [10.0.0.0/08]}":           `externalIPs.allowed[0]: "10.0.0.0/08" is not an address range: bad bits after slash: "08"` + write,
		"externalIPs: {allowed: [example.com]}":           `externalIPs.allowed[0]: "example.com" is not an address range: unexpected character (at "example.com")` + write,
		`externalIPs: {allowed: [""]}`:                    `externalIPs.allowed[0]: "" is not an address range: unable to parse IP` + write,
		"externalIPs: {allowed: [10.0.0.010]}":            `externalIPs.allowed[0]: "10.0.0.010" is not an address range: IPv4 field has octet with leading zero` + write,
		`externalIPs: {allowed: ["fe80::%eth0/64"]}`:      `externalIPs.allowed[0]: "fe80::%eth0/64" is not an address range: IPv6 zones cannot be present in a prefix` + write,
		"externalIPs: {allowed: 10.0.0.0/8}":              `externalIPs.allowed: want a list, got "10.0.0.0/8"`,
		"externalIPs: {allowed: null}":                    "externalIPs.allowed: null is not a value: leave the field out to leave it unchecked, or write a list (the empty one is [])",
	})
}
