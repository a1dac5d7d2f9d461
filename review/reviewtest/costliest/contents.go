package costliest

import (
	"fmt"
	"strings"
)

// nasty is a text that repeats one unit. The unit is written as JSON.
type nasty struct{ name, unit string }

// nasties returns the costliest texts: characters that are escaped or counted in messages, separators, texts that
// patterns and grammars try to match, and texts that only look like the start of something.
func nasties() []nasty {
	return []nasty{
		{"0x7f", "\x7f"},
		{"<", `\u003c`}, // as Go encodes it: six bytes for one
		{"quotes", `\"`},
		{"backslashes", `\\`},
		{"newlines", `\n`},
		{"spaces", " "},
		{"commas", ","},
		{"dots", "."},
		{"slashes", "/"},
		{"colons", ":"},
		{"digits", "0"},
		{"invalid UTF-8", "\xff"},
		{"combining marks", "\u0301"},
		{"[", "["},
		{"@", "@"},
		{"*", "*"},
		{"letters", "a"},
		{"capitals", "A"},
		{"labels", "a."},
		{"segments", "a/"},
		{"ranges", "10.0.0.0/8,"},
		{"names", ".a,"},
		{"addresses", "2001:db8::"},
		{"JSON", `\"a\":\"b\",`},
		{"attributes", "CN=a,"}, // of a subject
		{"pairs", "axbyqaz"},    // parts of the matches of the policy's patterns, but never a whole match
	}
}

// textAfter returns a JSON string of about size bytes that begins with prefix.
func (n nasty) textAfter(prefix string, size int) raw {
	return raw(`"` + prefix + strings.Repeat(n.unit, max(0, size-2-len(prefix))/len(n.unit)) + `"`)
}

// digits returns a number of about size bytes.
func digits(size int) raw { return raw(strings.Repeat("7", max(1, size))) }

// likely returns valid values, each with a placeholder for a number, by the suffix of a path.
func likely() []struct{ suffix, format string } {
	return []struct{ suffix, format string }{
		{"image", "r%d.test/a/b:1"},
		{"reference", "r%d.test/a/b:1"},
		{"host", "h%d.example.com"},
		{"hosts[]", "h%d.example.com"},
		{"path", "/a%d/b"},
		{"hostnames[]", "h%d.example.com"},
		{"externalIPs[]", "2001:db8::%x"},
		{"loadBalancerSourceRanges[]", "2001:db8::%x/128"},
		{"ip", "2001:db8::%x"},
		{"hostname", "h%d.example.com"},
		{"dnsNames[]", "h%d.example.com"},
		{"uris[]", "https://h%d.example.com/a"},
		{"ipAddresses[]", "2001:db8::%x"},
		{"literalSubject", "CN=h%d.example.com,O=a"},
		{"dnsName", "h%d.example.com"},
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
	for _, l := range likely() {
		if strings.HasSuffix(f.Path, l.suffix) {
			return raw(fmt.Sprintf(`"`+l.format+`"`, i))
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

// keys returns keys of annotations: the keys that have a meaning for a kind, which TestKeys compares with the code, a
// key that is in the policies of this package, and an unknown key.
func keys(kind string) []string {
	all := []string{"required.example/key", "a"}
	switch kind {
	case "Pod":
		all = append(all, "kubernetes.io/config.mirror", "evergate.dev/original-images")
	case "Ingress":
		all = append(all, "kubernetes.io/ingress.class", "kubernetes.io/ingress.allow-http",
			"nginx.ingress.kubernetes.io/server-snippet", "nginx.ingress.kubernetes.io/rewrite-target",
			"external-dns.kubernetes.io/hostname", "external-dns.kubernetes.io/target",
			"cert-manager.io/alt-names", "cert-manager.io/common-name", "cert-manager.io/ip-sans",
			"nginx.ingress.kubernetes.io/server-alias",
			"nginx.ingress.kubernetes.io/from-to-www-redirect", "ingress.kubernetes.io/server-alias-regex",
			"alb.ingress.kubernetes.io/listen-ports", "alb.ingress.kubernetes.io/certificate-arn",
			"alb.ingress.kubernetes.io/conditions.a",
			"zalando.org/skipper-predicate", "hosts.example/a-b-c",
			"traefik.ingress.kubernetes.io/router.pathmatcher", "k8s.ngrok.com/url", "dns.gardener.cloud/dnsnames")
	case "Route":
		all = append(all, "external-dns.kubernetes.io/hostname", "external-dns.kubernetes.io/target",
			"cert-manager.io/alt-names", "cert-manager.io/common-name", "cert-manager.io/uri-sans", "cert-manager.io/ip-sans")
	case "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute":
		all = append(all, "external-dns.kubernetes.io/hostname", "dns.gardener.cloud/dnsnames",
			"cert.gardener.cloud/commonname", "cert.gardener.cloud/dnsnames")
	case "DNSEndpoint": // names in providerSpecific
		all = append(all, "external-dns.kubernetes.io/cloudflare-custom-hostname")
	case "Service":
		all = append(all, "service.beta.kubernetes.io/load-balancer-source-ranges", "external-dns.kubernetes.io/hostname",
			"load-balancer.hetzner.cloud/http-managed-certificate-domains", "ingress.kubernetes.io/server-alias-regex",
			"k8s.ngrok.com/url", "dns.gardener.cloud/dnsnames", "cert.gardener.cloud/commonname",
			"service.beta.kubernetes.io/azure-allowed-ip-ranges",
			"oci.oraclecloud.com/oci-network-security-groups",
			"service.beta.kubernetes.io/alibaba-cloud-loadbalancer-acl-id",
			"service.beta.kubernetes.io/alicloud-loadbalancer-acl-id",
			"service.beta.kubernetes.io/aws-load-balancer-extra-security-groups",
			"service.beta.kubernetes.io/aws-load-balancer-security-group-prefix-lists",
			"service.beta.kubernetes.io/aws-load-balancer-security-groups",
			"service.beta.kubernetes.io/azure-allowed-service-tags", "service.beta.kubernetes.io/do-loadbalancer-allow-rules",
			"service.beta.kubernetes.io/linode-loadbalancer-firewall-acl",
			"service.beta.kubernetes.io/linode-loadbalancer-firewall-id")
	case "Gateway":
		all = append(all, "external-dns.kubernetes.io/hostname", "cert-manager.io/common-name", "cert-manager.io/alt-names",
			"cert-manager.io/ip-sans",
			"ingress.kubernetes.io/server-alias-regex")
	}
	return all
}
