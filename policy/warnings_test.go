package policy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What loads, and matches nothing or lets nothing pass, is warned of.
func TestWarningsOfEntries(t *testing.T) {
	const hub = "mirrors:\n- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}\n"
	service := func(selectors string) string {
		return "services:\n- {name: r, mode: enforce, types: {denied: [NodePort]}, " + selectors + "}\n"
	}
	pods := func(mode, images string) string {
		return "pods:\n- {name: r, mode: " + mode + ", images: {" + images + "}}\n"
	}
	const from = "images.from denies every image that is not written with the name of a mirror: no mirrors entry is in mode " +
		"enforce, so that none is rewritten"
	all := func(dimension string) string {
		return "exclude." + dimension + " has *: the entry applies to nothing; leave the entry out, or set its mode to off"
	}
	for name, test := range map[string]struct{ text, want string }{
		"namespaces of both": {service(`match: {namespaces: [team-a]}, exclude: {namespaces: ["team-*"]}`),
			"exclude.namespaces covers all of match.namespaces: the entry applies to nothing"},
		"the same pattern": {service(`match: {namespaces: ["t-*"]}, exclude: {namespaces: ["t-*"]}`),
			"exclude.namespaces covers all of match.namespaces: the entry applies to nothing"},
		"some namespaces":      {service(`match: {namespaces: [team-a, b]}, exclude: {namespaces: ["team-*"]}`), ""},
		"a wider match":        {service(`match: {namespaces: ["team*"]}, exclude: {namespaces: ["team-*"]}`), ""},
		"all namespaces":       {service(`exclude: {namespaces: [a, "*"]}`), all("namespaces")},
		"all users":            {service(`exclude: {users: ["*"]}`), all("users")},
		"an entry that is off": {strings.Replace(service(`exclude: {users: ["*"]}`), "enforce", "off", 1), ""},
		"a source that is excluded": {strings.Replace(hub, "}", ", exclude: {images: [docker.io]}}", 1),
			"exclude.images covers the source docker.io: no image of it is rewritten"},
		"a part of a source":        {strings.Replace(hub, "}", ", exclude: {images: [docker.io/acme]}}", 1), ""},
		"from without mirrors":      {pods("enforce", "from: mirrors"), from},
		"from with mirrors in warn": {strings.Replace(hub, "enforce", "warn", 1) + pods("enforce", "from: mirrors"), from},
		"from in warn":              {pods("warn", "from: mirrors"), ""},
		"from with mirrors":         {hub + pods("enforce", "from: mirrors"), ""},
		"allowed and denied": {pods("enforce", "allowed: [ghcr.io/acme, quay.io], denied: [ghcr.io]"),
			"images.allowed has ghcr.io/acme, and images.denied covers it: no image of it passes"},
		"a part of what is allowed": {pods("enforce", "allowed: [ghcr.io], denied: [ghcr.io/acme]"), ""},
		"allowed behind a mirror": {hub + pods("enforce", "allowed: [docker.io/library]"),
			"images.allowed has docker.io/library, and mirrors entry hub rewrites its images to m.example/hub/library, which is " +
				"not allowed: allow m.example/hub/library too, or write from: mirrors"},
		"allowed at the mirror": {hub + pods("enforce", "allowed: [docker.io/library, m.example/hub]"), ""},
		"allowed beside from":   {hub + pods("enforce", "from: mirrors, allowed: [docker.io/library]"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			p, err := Load(policyFile("p", test.text))
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, w := range p.Warnings() {
				_, sentence, _ := strings.Cut(w, "]: ")
				got = append(got, sentence)
			}
			var want []string
			if test.want != "" {
				want = []string{test.want}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
