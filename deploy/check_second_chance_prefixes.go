package deploy

import (
	"regexp"
	"strings"
)

// secondChance: the prefixes in the matchCondition of the second chance (/mutate/pods/again) are those of the policy's
// mirrors: each ends with a slash, each mirror lies under one, and under each lies a mirror. It is looked at where the
// input has the policy.
func secondChance() check {
	return check{
		id: "second-chance-prefixes", severity: Warning,
		finds: "prefixes in the matchCondition of the second chance that differ from the mirrors of the policy",
		why: "a mirror that is missing costs every Pod a call that changes nothing; a prefix that is no mirror " +
			"keeps images from their second chance",
		fix: "set mirrors of the ConfigMap evergate-settings to what evergate policy prefixes POLICY prints: the places of " +
			"all mirrors, each with a slash at its end",
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
			r.warning(h.ref, "the prefix %s does not end with a slash, so that it covers other registries too", prefix)
		case !anyHasPrefix(places, prefix):
			r.warning(h.ref, "under the prefix %s lies no mirror of the policy", prefix)
		}
	}
	for _, place := range places {
		if !anyIsPrefix(prefixes, place+"/") {
			r.warning(h.ref, "the mirror %s lies under none of its prefixes", place)
		}
	}
}

func anyHasPrefix(places []string, prefix string) bool {
	for _, place := range places {
		if strings.HasPrefix(place+"/", prefix) {
			return true
		}
	}
	return false
}

func anyIsPrefix(prefixes []string, place string) bool {
	for _, prefix := range prefixes {
		if strings.HasPrefix(place, strings.TrimSuffix(prefix, "/")+"/") {
			return true
		}
	}
	return false
}

// Both patterns read CEL as people write it, not all that CEL allows.
var (
	stringList = regexp.MustCompile(`\[([^\[\]]*)\]\s*\.exists\(\s*(\w+)\s*,`)
	celString  = regexp.MustCompile(`"([^"]*)"|'([^']*)'`)
)

// prefixes returns the list of strings of which some matchCondition asks whether an image starts with one: the list
// whose elements are called p in ["a/", "b/"].exists(p, image.startsWith(p)).
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
