package match

import "testing"

func TestImagePattern(t *testing.T) {
	const app = "ghcr.io/acme/app"
	for _, test := range []struct {
		pattern, image string
		covers         bool
	}{
		{"ghcr.io", app, true},
		{"ghcr.io", "ghcr.io.evil/acme/app", false},
		{"ghcr.io", "ghcr.io:443/acme/app", true},   // the default port
		{"ghcr.io", "ghcr.io:8443/acme/app", false}, // the port is part of the host
		{"ghcr.io:443/acme/app:1", app + ":1", true},
		{"reg:5000", "Reg:5000/x", true},
		{"reg:443", "Reg/x", true},
		{"[2001:db8::1]:5000/x:1", "[2001:DB8::1]:5000/x:1", true},
		{"ghcr.io", "GHCR.IO/acme/app", true},
		{"ghcr.io/acme", app + ":1", true},
		{"ghcr.io/acme", "ghcr.io/acme:1", true},
		{"ghcr.io/acme", "ghcr.io/acme-evil/app", false},
		{"ghcr.io/acme/*", app, true},
		{"ghcr.io/acme/*", "ghcr.io/acme:1", false},
		{"ghcr.io/*", "ghcr.io/acme", true},
		{app + ":1", app + ":1", true},
		{app + ":1", app + ":2", false},
		{app + ":1", app, false},
		{app + ":1", app + "/sub:1", false},
		{app + ":1", app + ":1@" + digest256, false}, // the digest decides, and may be any
		{app + "@" + digest256, app + "@" + digest256, true},
		{app + "@" + digest256, app + ":9@" + digest256, true},
		{app + ":1@" + digest256, app + "@" + digest256, true},
		{app + "@" + digest256, app + "@" + digest512, false},
		{"docker.io", "nginx", true},
		{"docker.io/library", "nginx", true},
		{"index.docker.io/library/nginx", "nginx:1", true},
		{"docker.io/nginx:1", "nginx:1", true},
		{"docker.io/nginx", "nginx", false}, // a place, not an image: it has no library/ added
		{"reg.example:5000", "reg.example:5000/x", true},
		{"reg.example:5000", "reg.example/x", false},
	} {
		var p ImagePattern
		if err := p.UnmarshalText([]byte(test.pattern)); err != nil {
			t.Error(err)
			continue
		}
		ref, err := ParseReference(test.image, "")
		if err != nil {
			t.Error(err)
			continue
		}
		if _, covers := NewImageSet([]ImagePattern{p}).Find(ref); covers != test.covers {
			t.Errorf("%s covers %s: %t, want %t", test.pattern, test.image, covers, test.covers)
		}
		var again ImagePattern
		if err := again.UnmarshalText([]byte(p.String())); err != nil || again != p {
			t.Errorf("%s reads as %v, %v", p, again, err)
		}
	}
}

func TestImagePatternErrors(t *testing.T) {
	for s, want := range map[string]string{
		"nginx":             `"nginx" has no registry: write docker.io/library/nginx`,
		"nginx:1.25":        `"nginx:1.25" has no registry: write docker.io/library/nginx:1.25`,
		"acme/app:1":        `"acme/app:1" has no registry: write docker.io/acme/app:1`,
		"ghcr.io/*/app":     `"ghcr.io/*/app" is not a place for images: a * can only be its last segment, as in ghcr.io/acme/*`,
		"ghcr.io/acme*":     `"ghcr.io/acme*" is not a place for images: a * can only be its last segment, as in ghcr.io/acme/*`,
		"*":                 `"*" is not a place for images: a * can only be its last segment, as in ghcr.io/acme/*`,
		"ghcr.io/Acme:1":    `"ghcr.io/Acme:1" is not an image: invalid reference format: repository name (Acme) must be lowercase`,
		"ghcr.io/acme/":     `"ghcr.io/acme/" ends with a slash: write ghcr.io/acme`,
		"ghcr.io/a@sha256:": `"ghcr.io/a@sha256:" is not an image: invalid reference format`,
	} {
		var p ImagePattern
		if err := p.UnmarshalText([]byte(s)); err == nil || err.Error() != want {
			t.Errorf("got  %v, %v\nwant %s", p, err, want)
		}
	}
}
