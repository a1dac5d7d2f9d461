package match

import (
	"slices"
	"strings"
	"testing"
)

const digest256 = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

var digest512 = "sha512:" + strings.Repeat("0123456789abcdef", 8)

// A short name is an image of the registry of short names. Only docker.io has library/.
func TestShortNames(t *testing.T) {
	for image, want := range map[string]struct{ name, ofCorp string }{
		"nginx":                 {"docker.io/library/nginx", "corp.example:5000/nginx"},
		"nginx:1@" + digest256:  {"docker.io/library/nginx", "corp.example:5000/nginx"},
		"nginx.1":               {"docker.io/library/nginx.1", "corp.example:5000/nginx.1"},
		"localhost:5000":        {"docker.io/library/localhost", "corp.example:5000/localhost"},
		"team/app":              {"docker.io/team/app", "corp.example:5000/team/app"},
		"library/nginx":         {"docker.io/library/nginx", "corp.example:5000/library/nginx"},
		"docker.io/nginx":       {"docker.io/library/nginx", ""},
		"localhost/x":           {"localhost/x", ""},
		"Team/app":              {"team:443/app", ""},
		"[2001:db8::1]:5000/x":  {"[2001:db8::1]:5000/x", ""},
		"corp.example:5000/x/y": {"corp.example:5000/x/y", ""},
	} {
		ref, err := ParseReference(image, "")
		other, errOther := ParseReference(image, "corp.example:5000")
		short := want.ofCorp != ""
		if !short {
			want.ofCorp = want.name
		}
		if err != nil || errOther != nil || ref.Name != want.name || other.Name != want.ofCorp || other.Suffix != ref.Suffix {
			t.Errorf("%s: %v %v, %v %v", image, ref, err, other, errOther)
		}
		if ref.Short != short || other.Short != short {
			t.Errorf("%s: %t %t", image, ref.Short, other.Short)
		}
	}
	for _, image := range []string{"NGINX", strings.Repeat("a", 64), "sha256:12ab", "", "nginx:", "a//b", strings.Repeat("x", 256)} {
		if ref, err := ParseReference(image, "corp.example"); err == nil {
			t.Errorf("%s: %v", image, ref)
		}
	}
}

func TestParseReference(t *testing.T) {
	for s, want := range map[string]struct{ name, tag, digest string }{
		"nginx":                                 {"docker.io/library/nginx", "", ""},
		"nginx:1.25":                            {"docker.io/library/nginx", "1.25", ""},
		"bitnami/redis":                         {"docker.io/bitnami/redis", "", ""},
		"docker.io/nginx":                       {"docker.io/library/nginx", "", ""},
		"index.docker.io/nginx:1":               {"docker.io/library/nginx", "1", ""},
		"INDEX.docker.io/nginx:1":               {"docker.io/library/nginx", "1", ""},
		"DOCKER.IO/nginx":                       {"docker.io/library/nginx", "", ""},
		"GHCR.io/acme/app:V1":                   {"ghcr.io/acme/app", "V1", ""},
		"Foo/bar":                               {"foo:443/bar", "", ""}, // a host without a dot, as the runtimes read it
		"ghcr.io:443/acme/app:1":                {"ghcr.io/acme/app", "1", ""},
		"GHCR.io:443/acme/app":                  {"ghcr.io/acme/app", "", ""},
		"localhost:443/x":                       {"localhost/x", "", ""},
		"docker.io:443/nginx":                   {"docker.io/library/nginx", "", ""},
		"index.docker.io:443/nginx":             {"docker.io/library/nginx", "", ""},
		"Reg:5000/x":                            {"reg:5000/x", "", ""},
		"reg:65535/x":                           {"reg:65535/x", "", ""},
		"[2001:DB8::1]:5000/x":                  {"[2001:db8::1]:5000/x", "", ""},
		"[::1]:443/x:1":                         {"[::1]/x", "1", ""},
		"192.0.2.1:5000/x":                      {"192.0.2.1:5000/x", "", ""},
		"a_b.example/x":                         {"a_b.example/x", "", ""},
		"docker.io/library/sha256:12ab":         {"docker.io/library/sha256", "12ab", ""},
		"sha256:v1":                             {"docker.io/library/sha256", "v1", ""},
		"localhost/x":                           {"localhost/x", "", ""},
		"localhost:5000/x:1":                    {"localhost:5000/x", "1", ""},
		"reg.example:5000/a/b/c:1":              {"reg.example:5000/a/b/c", "1", ""},
		"[::1]:5000/x":                          {"[::1]:5000/x", "", ""},
		"nginx@" + digest256:                    {"docker.io/library/nginx", "", digest256},
		"nginx:1.25@" + digest256:               {"docker.io/library/nginx", "1.25", digest256},
		"a.example/x@" + digest512:              {"a.example/x", "", digest512},
		"localhost:5000":                        {"docker.io/library/localhost", "5000", ""},
		"a.example/" + strings.Repeat("x", 255): {"a.example/" + strings.Repeat("x", 255), "", ""},
	} {
		ref, err := ParseReference(s, "")
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if ref.Name != want.name || ref.Tag() != want.tag || ref.Digest() != want.digest {
			t.Errorf("%s: got %s, tag %q, digest %q", s, ref.Name, ref.Tag(), ref.Digest())
		}
		if registry, _, _ := strings.Cut(want.name, "/"); ref.Registry() != registry {
			t.Errorf("%s: got registry %s", s, ref.Registry())
		}
		if !strings.HasSuffix(s, ref.Suffix) || ref.String() != ref.Name+ref.Suffix {
			t.Errorf("%s: tag and digest must stay as written, got %s", s, ref)
		}
	}
}

