package costliest

import (
	"fmt"
	"slices"
	"strings"
)

// nasty is a text that repeats one unit. The unit is written as JSON.
type nasty struct{ name, unit string }

// nasties returns the costliest texts: characters that are escaped or counted in messages, separators, texts that
// patterns and grammars try to match, and texts that only look like the start of something.
func nasties() []nasty {
	return []nasty{
		{"0x7f", "\x7f"}, {"<", `\u003c`}, // as Go encodes it: six bytes for one
		{"quotes", `\"`}, {"backslashes", `\\`}, {"newlines", `\n`}, {"spaces", " "}, {"commas", ","}, {"dots", "."},
		{"slashes", "/"}, {"colons", ":"}, {"digits", "0"}, {"invalid UTF-8", "\xff"}, {"combining marks", "\u0301"},
		{"[", "["}, {"@", "@"}, {"*", "*"}, {"letters", "a"}, {"capitals", "A"}, {"labels", "a."}, {"segments", "a/"},
		{"ranges", "10.0.0.0/8,"}, {"names", ".a,"}, {"addresses", "2001:db8::"}, {"JSON", `\"a\":\"b\",`},
		{"attributes", "CN=a,"}, // of a subject
		{"pairs", "axbyqaz"},    // parts of the matches of the policy's patterns, but never a whole match
	}
}

// textAfter returns a JSON string of about size bytes that begins with prefix.
func (n nasty) textAfter(prefix string, size int) raw {
	return raw(`"` + prefix + strings.Repeat(n.unit, max(0, size-2-len(prefix))/len(n.unit)) + `"`)
}

// likely returns valid values, each with a placeholder for a number, by the suffixes of paths.
func likely() map[string][]string {
	return map[string][]string{
		"r%d.test/a/b:1":            {"image", "reference"},
		"h%d.example.com":           {"host", "hosts[]", "hostname", "hostnames[]", "dnsName", "dnsNames[]"},
		"/a%d/b":                    {"path"},
		"2001:db8::%x":              {"externalIPs[]", "loadBalancerIP", "ip", "ipAddresses[]"},
		"2001:db8::%x/128":          {"loadBalancerSourceRanges[]"},
		"https://h%d.example.com/a": {"uris[]"},
		"CN=h%d.example.com,O=a":    {"literalSubject"},
	}
}

// valid returns the i-th of many different valid values.
func (f field) valid(i int) raw {
	switch f.Type {
	case numeric:
		return raw(fmt.Sprint(1 + i%65535))
	case boolean:
		return raw(fmt.Sprint(i%2 == 0))
	case mapping:
		return raw(fmt.Sprintf(`{"a.example/b%d":"c"}`, i))
	}
	if strings.HasSuffix(f.Path, "ullPolicy") { // imagePullPolicy, pullPolicy
		return []raw{`"Never"`, `"Always"`}[i%2]
	}
	for format, suffixes := range likely() {
		if slices.ContainsFunc(suffixes, func(suffix string) bool { return strings.HasSuffix(f.Path, suffix) }) {
			return raw(fmt.Sprintf(`"`+format+`"`, i))
		}
	}
	return raw(fmt.Sprintf(`"a%d"`, i))
}

// element is a way to write the i-th of many elements.
type element struct {
	name string
	of   func(f field, i int) raw
}

func elements() []element {
	return []element{
		{"empty", func(f field, _ int) raw {
			return [...]raw{textual: `""`, numeric: `0`, boolean: `false`, mapping: `{}`}[f.Type]
		}},
		{"null", func(field, int) raw { return `null` }},
		{"equal", func(f field, _ int) raw { return f.valid(7) }},
		{"different", field.valid},
		{"different, not valid", func(f field, i int) raw {
			if f.Type != textual {
				return f.valid(i)
			}
			return raw(fmt.Sprintf(`"\u003c%d:*"`, i))
		}},
	}
}

// keys returns the keys of a mapping whose values are tried, and an empty key for another field.
func (f field) keys(kind string) []string {
	switch {
	case f.Type != mapping:
		return []string{""}
	case !strings.HasSuffix(f.Path, ".annotations"):
		return keys(kind)[:1]
	}
	return keys(kind)
}

// keys returns keys of annotations: a key that is in the policies of this package, an unknown key, and the keys that
// have a meaning for a kind, which TestHostGrammars compares with the code.
func keys(kind string) []string {
	const (
		externalDNS = " external-dns.kubernetes.io/hostname "
		targets     = " external-dns.kubernetes.io/target "
		certManager = " cert-manager.io/alt-names cert-manager.io/common-name cert-manager.io/ip-sans "
		aliases     = " ingress.kubernetes.io/server-alias-regex "
		gardener    = " dns.gardener.cloud/dnsnames cert.gardener.cloud/commonname "
		route       = externalDNS + gardener + "cert.gardener.cloud/dnsnames"
	)
	return append([]string{"required.example/key", "a"}, strings.Fields(map[string]string{
		"Pod": "kubernetes.io/config.mirror evergate.dev/original-images",
		"Ingress": `kubernetes.io/ingress.class kubernetes.io/ingress.allow-http nginx.ingress.kubernetes.io/server-snippet
			nginx.ingress.kubernetes.io/rewrite-target` + externalDNS + targets + certManager + `
			nginx.ingress.kubernetes.io/server-alias nginx.ingress.kubernetes.io/from-to-www-redirect` + aliases + `
			alb.ingress.kubernetes.io/listen-ports alb.ingress.kubernetes.io/certificate-arn
			alb.ingress.kubernetes.io/conditions.a zalando.org/skipper-predicate hosts.example/a-b-c
			traefik.ingress.kubernetes.io/router.pathmatcher k8s.ngrok.com/url dns.gardener.cloud/dnsnames`,
		"Route":     externalDNS + targets + certManager + "cert-manager.io/uri-sans",
		"HTTPRoute": route, "GRPCRoute": route, "TLSRoute": route, "TCPRoute": route, "UDPRoute": route,
		"DNSEndpoint": "external-dns.kubernetes.io/cloudflare-custom-hostname", // names in providerSpecific
		"Service": `service.beta.kubernetes.io/load-balancer-source-ranges` + externalDNS + aliases + gardener + `
			load-balancer.hetzner.cloud/http-managed-certificate-domains k8s.ngrok.com/url
			service.beta.kubernetes.io/azure-allowed-ip-ranges oci.oraclecloud.com/oci-network-security-groups
			service.beta.kubernetes.io/alibaba-cloud-loadbalancer-acl-id
			service.beta.kubernetes.io/alicloud-loadbalancer-acl-id
			service.beta.kubernetes.io/aws-load-balancer-extra-security-groups
			service.beta.kubernetes.io/aws-load-balancer-security-group-prefix-lists
			service.beta.kubernetes.io/aws-load-balancer-security-groups
			service.beta.kubernetes.io/azure-allowed-service-tags service.beta.kubernetes.io/do-loadbalancer-allow-rules
			service.beta.kubernetes.io/linode-loadbalancer-firewall-acl
			service.beta.kubernetes.io/linode-loadbalancer-firewall-id`,
		"Gateway": externalDNS + certManager + aliases,
	}[kind])...)
}
