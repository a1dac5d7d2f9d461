package match

import (
	_ "crypto/sha512" // the grammar takes sha384 and sha512 for unsupported unless they are linked in
	"math/big"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	grammar "github.com/distribution/reference"
)

// A reference is parsed as the grammar parses it, with its registry in the normal form of names.
func FuzzReference(f *testing.F) {
	for _, s := range append(plainReferences(), oddReferences()...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > maxReference {
			t.Skip("tested elsewhere")
		}
		got, err := ParseReference(s, "")
		got.Short = false // the grammar does not report it
		want, wantErr := readByGrammar(s)
		switch {
		case (err == nil) != (wantErr == ""):
			t.Errorf("%q: got %v, %v; the grammar says %v %s", s, got, err, want, wantErr)
		case err == nil && got != want:
			t.Errorf("%q: got %v; the grammar says %v", s, got, want)
		case err == nil:
			if again, err := ParseReference(got.String(), ""); err != nil || again != got {
				t.Errorf("%q is %s, and that reads as %v, %v", s, got, again, err)
			}
		}
	})
}

// readByGrammar reads a reference with the grammar, and then again with the normal form of the registry that it found.
func readByGrammar(s string) (ref Reference, fault string) {
	named, err := grammar.ParseNormalizedNamed(s)
	if err != nil {
		return Reference{}, err.Error()
	}
	if regexp.MustCompile(`^sha(256|384|512):[0-9a-fA-F]+$`).MatchString(s) {
		return Reference{}, "an ID"
	}
	domain := grammar.Domain(named)
	normal, fault := canonical(domain)
	if fault != "" {
		return Reference{}, fault
	}
	if normal != domain {
		if named, err = grammar.ParseNormalizedNamed(normal + s[len(domain):]); err != nil {
			return Reference{}, err.Error()
		}
	}
	return Reference{Name: named.Name(), Suffix: strings.TrimPrefix(named.String(), named.Name())}, ""
}

// canonical returns the normal form of a registry that the grammar accepts, or why its spelling is not accepted. It uses
// another algorithm than normalRegistry: it formats what net/url and inet_aton(3) read, and compares the texts.
func canonical(domain string) (normal, fault string) {
	u := url.URL{Host: strings.ToLower(domain)}
	host, port := u.Hostname(), u.Port()
	if strings.HasPrefix(u.Host, "[") {
		addr, err := netip.ParseAddr(host)
		if err != nil || addr.String() != host || addr.Is4In6() {
			return "", "not the shortest IPv6 address"
		}
		host = "[" + host + "]"
	} else if addr, loose := ParseLooseIPv4(host); loose && addr.String() != host || !loose && EndsInNumber(host) {
		return "", "not four decimal numbers"
	}
	if port != "" {
		number, _ := new(big.Int).SetString(port, 10)
		if number.Sign() == 0 || number.Cmp(big.NewInt(1<<16-1)) > 0 || number.String() != port {
			return "", "no such port"
		}
	}
	switch plain := domain == "" || host == "localhost" || strings.ContainsAny(host, ".["); {
	case plain && (port == "" || port == "443"):
		return host, ""
	case port == "":
		port = "443"
	}
	return host + ":" + port, ""
}

// The usual references are accepted.
func TestPlainReferences(t *testing.T) {
	for _, s := range plainReferences() {
		if _, err := ParseReference(s, ""); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// oddReferences are corner cases of the grammar.
func oddReferences() []string {
	return []string{
		"index.docker.io/nginx", "docker.io/nginx", "a.example/b__c", "A.example/b", "a.example:/b", "a.example:5a/b", "x:1/y",
		"nginx:", "nginx:.1", "nginx@sha512:" + strings.Repeat("a", 128), strings.Repeat("a", 64), "a.example/" + strings.Repeat("x", 250),
		"a/" + strings.Repeat("x", 254), "nginx:" + strings.Repeat("1", 129), "localhost:5000/", "/x", "a//b", "a.-b/c", "a_b.example/c",
		"a_b.example/" + strings.Repeat("x", 244), "a_b.example:1/c", "A_b/c", "a___b/c", "a__b/c", "a---b/c", "a._b/c", "a..b/c", "-a/b", "a-/b",
		"a-.example/b", "a.example/b-", "a.example/-b", "x:A@" + digest256, "x:A@SHA256:" + digest256[7:], "x@SHA256:" + digest256[7:],
		"x@sha256:" + strings.ToUpper(digest256[7:]), "x@sha384:" + strings.Repeat("0", 96), "x:@" + digest256, "x@", "x@@", "@" + digest256, ":1",
		"x:1:2", "x@md5:" + strings.Repeat("0", 32), "Foo/bar", "foo:443/bar", "foo:0443/bar", "Foo:5/bar", "LOCALHOST/x", "localhost:443/x",
		"docker.io:443/x", "INDEX.docker.io:0443/x", "index.docker.io:5000/x", "reg:05000/x", "reg:0/x", "reg:65535/x", "reg:65536/x", "reg:00/x",
		"reg:99999999999999999999/x", "[::1]/x", "[::1]:5000/x", "[::1]:0443/x", "[2001:DB8:0::1]/x", "[::ffff:102:304]/x", "[:]/x", "[::1/x",
		"[1]/x", "[]/x", "[::1]x/y", "[::1]:/x", "[::1]", "[::1]:5000", "127.1/x", "0x7f.1:5/x", "010.0.0.1/x", "2130706433:5000/x", "5000/x", "1.2.3.4.5/x",
		"1.2.3.256/x", "0X00/0", "sha256:12ab", "sha384:1", "sha512:" + strings.Repeat("f", 128), "sha256:12AB", "sha256:xyz", "library/sha256:12ab",
		"docker.io/sha256:12ab", "sha256", "sha1:12ab", "sha256:12ab@" + digest256, "a/b_", "_a/b", "a.b/_c", "a.b/c__d___e",
		"docker.io:443/" + strings.Repeat("x", 250), strings.Repeat("x", 248), strings.Repeat("x", 247),
	}
}

func plainReferences() []string {
	return []string{
		"nginx", "nginx:1.25", "bitnami/redis:7.2_debian-12", "docker.io/library/nginx", "localhost:5000/x", "localhost/x:A",
		"registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.13.0", "reg.example:5000/a-b/c.d/e_f@" + digest256,
		"123456789012.dkr.ecr.eu-west-1.amazonaws.com/team/app:main-2026@" + digest256,
	}
}

// The cost of parsing one image. Unusual images must not cost much more for each byte than usual images.
func BenchmarkReference(b *testing.B) {
	for name, image := range map[string]string{
		"plain":      "registry.k8s.io/kube-state-metrics/kube-state-metrics:v2.13.0",
		"short":      "docker.io/nginx",
		"port":       "REG.example:5000/a/b",
		"long path":  "a.example/" + strings.Repeat("a/", 500) + "x",
		"hyphens":    strings.Repeat("a-", 505) + "/x",
		"underscore": strings.Repeat("a_", 505) + "b/x",
		"upper case": strings.Repeat("A", 500) + "/" + strings.Repeat("a", 500) + "A",
		"address":    "[" + strings.Repeat("0:", 500) + ":]/x",
		"octal":      strings.Repeat("0", 1000) + ".1/x",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(image)))
			for b.Loop() {
				_, _ = ParseReference(image, "")
			}
		})
	}
}