func TestParseReferenceErrors(t *testing.T) {
	const (
		imageID   = "a node may take it for the ID of any image on the node, or for the start of an ID: write a name"
		ports     = "ports are 1 to 65535, without leading zeros"
		addresses = "addresses are written like 192.0.2.1 or [2001:db8::1]"
	)
	for s, want := range map[string]string{
		"":                                     "it is empty",
		"nginx ":                               "it has the character ' ', which no image reference has",
		"nginx\n":                              `it has the character '\n', which no image reference has`,
		"nginx:1\u00e4":                        "it has the character 'ä', which no image reference has",
		"\xff":                                 "it has the character '�', which no image reference has",
		"Nginx":                                "invalid reference format: repository name (library/Nginx) must be lowercase",
		"nginx:":                               "invalid reference format",
		"https://docker.io/nginx":              "invalid reference format",
		"REG.\u212a.example/x":                 "it has the character '\u212a', which no image reference has",
		"nginx@sha256:12":                      "invalid reference format",
		"docker.io./library/nginx":             "invalid reference format",
		strings.Repeat("a", 64):                "invalid repository name (" + strings.Repeat("a", 64) + "), cannot specify 64-byte hexadecimal strings",
		strings.Repeat("<", 1<<20):             "it has 1048576 bytes, and no image reference has more than 1024",
		strings.Repeat("a/", 200):              "invalid reference format",
		strings.Repeat("ab/", 99):              "invalid reference format",
		strings.Repeat("x", 256):               "repository name must not be more than 255 characters",
		"x@md5:" + digest256[7:]:               "unsupported digest algorithm",
		"x@sha512:" + digest256[7:]:            "invalid checksum digest length",
		"reg:0/x":                              "it has the port 0, and " + ports,
		"reg.example:000/x":                    "it has the port 000, and " + ports,
		"foo:0443/bar":                         "it has the port 0443, and " + ports,
		"GHCR.io:0443/acme/app":                "it has the port 0443, and " + ports,
		"reg.example:65536/x":                  "it has the port 65536, and " + ports,
		"reg.example:5a/x":                     "it has the port 5a, and " + ports,
		"[::1]:70000/x:1":                      "it has the port 70000, and " + ports,
		"a:" + strings.Repeat("9", 500) + "/x": "it has the port " + strings.Repeat("9", 57) + "…, and " + ports,
		"[1:2]/x":                              "it has the host [1:2], and " + addresses,
		"[2001:DB8:0::1]:5000/x":               "it has the host [2001:db8:0::1], and " + addresses,
		"[0:0:0:0:0:0:0:1]:443/x:1":            "it has the host [0:0:0:0:0:0:0:1], and " + addresses,
		"[::ffff:c000:201]/x":                  "it has the host [::ffff:c000:201], and " + addresses,
		"[::ffff:192.0.2.1]/x":                 "invalid reference format",
		"192.0.513:5000/x":                     "it has the host 192.0.513, and " + addresses,
		"0300.0.2.1/x":                         "it has the host 0300.0.2.1, and " + addresses,
		"0XC0000201:5000/x":                    "it has the host 0xc0000201, and " + addresses,
		"3221225985:5000/x":                    "it has the host 3221225985, and " + addresses,
		"1.2.3.4.5/x":                          "it has the host 1.2.3.4.5, and " + addresses,
		"a.0x1f/x":                             "it has the host a.0x1f, and " + addresses,
		"sha256:0":                             imageID,
		"sha256:12ab":                          imageID,
		"sha256:12AB":                          imageID,
		digest256:                              imageID,
		digest256 + "0":                        imageID,
		"sha384:12ab":                          imageID,
		digest512:                              imageID,
	} {
		if ref, err := ParseReference(s, ""); err == nil || err.Error() != want {
			t.Errorf("%.70q: got %s, %v\nwant %s", s, ref, err, want)
		}
	}
}

