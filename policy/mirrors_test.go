package policy

import (
	"fmt"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// Each sentence about rewriting in docs/policy/mirrors.md has a row.
func TestRewriteImage(t *testing.T) {
	p := mustLoad(t, "mirrors:\n"+
		mirrorText("hub", "docker.io", "m.example/docker.io")+
		mirrorText("hub-team", "docker.io/team", "m.example/team")+
		mirrorText("hub-one", "docker.io/team/one", "m.example/one", "exclude: {images: ['docker.io/team/one:keep']}")+
		mirrorText("kubernetes", "registry.k8s.io, k8s.gcr.io", "m.example/k8s")+
		mirrorText("google", "'*.gcr.io'", "m.example/{registry}",
			"exclude: {images: [eu.gcr.io/acme/debug], podLabels: [keep=yes]}")+
		mirrorText("pkg", "'**.pkg.dev'", "m.example/pkg/{registry}")+
		mirrorText("narrow", "'*.eu.pkg.dev'", "m.example/{registry}")+
		mirrorText("port", "reg.example:5000", "m.example:8443/reg")+
		mirrorText("literal", "quay.io, lscr.io/linuxserver", "m.example/{registry}")+
		strings.Replace(mirrorText("audited", "ghcr.io", "m.example/ghcr.io"), "mode: enforce", "mode: audit", 1)+
		strings.Replace(mirrorText("dormant", "public.ecr.aws", "m.example"), "mode: enforce", "mode: 'off'", 1))
	long := strings.Repeat("a", 240)
	for image, want := range map[string]string{
		"nginx":                           "m.example/docker.io/library/nginx",
		"nginx:1.25":                      "m.example/docker.io/library/nginx:1.25",
		"nginx:1.25@" + digest256:         "m.example/docker.io/library/nginx:1.25@" + digest256,
		"nginx@" + digest512:              "m.example/docker.io/library/nginx@" + digest512,
		"docker.io/nginx":                 "m.example/docker.io/library/nginx",
		"index.docker.io/library/nginx:1": "m.example/docker.io/library/nginx:1",
		"bitnami/redis":                   "m.example/docker.io/bitnami/redis",
		"team/x":                          "m.example/team/x",
		"team-evil/x":                     "m.example/docker.io/team-evil/x",
		"team/one":                        "m.example/one",
		"team/one/two:3":                  "m.example/one/two:3",
		"team/one:keep":                   "excluded by mirrors entry hub-one: exclude.images has docker.io/team/one:keep",
		"registry.k8s.io/pause:3.10":      "m.example/k8s/pause:3.10",
		"k8s.gcr.io/pause:3.10":           "m.example/k8s/pause:3.10", // longer than *.gcr.io
		"eu.gcr.io/acme/app":              "m.example/eu.gcr.io/acme/app",
		"EU.gcr.io/acme/app":              "m.example/eu.gcr.io/acme/app",
		"eu.gcr.io/acme/debug/x":          "excluded by mirrors entry google: exclude.images has eu.gcr.io/acme/debug",
		"a.eu.gcr.io/acme/app":            "no source covers a.eu.gcr.io/acme/app", // * is one label
		"gcr.io/acme/app":                 "no source covers gcr.io/acme/app",
		"eu.gcr.io:443/acme/app":          "m.example/eu.gcr.io/acme/app",
		"eu.gcr.io:8443/acme/app":         "no source covers eu.gcr.io:8443/acme/app",
		"us.pkg.dev/acme/app":             "m.example/pkg/us.pkg.dev/acme/app",
		"a.us.pkg.dev/acme/app":           "m.example/pkg/a.us.pkg.dev/acme/app",
		"a.eu.pkg.dev/acme/app":           "m.example/a.eu.pkg.dev/acme/app",
		"reg.example:5000/x":              "m.example:8443/reg/x",
		"REG.example:5000/x:1":            "m.example:8443/reg/x:1",
		"reg.example/x":                   "no source covers reg.example/x",
		"quay.io:443/x":                   "m.example/quay.io/x",
		"QUAY.io:443/x:1":                 "m.example/quay.io/x:1",
		"docker.io:443/nginx":             "m.example/docker.io/library/nginx",
		"docker.io:0443/nginx":            "not an image reference: it has the port 0443, and ports are 1 to 65535, without leading zeros",
		"quay.io:0/x":                     "not an image reference: it has the port 0, and ports are 1 to 65535, without leading zeros",
		"quay.io:65536/x":                 "not an image reference: it has the port 65536, and ports are 1 to 65535, without leading zeros",
		"sha256:12ab":                     "not an image reference: a node may take it for the ID of any image on the node, or for the start of an ID: write a name",
		digest256:                         "not an image reference: a node may take it for the ID of any image on the node, or for the start of an ID: write a name",
		"quay.io/x":                       "m.example/quay.io/x",
		"lscr.io/linuxserver/x":           "m.example/lscr.io/x",
		"lscr.io/other/x":                 "no source covers lscr.io/other/x",
		"public.ecr.aws/x":                "no source covers public.ecr.aws/x",
		"ghcr.io/x:1":                     "would be pulled from m.example/ghcr.io/x:1 if mirrors entry audited were in mode enforce; it is in mode audit",
		"m.example/docker.io/x":           "already at mirror hub",
		"m.example/ghcr.io/x":             "already at mirror audited",
		"m.example/eu.gcr.io/acme/debug":  "already at mirror google",
		"m.example/docker.io-evil/x":      "no source covers m.example/docker.io-evil/x",
		"m.example/evil.io/x":             "no source covers m.example/evil.io/x",
		"m.example.evil/docker.io/x":      "no source covers m.example.evil/docker.io/x",
		"Nginx":                           "not an image reference: invalid reference format: repository name (library/Nginx) must be lowercase",
		"":                                "not an image reference: it is empty",
		"docker.io/" + long:               "cannot be rewritten by mirrors entry hub: its mirror would be m.example/docker.io/library/" + long + ": repository name must not be more than 255 characters",
		"eu.gcr.io/" + long + strings.Repeat("/x", 9): "not an image reference: repository name must not be more than 255 characters",
	} {
		out := rewriteOne(p, image)
		got := out.Why()
		if out.Outcome == Rewritten {
			got = out.To
		}
		if (out.Outcome == Rewritten || out.Outcome == WouldRewrite) != (out.To != "") {
			t.Errorf("%s: outcome %s with target %q", image, out.Outcome, out.To)
		}
		if got != want {
			t.Errorf("%s\ngot  %s\nwant %s", image, got, want)
		}
	}
}

// An image that is only the host of a mirror would be parsed as a path on docker.io, so it does not get a patch.
func TestRewriteToNothingBelowTheMirror(t *testing.T) {
	p := mustLoad(t, "mirrors:\n"+mirrorText("one", "ghcr.io/acme/app", "m.example"))
	out := rewriteOne(p, "ghcr.io/acme/app:1")
	want := "cannot be rewritten by mirrors entry one: its mirror would be m.example:1, which is read as docker.io/library/m.example:1"
	if got := out.Why(); got != want || out.Outcome != Malformed {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if out := rewriteOne(p, "ghcr.io/acme/app/x:1"); out.To != "m.example/x:1" {
		t.Errorf("got %+v", out)
	}
}

// Mirrors are compared in normal form and written as in the policy, because nodes have credentials for that name.
func TestMirrorSpellingIsKept(t *testing.T) {
	p := mustLoad(t, "mirrors:\n"+
		mirrorText("hub", "docker.io", "m.example:443/hub")+
		mirrorText("v6", "'[2001:db8::1]:5000'", "'[2001:db8::2]/v6'")+
		mirrorText("quay", "'*.quay.io'", "m.example:443/{registry}")+
		"pods:\n- {name: r, mode: enforce, images: {from: mirrors}}\n")
	for image, want := range map[string]string{
		"nginx:1":                     "m.example:443/hub/library/nginx:1",
		"[2001:DB8::1]:5000/x":        "[2001:db8::2]/v6/x",
		"eu.quay.io:443/x":            "m.example:443/eu.quay.io/x",
		"m.example/hub/library/nginx": "",
		"m.example:443/hub/x":         "",
		"[2001:db8::2]:443/v6/x":      "",
		"M.example/hub/library/x":     "",
	} {
		out := rewriteOne(p, image)
		if out.To != want || (out.Outcome == AtMirror) != (want == "") {
			t.Errorf("%s: %s %s", image, out.Outcome, out.To)
		}
		if want == "" {
			want = image
		}
		if again := rewriteOne(p, want); again.Outcome != AtMirror {
			t.Errorf("%s: rewritten again: %s %s", image, again.Outcome, again.To)
		}
		if f := must(Pods.Evaluate(p, createPod, imagePod(want), nil, nil)); len(f) > 0 {
			t.Errorf("%s: %v", want, f)
		}
	}
}

func TestMirrorMatch(t *testing.T) {
	p := mustLoad(t, "mirrors:\n"+
		mirrorText("all", "docker.io", "m.example/all")+
		mirrorText("teams", "docker.io", "m.example/teams", "match: {namespaces: [team-*, squad]}",
			"exclude: {namespaces: [team-platform], podLabels: [keep=yes]}")+
		mirrorText("blue", "docker.io", "m.example/blue", "match: {namespaces: [blue], podLabels: [colour=blue]}")+
		mirrorText("google", "gcr.io/acme", "m.example/gcr", "match: {namespaces: [team-*]}")+
		mirrorText("nowhere", "ghcr.io", "m.example/ghcr", "match: {namespaces: [nowhere]}"))
	for _, test := range []struct {
		namespace, label, image, want string
	}{
		{"default", "", "nginx", "m.example/all/library/nginx"},
		{"team-a", "", "nginx", "m.example/teams/library/nginx"},
		{"squad", "", "nginx", "m.example/teams/library/nginx"},
		{"squad-b", "", "nginx", "m.example/all/library/nginx"},
		{"team-platform", "", "nginx", "excluded by mirrors entry teams: exclude.namespaces has team-platform"},
		{"team-a", "keep=yes", "nginx", "excluded by mirrors entry teams: exclude.podLabels has keep=yes"},
		{"blue", "colour=blue", "nginx", "m.example/blue/library/nginx"},
		{"blue", "colour=red", "nginx", "m.example/all/library/nginx"}, // an unmet match falls through
		{"team-a", "", "gcr.io/acme/x", "m.example/gcr/x"},
		{"default", "", "gcr.io/acme/x", "no source covers gcr.io/acme/x here: the match of no entry for gcr.io/acme is met"},
		{"default", "", "ghcr.io/x", "no source covers ghcr.io/x here: the match of no entry for ghcr.io is met"},
		{"", "", "nginx", "m.example/all/library/nginx"},
	} {
		pod := imagePod(test.image)
		if key, value, ok := strings.Cut(test.label, "="); ok {
			pod.Labels = map[string]string{key: value}
		}
		out := must(p.RewritePod(object.Attributes{Operation: object.Create, Namespace: test.namespace}, pod, nil, nil)).Images[0]
		got := out.Why()
		if out.Outcome == Rewritten {
			got = out.To
		}
		if got != test.want {
			t.Errorf("%+v\ngot  %s", test, got)
		}
	}
}

func TestMirrorErrors(t *testing.T) {
	for _, test := range []struct{ name, text, want string }{
		{"no sources", mirrorText("a", "", "m.example"),
			`p:5:12: mirrors[0].sources: [] does not cover any image: list at least one source, such as docker.io`},
		{"source twice", mirrorText("a", "docker.io, index.docker.io", "m.example"),
			`p:5:12: mirrors[0].sources: docker.io is listed twice`},
		{"source without registry", mirrorText("a", "nginx", "m.example"),
			`p:5:13: mirrors[0].sources[0]: "nginx" has no registry: write docker.io/library/nginx`},
		{"source with tag", mirrorText("a", "'docker.io/x:1'", "m.example"),
			`p:5:13: mirrors[0].sources[0]: "docker.io/x:1" has a tag or digest: write docker.io/x`},
		{"source with star", mirrorText("a", "docker.io/*", "m.example"),
			`p:5:13: mirrors[0].sources[0]: "docker.io/*" is not a source: write a wildcard as *.gcr.io; a path covers everything below it without a wildcard`},
		{"source with placeholder", mirrorText("a", "'{namespace}.reg.example'", "m.example"),
			`p:5:13: mirrors[0].sources[0]: "{namespace}.reg.example" is not a source: a source has no placeholder; write it out, or a wildcard such as *.gcr.io`},
		{"wildcard with placeholder", mirrorText("a", "'*.{namespace}.example'", "'m.example/{registry}'"),
			`p:5:13: mirrors[0].sources[0]: "*.{namespace}.example" is not a source: a source has no placeholder; write it out, or a wildcard such as *.gcr.io`},
		{"mirror of a namespace", mirrorText("a", "quay.io", "'{namespace}.m.example/x'"),
			`p:6:11: mirrors[0].mirror: "{namespace}.m.example/x" is not a mirror: the only placeholder is {registry}, and it must be the last segment, once, as in mirror.example/{registry}`},
		{"mirror without registry", mirrorText("a", "docker.io", "mirror/docker.io"),
			`p:6:11: mirrors[0].mirror: "mirror/docker.io" has no registry: write docker.io/mirror/docker.io`},
		{"mirror with scheme", mirrorText("a", "docker.io", "https://m.example/x"),
			`p:6:11: mirrors[0].mirror: "https://m.example/x" has a scheme: write m.example/x`},
		{"mirror docker.io", mirrorText("a", "quay.io", "docker.io"),
			`p:6:11: mirrors[0].mirror: docker.io puts a name of one segment below library/: write docker.io and a path`},
		{"other placeholder", mirrorText("a", "quay.io", "'m.example/{host}'"),
			`p:6:11: mirrors[0].mirror: "m.example/{host}" is not a mirror: the only placeholder is {registry}, and it must be the last segment, once, as in mirror.example/{registry}`},
		{"placeholder inside", mirrorText("a", "quay.io", "'m.example/{registry}/x'"),
			`p:6:11: mirrors[0].mirror: "m.example/{registry}/x" is not a mirror: the only placeholder is {registry}, and it must be the last segment, once, as in mirror.example/{registry}`},
		{"wildcard without placeholder", mirrorText("a", "'*.gcr.io'", "m.example"),
			`p:6:11: mirrors[0].mirror: *.gcr.io covers many registries, whose images with the same name must not get the same place: write m.example/{registry}`},
		{"placeholder for a port", mirrorText("a", "'reg.example:5000'", "'m.example/{registry}'"),
			`p:6:11: mirrors[0].mirror: {registry} cannot represent reg.example:5000, because a path cannot contain ":": give this source a separate entry and mirror`},
		{"users", mirrorText("a", "quay.io", "m.example", "match: {users: [x]}"),
			`p:8:10: mirrors[0].match: users has no meaning here: Pods are created by controllers, not by people; use namespaces or podLabels`},
		{"no mirror", "- {name: a, mode: enforce, sources: [quay.io]}\n",
			`p:4:3: mirrors[0]: write a mirror, or qualify: true without a mirror and without exclude`},
		{"off is checked too", strings.Replace(mirrorText("a", "nginx", "m.example"), "enforce", "'off'", 1),
			`p:5:13: mirrors[0].sources[0]: "nginx" has no registry: write docker.io/library/nginx`},
	} {
		t.Run(test.name, func(t *testing.T) { checkMirrorErrors(t, test.text, test.want) })
	}
}

// checkMirrorErrors compares the errors of loading entries with want; want is empty if there are none.
func checkMirrorErrors(t *testing.T, text, want string) {
	t.Helper()
	var got string
	if _, err := Load(policyFile("p", "mirrors:\n"+text)); err != nil {
		got = err.Error()
	}
	equal(t, strings.TrimSpace(want), got)
}

// Conflicts between entries. The second entry starts on line 9, and the third on line 14.
func TestMirrorConflicts(t *testing.T) {
	ns := func(patterns string) string { return "match: {namespaces: [" + patterns + "]}" }
	spare := func(images string) string { return "exclude: {images: [" + images + "]}" }
	off := func(text string) string { return strings.Replace(text, "enforce", "'off'", 1) }
	clash := func(line int, s, from, other, at string) string {
		return fmt.Sprintf("p:%d:3: mirrors[%d]: images of %s would be mixed with images of %s, which %s also puts at %s: give "+
			"each a separate mirror, or make them sources of one entry if they have the same content\n",
			line, (line-4)/5, s, from, other, at)
	}
	for _, test := range []struct{ name, text, want string }{
		{"taken",
			mirrorText("a", "docker.io", "m.example/a") + mirrorText("b", "quay.io, index.docker.io", "m.example/b"),
			`p:9:3: mirrors[1]: the source docker.io is taken by a (p:4:3): give one of the two entries a match, or another source`},
		{"taken by one that is off",
			off(mirrorText("a", "docker.io", "m.example/a")) + mirrorText("b", "docker.io", "m.example/b"), ``},
		{"overlapping match",
			mirrorText("a", "docker.io", "m.example/a", ns("x, team-*")) + mirrorText("b", "docker.io", "m.example/b", ns("'*-a'")),
			`p:9:3: mirrors[1]: for the source docker.io, the namespaces *-a of this match overlap with team-* of a (p:4:3): entries for one source need namespaces that do not overlap`},
		{"overlapping match of a source that others follow",
			mirrorText("a", "docker.io", "m.example/a") + mirrorText("b", "quay.io", "m.example/b") +
				mirrorText("c", "docker.io", "m.example/c", ns("x")) + mirrorText("d", "docker.io", "m.example/d", ns("x")),
			`p:19:3: mirrors[3]: for the source docker.io, the namespaces x of this match overlap with x of c (p:14:3): entries for one source need namespaces that do not overlap`},
		{"match of every namespace",
			mirrorText("a", "docker.io", "m.example/a", ns("x")) + mirrorText("b", "docker.io", "m.example/b", "match: {podLabels: [x]}"),
			`p:9:3: mirrors[1]: for the source docker.io, the namespaces * of this match overlap with x of a (p:4:3): entries for one source need namespaces that do not overlap`},
		{"disjoint match",
			mirrorText("a", "docker.io", "m.example/a", ns("x, x*, team-*")) + mirrorText("b", "docker.io", "m.example/b", ns("team, a*b")), ``},

		{"loop through another entry",
			mirrorText("a", "docker.io", "m.example/hub") + mirrorText("b", "m.example", "n.example/m"),
			`p:4:3: mirrors[0]: the mirror m.example/hub is covered by the source m.example of b (p:9:3), which would rewrite its images again: that entry needs exclude: {images: [m.example/hub]}`},
		{"loop spared",
			mirrorText("a", "docker.io", "m.example/hub") + mirrorText("b", "m.example", "n.example/m", spare("m.example/hub")), ``},
		{"loop spared until it is not",
			mirrorText("a", "docker.io", "m.example/hub") + mirrorText("b", "m.example", "n.example/m",
				"exclude: {images: [m.example/hub], until: 2027-01-31}"),
			`p:4:3: mirrors[0]: the mirror m.example/hub is covered by the source m.example of b (p:9:3), which would rewrite its images again: that entry needs exclude: {images: [m.example/hub]} without until`},
		{"loop to itself",
			mirrorText("a", "'*.corp.example'", "mirror.corp.example/{registry}"),
			`p:4:3: mirrors[0]: the mirror mirror.corp.example/{registry} is covered by the source *.corp.example of a (p:4:3), which would rewrite its images again: that entry needs exclude: {images: [mirror.corp.example]}`},
		{"loop to itself spared",
			mirrorText("a", "'*.corp.example'", "mirror.corp.example/{registry}", spare("mirror.corp.example")), ``},
		{"two sources, one loop",
			mirrorText("a", "m.example, docker.io", "m.example/hub"),
			`p:4:3: mirrors[0]: the mirror m.example/hub is covered by the source m.example of a (p:4:3), which would rewrite its images again: that entry needs exclude: {images: [m.example/hub]}`},
		{"source below a mirror",
			mirrorText("a", "docker.io", "m.example") + mirrorText("b", "m.example/team/x", "n.example"),
			`p:9:3: mirrors[1]: the source m.example/team/x is at m.example, the mirror of a (p:4:3), where images are never rewritten: write the place that they come from`},
		{"source below a mirror spared",
			mirrorText("a", "docker.io", "m.example") + mirrorText("b", "m.example/team/x", "n.example", spare("m.example")), ``},
		{"source at a mirror",
			mirrorText("a", "docker.io", "m.example/x") + mirrorText("b", "m.example/x", "n.example"),
			`p:9:3: mirrors[1]: the source m.example/x is at m.example/x, the mirror of a (p:4:3), where images are never rewritten: write the place that they come from`},
		{"mirror below its own source",
			mirrorText("a", "docker.io", "docker.io/library"),
			`p:4:3: mirrors[0]: the mirror docker.io/library is covered by the source docker.io of a (p:4:3), which would rewrite its images again: that entry needs exclude: {images: [docker.io/library]}`},
		{"source at a kept registry",
			mirrorText("a", "'*.gcr.io'", "m.example/{registry}") + mirrorText("b", "m.example/eu.gcr.io", "n.example"),
			`p:9:3: mirrors[1]: the source m.example/eu.gcr.io is at m.example/eu.gcr.io, the mirror of a (p:4:3), where images are never rewritten: write the place that they come from`},
		{"source beside a kept registry",
			mirrorText("a", "'*.gcr.io'", "m.example/{registry}") + mirrorText("b", "m.example/quay.io", "n.example"), ``},
		{"no loop with one that is off",
			mirrorText("a", "docker.io", "m.example/hub") + off(mirrorText("b", "m.example", "n.example/m")), ``},

		{"one place for two",
			mirrorText("a", "docker.io", "m.example") + mirrorText("b", "quay.io", "m.example"),
			clash(9, "quay.io", "docker.io", "a (p:4:3)", "m.example")},
		{"nested places",
			mirrorText("a", "docker.io", "m.example") + mirrorText("b", "registry.k8s.io", "m.example/k8s"),
			clash(9, "registry.k8s.io", "docker.io/k8s", "a (p:4:3)", "m.example/k8s")},
		{"nested places, the inner one first",
			mirrorText("a", "registry.k8s.io", "m.example/k8s/x") + mirrorText("b", "docker.io", "m.example/k8s"),
			clash(4, "registry.k8s.io", "docker.io/x", "b (p:9:3)", "m.example/k8s/x")},
		{"nested, but a longer source takes them away",
			mirrorText("a", "docker.io", "m.example") + mirrorText("b", "registry.k8s.io", "m.example/k8s") +
				mirrorText("c", "docker.io/k8s", "n.example"), ``},
		{"nested, and a longer source takes them away only for some",
			mirrorText("a", "docker.io", "m.example") + mirrorText("b", "registry.k8s.io", "m.example/k8s") +
				mirrorText("c", "docker.io/k8s", "n.example", ns("x")),
			clash(9, "registry.k8s.io", "docker.io/k8s", "a (p:4:3)", "m.example/k8s")},
		{"nested, but spared",
			mirrorText("a", "docker.io", "m.example", spare("docker.io/k8s")) + mirrorText("b", "registry.k8s.io", "m.example/k8s"), ``},
		{"nested as the sources are",
			mirrorText("a", "docker.io", "m.example") + mirrorText("b", "docker.io/library", "m.example/library"), ``},
		{"one entry",
			mirrorText("a", "docker.io, quay.io", "m.example"), ``},
		{"kept registry below a place",
			mirrorText("a", "docker.io", "m.example") + mirrorText("b", "'*.gcr.io'", "m.example/{registry}"),
			clash(9, "*.gcr.io", "docker.io", "a (p:4:3)", "m.example")},
		{"place at a kept registry",
			mirrorText("a", "'*.gcr.io'", "m.example/{registry}") + mirrorText("b", "quay.io", "m.example/eu.gcr.io/quay"),
			clash(9, "quay.io", "eu.gcr.io/quay", "a (p:4:3)", "m.example/eu.gcr.io/quay")},
		{"the same place as the kept registry",
			mirrorText("a", "'*.gcr.io'", "m.example/{registry}") + mirrorText("b", "eu.gcr.io", "m.example/eu.gcr.io"), ``},
		{"two kept registries",
			mirrorText("a", "'*.gcr.io'", "m.example/{registry}") + mirrorText("b", "'**.gcr.io', '*.pkg.dev', quay.io", "m.example/{registry}"), ``},
		{"kept registries, nested",
			mirrorText("a", "'*.gcr.io'", "m.example/{registry}") + mirrorText("b", "'*.pkg.dev'", "m.example/eu.gcr.io/{registry}"),
			clash(9, "*.pkg.dev", "eu.gcr.io", "a (p:4:3)", "m.example/eu.gcr.io")},
		{"one source, two mirrors",
			mirrorText("a", "docker.io", "m.example", ns("x")) + mirrorText("b", "docker.io", "m.example/k8s", ns("y")),
			clash(9, "docker.io", "docker.io/k8s", "a (p:4:3)", "m.example/k8s")},
		{"one source, one mirror",
			mirrorText("a", "docker.io", "m.example", ns("x")) + mirrorText("b", "docker.io", "m.example", ns("y")), ``},
	} {
		t.Run(test.name, func(t *testing.T) { checkMirrorErrors(t, test.text, test.want) })
	}
}

// An image with more segments than any source or mirror is found below them.
func TestMirrorsOfDeepNames(t *testing.T) {
	p := mustLoad(t, "mirrors:\n"+mirrorText("wild", "'**.gcr.io'", "m.example/a/{registry}")+mirrorText("deep", "b.example/x/y/z", "n.example"))
	deep := strings.Repeat("a.", 40)
	for image, want := range map[string]string{
		deep + "gcr.io/" + strings.Repeat("x/", 20) + "y": "m.example/a/" + deep + "gcr.io/" + strings.Repeat("x/", 20) + "y",
		"b.example/x/y/z/1/2/3/4":                         "n.example/1/2/3/4",
	} {
		out := rewriteOne(p, image)
		if out.To != want {
			t.Errorf("%s: %s %s", image, out.Outcome, out.Why())
		}
		if again := rewriteOne(p, want); again.Outcome != AtMirror {
			t.Errorf("%s: %s", want, again.Outcome)
		}
	}
}

func TestMirrorPlaces(t *testing.T) {
	p := mustLoad(t, "mirrors:\n"+mirrorText("a", "docker.io", "m.example/hub")+mirrorText("b", "'*.gcr.io'", "m.example/{registry}")+
		mirrorText("c", "'*.pkg.dev'", "m.example/{registry}"))
	equal(t, []string{"m.example", "m.example/hub"}, p.MirrorPlaces())
	equal(t, []string{"m.example/"}, p.MirrorPrefixes())
	p = mustLoad(t, "mirrors:\n"+mirrorText("a", "docker.io", "m.example/hub")+mirrorText("b", "quay.io", "m.example/hub-b"))
	equal(t, []string{"m.example/hub/", "m.example/hub-b/"}, p.MirrorPrefixes(), "a name that another one begins with")
}

// Entries and registries for short names are checked.
func TestShortNameErrors(t *testing.T) {
	const either = `p:4:3: mirrors[0]: write a mirror, or qualify: true without a mirror and without exclude`
	checkMirrorErrors(t, "- {name: a, mode: enforce, sources: [docker.io], qualify: true}\n", "")
	checkMirrorErrors(t, "- {name: a, mode: enforce, sources: ['*.io'], qualify: true}\n", "")
	checkMirrorErrors(t, "- {name: a, mode: enforce, sources: [docker.io]}\n", either)
	checkMirrorErrors(t, "- {name: a, mode: enforce, sources: [docker.io], qualify: false}\n", either)
	checkMirrorErrors(t, mirrorText("a", "docker.io", "m.example", "qualify: true"), strings.Replace(either, "4:3: mirrors[0]", "6:11: mirrors[0].mirror", 1))
	checkMirrorErrors(t, "- {name: a, mode: warn, sources: [docker.io], qualify: true, exclude: {images: [docker.io/x]}}\n", either)
	for registry, want := range map[string]string{
		"docker.io": "", "index.docker.io": "", "localhost": "", "corp.example:5000": "", `"[2001:db8::1]:5000"`: "", "corp:443": "",
		`""`:                   `p:3:20: shortNameRegistry: "" has no registry: write one, such as docker.io or reg.example:5000/team`,
		"corp":                 `p:3:20: shortNameRegistry: "corp" has no registry: write docker.io/library/corp`,
		"corp.example/a":       `p:3:20: shortNameRegistry: "corp.example/a" is not a registry: write its host, without a path and without _`,
		"a_b.example":          `p:3:20: shortNameRegistry: "a_b.example" is not a registry: write its host, without a path and without _`,
		"Corp.example":         `p:3:20: shortNameRegistry: "Corp.example" has upper case letters: write corp.example`,
		"https://corp.example": `p:3:20: shortNameRegistry: "https://corp.example" has a scheme: write corp.example`,
	} {
		var got string
		if _, err := Load(policyFile("p", "shortNameRegistry: "+registry+"\n")); err != nil {
			got = err.Error()
		}
		equal(t, want, got, registry)
	}
	_, err := Load(policyFile("p", "shortNameRegistry: a.example\n"), policyFile("q", "shortNameRegistry: b.example\n"))
	equal(t, "q:1:1: shortNameRegistry is a.example in another document: write it once", fmt.Sprint(err))
	mustLoad(t, "shortNameRegistry: a.example\n---\napiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\nshortNameRegistry: a.example\n")
}

// An entry with qualify does not make a place a mirror, and another entry can have its mirror below its source.
func TestQualifyIsNoMirror(t *testing.T) {
	p := mustLoad(t, `
mirrors:
- {name: names, mode: warn, sources: [docker.io], qualify: true}
- {name: corp, mode: enforce, sources: [quay.io], mirror: docker.io/corp}
pods: [{name: from, mode: enforce, images: {from: mirrors}}]
`)
	equal(t, []string{"docker.io/corp"}, p.MirrorPlaces())
	equal(t, nil, p.Warnings())
	equal(t, nil, mustLoad(t, `
mirrors: [{name: names, mode: enforce, sources: [docker.io], qualify: true}]
pods: [{name: list, mode: enforce, images: {allowed: [docker.io/acme]}}]
`).Warnings())
	const fault = ` is not pulled from a mirror; allowed are docker.io/corp`
	for image, want := range map[string][2]string{
		"nginx": {"would be pulled from docker.io/library/nginx if mirrors entry names were in mode enforce; it is in mode warn",
			`"nginx"` + fault},
		"docker.io/nginx": {"no source covers docker.io/library/nginx here: mirrors entry names only qualifies short names",
			`"docker.io/nginx"` + fault},
		"corp/x": {"already at mirror corp", ""},
	} {
		out := rewriteOne(p, image)
		var found string
		for _, f := range must(Pods.Evaluate(p, createPod, imagePod(image), nil, nil)) {
			found += f.Reason
		}
		if out.Why() != want[0] || found != want[1] {
			t.Errorf("%s: %s, %s", image, out.Why(), found)
		}
	}
}

// The record of a short name is read with the registry of short names.
func TestShortNameRecord(t *testing.T) {
	p := mustLoad(t, "shortNameRegistry: corp.example\nmirrors:\n"+mirrorText("team", "corp.example/team", "m.example/team"))
	pod := imagePod("m.example/team/a:1", "team/b")
	pod.Annotations = map[string]string{object.OriginalsAnnotation: `{"containers/a":"team/a:1"}`}
	equal(t, `{"containers/a":"team/a:1","containers/b":"team/b"}`, must(p.RewritePod(createPod, pod, nil, nil)).Record)
}
