package policy

import (
	"slices"
	"strings"
	"testing"
)

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
		"Foo/bar":                               {"Foo/bar", "", ""}, // a host without a dot, as the runtimes read it
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
		ref, err := parseReference(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
			continue
		}
		if ref.name != want.name || ref.tag() != want.tag || ref.digest() != want.digest {
			t.Errorf("%s: got %s, tag %q, digest %q", s, ref.name, ref.tag(), ref.digest())
		}
		if registry, _, _ := strings.Cut(want.name, "/"); ref.registry() != registry {
			t.Errorf("%s: got registry %s", s, ref.registry())
		}
		if !strings.HasSuffix(s, ref.suffix) || ref.String() != ref.name+ref.suffix {
			t.Errorf("%s: tag and digest must stay as written, got %s", s, ref)
		}
	}
}

func TestParseReferenceErrors(t *testing.T) {
	for s, want := range map[string]string{
		"":                          "it is empty",
		"nginx ":                    "it has the character ' ', which no image reference has",
		"nginx\n":                   `it has the character '\n', which no image reference has`,
		"nginx:1\u00e4":             "it has the character 'ä', which no image reference has",
		"\xff":                      "it has the character '�', which no image reference has",
		"Nginx":                     "invalid reference format: repository name (library/Nginx) must be lowercase",
		"nginx:":                    "invalid reference format",
		"https://docker.io/nginx":   "invalid reference format",
		"nginx@sha256:12":           "invalid reference format",
		"docker.io./library/nginx":  "invalid reference format",
		strings.Repeat("a", 64):     "invalid repository name (" + strings.Repeat("a", 64) + "), cannot specify 64-byte hexadecimal strings",
		strings.Repeat("<", 1<<20):  "it has 1048576 bytes, and no image reference has more than 1024",
		strings.Repeat("a/", 200):   "invalid reference format",
		strings.Repeat("ab/", 99):   "invalid reference format",
		strings.Repeat("x", 256):    "repository name must not be more than 255 characters",
		"x@md5:" + digest256[7:]:    "unsupported digest algorithm",
		"x@sha512:" + digest256[7:]: "invalid checksum digest length",
	} {
		if ref, err := parseReference(s); err == nil || err.Error() != want {
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
	} {
		if got, err := parsePlace(s); err != nil || got != want {
			t.Errorf("%s: got %s, %v", s, got, err)
		}
	}
}

func TestParsePlaceErrors(t *testing.T) {
	const shape = "is not a registry, nor a registry and a path: write one such as docker.io or reg.example:5000/team"
	for s, want := range map[string]string{
		"https://docker.io":   `"https://docker.io" has a scheme: write docker.io`,
		"oci://reg.example/":  `"oci://reg.example/" has a scheme: write reg.example`,
		"docker.io/":          `"docker.io/" ends with a slash: write docker.io`,
		"docker.io/a/b:1":     `"docker.io/a/b:1" has a tag or digest: write docker.io/a/b`,
		"a.example/b@sha256:": `"a.example/b@sha256:" has a tag or digest: write a.example/b`,
		"Docker.io/x":         `"Docker.io/x" has upper case letters: write docker.io/x`,
		"nginx":               `"nginx" names no registry: write docker.io/library/nginx`,
		"bitnami/redis":       `"bitnami/redis" names no registry: write docker.io/bitnami/redis`,
		"":                    `"" names no registry: write one, such as docker.io or reg.example:5000/team`,
		"_":                   `"_" names no registry: write one, such as docker.io or reg.example:5000/team`,
		"docker.io:latest":    `"docker.io:latest" has a tag or digest: write docker.io`,
		"docker.io:":          `"docker.io:" ` + shape,
		"docker.io//x":        `"docker.io//x" ` + shape,
		"docker.io/x y":       `"docker.io/x y" ` + shape,
		"docker..io":          `"docker..io" ` + shape,
		"docker.io./x":        `"docker.io./x" ` + shape,
	} {
		if got, err := parsePlace(s); err == nil || err.Error() != want {
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
		for w := range wildcards(registry) {
			got = append(got, w.String())
			if again, err := parseWildcard(w.String()); err != nil || again != w {
				t.Errorf("%s reads as %v, %v", w, again, err)
			}
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
		if got, err := parseWildcard(s); err == nil || err.Error() != want {
			t.Errorf("got  %v, %v\nwant %s", got, err, want)
		}
	}
}
