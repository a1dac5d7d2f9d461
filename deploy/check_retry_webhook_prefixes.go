package deploy

import (
	"regexp"
	"slices"
	"strings"
)

// retryWebhookPrefixes checks that the prefixes in the matchCondition of the retry webhook (/mutate/pods/again) match
// the mirrors of the policy. Each prefix ends with a slash, each mirror is under a prefix, and each prefix has a
// mirror. The check runs if the input has the policy.
func retryWebhookPrefixes() check {
	return check{
		id: "retry-webhook-prefixes", severity: Warning, needs: []premise{wired()},
		finds: "image prefixes in the matchCondition of the retry webhook that differ from the mirrors of the policy",
		why: "if the prefix of a mirror is missing, every Pod with an image from this mirror causes a call that does not " +
			"change anything. If a prefix does not belong to a mirror, the retry webhook does not rewrite the images with " +
			"this prefix",
		fix: "set mirrors in the ConfigMap evergate-settings to the output of evergate policy prefixes --policy POLICY, " +
			"which lists the prefixes of all mirrors",
		run: func(c *cluster, r *reporter) {
			p, ok := c.policy()
			if !ok {
				return
			}
			for _, h := range c.hooks {
				if h.path() == pathMutatePodsAgain {
					h.comparePrefixes(p.MirrorPlaces(), r)
				}
			}
		},
	}
}

func (h *hook) comparePrefixes(places []string, r *reporter) {
	prefixes, ok := h.prefixes()
	if !ok {
		r.warning(h.ref,
			`no list of prefixes was found in its matchConditions: ["mirror.example/"].exists(p, ….startsWith(p))`)
		return
	}
	for _, prefix := range prefixes {
		switch {
		case !strings.HasSuffix(prefix, "/"):
			r.warning(h.ref, "the prefix %s does not end with a slash, so it covers other registries too", prefix)
		case !slices.ContainsFunc(places, func(place string) bool { return strings.HasPrefix(place+"/", prefix) }):
			r.warning(h.ref, "no mirror of the policy is under the prefix %s", prefix)
		}
	}
	for _, place := range places {
		covers := func(prefix string) bool {
			return strings.HasPrefix(place+"/", strings.TrimSuffix(prefix, "/")+"/")
		}
		if !slices.ContainsFunc(prefixes, covers) {
			r.warning(h.ref, "the mirror %s is not under any of its prefixes", place)
		}
	}
}

// Both patterns match CEL as people usually write it, not all of CEL.
var (
	stringList = regexp.MustCompile(`\[([^\[\]]*)\]\s*\.exists\(\s*(\w+)\s*,`)
	celString  = regexp.MustCompile(`"([^"]*)"|'([^']*)'`)
)

// prefixes returns the list of strings that a matchCondition compares with the start of an image: "a/" and "b/" in
// ["a/", "b/"].exists(p, image.startsWith(p)). ok is false if no matchCondition has such a list.
func (h *hook) prefixes() (prefixes []string, ok bool) {
	for _, m := range h.MatchConditions {
		for _, match := range stringList.FindAllStringSubmatch(m.Expression, -1) {
			if !strings.Contains(m.Expression, "startsWith("+match[2]+")") {
				continue
			}
			ok = true
			for _, s := range celString.FindAllStringSubmatch(match[1], -1) {
				prefixes = append(prefixes, s[1]+s[2])
			}
		}
	}
	return prefixes, ok
}