func TestParsePlace(t *testing.T) {
	for s, want := range map[string]string{
		"docker.io": "docker.io", "docker.io/bitnami": "docker.io/bitnami", "index.docker.io": "docker.io",
		"index.docker.io/library/nginx": "docker.io/library/nginx", "index.docker.io.example": "index.docker.io.example",
		"reg.example:5000": "reg.example:5000", "reg.example:5000/a/b": "reg.example:5000/a/b", "localhost": "localhost",
		"localhost/x": "localhost/x", "10.0.0.1": "10.0.0.1", "[::1]:5000/x": "[::1]:5000/x",
		"reg.example:443": "reg.example", "reg.example:443/a": "reg.example/a", "reg:443": "reg:443",
		"[::1]": "[::1]", "[::1]:5000": "[::1]:5000", "[2001:db8::1]:443/x/y": "[2001:db8::1]/x/y",
		"index.docker.io:443/x": "docker.io/x",
	} {
		if got, err := ParsePlace(s); err != nil || got != want {
			t.Errorf("%s: got %s, %v", s, got, err)
		}
	}
}

func TestParsePlaceErrors(t *testing.T) {
	const (
		shape     = "is neither a registry nor a registry with a path: write one such as docker.io or reg.example:5000/team"
		ports     = "ports are 1 to 65535, without leading zeros"
		addresses = "addresses are written like 192.0.2.1 or [2001:db8::1]"
	)
	for s, want := range map[string]string{
		"https://docker.io":   `"https://docker.io" has a scheme: write docker.io`,
		"oci://reg.example/":  `"oci://reg.example/" has a scheme: write reg.example`,
		"docker.io/":          `"docker.io/" ends with a slash: write docker.io`,
		"docker.io/a/b:1":     `"docker.io/a/b:1" has a tag or digest: write docker.io/a/b`,
		"a.example/b@sha256:": `"a.example/b@sha256:" has a tag or digest: write a.example/b`,
		"Docker.io/x":         `"Docker.io/x" has upper case letters: write docker.io/x`,
		"nginx":               `"nginx" has no registry: write docker.io/library/nginx`,
		"bitnami/redis":       `"bitnami/redis" has no registry: write docker.io/bitnami/redis`,
		"":                    `"" has no registry: write one, such as docker.io or reg.example:5000/team`,
		"_":                   `"_" has no registry: write one, such as docker.io or reg.example:5000/team`,
		"docker.io:latest":    `"docker.io:latest" has a tag or digest: write docker.io`,
		"docker.io:":          `"docker.io:" ` + shape,
		"docker.io//x":        `"docker.io//x" ` + shape,
		"docker.io/x y":       `"docker.io/x y" ` + shape,
		"docker..io":          `"docker..io" ` + shape,
		"[::1]:":              `"[::1]:" ` + shape,
		"[::g]":               `"[::g]" ` + shape,
		"[::1":                `"[::1" has a tag or digest: write [`,
		"reg.example:0":       `"reg.example:0" is not a registry: it has the port 0, and ` + ports,
		"reg.example:0443":    `"reg.example:0443" is not a registry: it has the port 0443, and ` + ports,
		"reg.example:65536/x": `"reg.example:65536/x" is not a registry: it has the port 65536, and ` + ports,
		"[::1]:0/x":           `"[::1]:0/x" is not a registry: it has the port 0, and ` + ports,
		"127.1:5000":          `"127.1:5000" is not a registry: it has the host 127.1, and ` + addresses,
		"[2001:db8:0::1]/x":   `"[2001:db8:0::1]/x" is not a registry: it has the host [2001:db8:0::1], and ` + addresses,
		"docker.io./x":        `"docker.io./x" ` + shape,
	} {
		if got, err := ParsePlace(s); err == nil || err.Error() != want {
			t.Errorf("got  %s, %v\nwant %s", got, err, want)
		}
	}
}

