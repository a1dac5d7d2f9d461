package policy

import "testing"

// If an enforced rule also denies the image at its mirror, the denial does not suggest the mirror.
func TestMirrorAdvice(t *testing.T) {
	const mirrors = `
mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}]
pods:
- {name: from, mode: enforce, images: {from: mirrors}}
`
	const advice = `"nginx" is not pulled from a mirror; write m.example/hub/library/nginx`
	none := func(by string) string {
		return `"nginx" is not pulled from a mirror, because ` + by + " denies it"
	}
	for name, test := range map[string]struct{ rules, want string }{
		"no other rule":      {"", advice},
		"a tag":              {`- {name: tags, mode: enforce, images: {deniedTags: [latest]}}`, none("tags/images.deniedTags")},
		"a tag, that warns":  {`- {name: tags, mode: warn, images: {deniedTags: [latest]}}`, advice},
		"another tag":        {`- {name: tags, mode: enforce, images: {deniedTags: ["1"]}}`, advice},
		"of another place":   {`- {name: tags, mode: enforce, match: {namespaces: [else]}, images: {deniedTags: [latest]}}`, advice},
		"excluded":           {`- {name: tags, mode: enforce, exclude: {images: [docker.io/library]}, images: {deniedTags: [latest]}}`, advice},
		"a name":             {`- {name: names, mode: enforce, images: {denied: [docker.io/library]}}`, none("names/images.denied")},
		"a name, then a tag": {`- {name: both, mode: enforce, images: {denied: [docker.io/library], deniedTags: [latest]}}`, none("both/images.denied")},
		"a digest":           {`- {name: pinned, mode: enforce, images: {digest: required}}`, advice},
		"an exception": {`- {name: tags, mode: enforce, images: {deniedTags: [latest]}}
exceptions: [{name: x, rules: [tags], match: {namespaces: [default]}, until: 2999-01-31, reason: ticket}]`, advice},
		"a set": {`- {name: tags, mode: enforce, match: {set: edge}, images: {deniedTags: [latest]}}`, advice},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, mirrors+test.rules+"\n")
			a := createPod
			a.Namespace = "default"
			for _, f := range must(p.EvaluatePod(a, imagePod("nginx"), nil, nil)) {
				if f.Rule == "from" {
					equal(t, test.want, f.Reason)
				}
			}
		})
	}
}