func TestWildcards(t *testing.T) {
	for registry, want := range map[string][]string{
		"a.b.gcr.io":     {"*.b.gcr.io", "**.b.gcr.io", "**.gcr.io", "**.io"},
		"gcr.io":         {"*.io", "**.io"},
		"localhost":      nil,
		"eu.gcr.io:5000": nil,
		"[::1]:5000":     nil,
	} {
		var got []string
		for w := range Wildcards(registry, len(registry)) {
			got = append(got, w.String())
			if again, err := ParseWildcard(w.String()); err != nil || again != w {
				t.Errorf("%s reads as %v, %v", w, again, err)
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", registry, got, want)
		}
	}
}

// Look-ups that start at the necessary depth have the same results as look-ups that start deeper.
func TestUpTo(t *testing.T) {
	for _, test := range []struct{ name, slash, dot string }{
		{"a", "a", "a"}, {"a/b.c.d/e/f", "a/b.c.d", "c.d/e/f"}, {"a.b.c", "a.b.c", "b.c"}, {"a/b", "a/b", "a/b"}, {"", "", ""}, {"a.b/c/d", "a.b/c", "a.b/c/d"},
	} {
		if got := UpToSlash(test.name, 1); got != test.slash {
			t.Errorf("%s: up to a slash %s, want %s", test.name, got, test.slash)
		}
		if got := upToDot(test.name, 1); got != test.dot {
			t.Errorf("%s: up to a dot %s, want %s", test.name, got, test.dot)
		}
	}
	for registry, want := range map[string][]string{
		"a.b.gcr.io": {"**.gcr.io", "**.io"}, "b.gcr.io": {"*.gcr.io", "**.gcr.io", "**.io"}, "gcr.io": {"*.io", "**.io"},
	} {
		var got []string
		for w := range Wildcards(registry, 1) {
			got = append(got, w.String())
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: got %v, want %v", registry, got, want)
		}
	}
}

func TestParseWildcardErrors(t *testing.T) {
	for s, want := range map[string]string{
		"*":              `"*" is not a wildcard: write *.gcr.io for one label, **.gcr.io for one or more`,
		"***.gcr.io":     `"***.gcr.io" is not a wildcard: write *.gcr.io for one label, **.gcr.io for one or more`,
		"*gcr.io":        `"*gcr.io" is not a wildcard: write *.gcr.io for one label, **.gcr.io for one or more`,
		"*.gcr.io/acme":  `"*.gcr.io/acme" is not a wildcard: it covers whole registries, so it has no path and no port`,
		"*.gcr.io:5000":  `"*.gcr.io:5000" is not a wildcard: it covers whole registries, so it has no path and no port`,
		"*.GCR.io":       `"*.GCR.io" is not a wildcard: "GCR.io" is not the name of a domain in lower case`,
		"*.":             `"*." is not a wildcard: "" is not the name of a domain in lower case`,
		"*.*.gcr.io":     `"*.*.gcr.io" is not a wildcard: "*.gcr.io" is not the name of a domain in lower case`,
		"**.eu..gcr.io.": `"**.eu..gcr.io." is not a wildcard: "eu..gcr.io." is not the name of a domain in lower case`,
	} {
		if got, err := ParseWildcard(s); err == nil || err.Error() != want {
			t.Errorf("got  %v, %v\nwant %s", got, err, want)
		}
	}
}

func TestOnDockerHub(t *testing.T) {
	for image, want := range map[string]string{
		"registry-1.docker.io/acme/app:1":            "docker.io/acme/app:1",
		"registry-1.docker.io/library/nginx":         "docker.io/library/nginx",
		"registry-1.docker.io/nginx:1":               "docker.io/library/nginx:1",
		"Registry-1.Docker.IO:443/acme/app":          "docker.io/acme/app",
		"registry.hub.docker.com/acme/app/sub:1":     "docker.io/acme/app/sub:1",
		"registry-1.docker.io:5000/acme/app":         "",
		"docker.io/acme/app":                         "",
		"index.docker.io/acme/app":                   "",
		"nginx":                                      "",
		"quay.io/registry-1.docker.io/acme/app":      "",
		"registry-1.docker.io.evil.example/acme/app": "",
	} {
		ref, err := ParseReference(image, "")
		if err != nil {
			t.Fatal(err)
		}
		if got, other := ref.OnDockerHub(); got != want || other != (want != "") {
			t.Errorf("%s: got %q, %t, want %q", image, got, other, want)
		}
	}
}
