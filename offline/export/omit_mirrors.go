package export

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// seesOriginals reports whether a rule checks original images. If a native policy rewrites images, webhooks do not
// see the original images.
func (x *exporter) seesOriginals(e *policy.Entry) bool {
	images := blockOf(e, "images")
	return e.Block == "pods" && (images["denied"] != nil || images["deniedTags"] != nil) && len(x.mirrors.entries) > 0 &&
		slices.Contains(x.Targets, MAP)
}

// omitRewriting adds omissions for all mirrors entries if a rule about original images is left to the webhooks.
// Webhooks are called after the policy that rewrites, so they would not see the original images.
func (x *exporter) omitRewriting() {
	for i := range x.entries {
		e := &x.entries[i]
		if e.Mode == policy.Off || !x.seesOriginals(e) {
			continue
		}
		causes := slices.Clone(x.omitted[e.Name])
		if e.Mode != policy.Enforce && x.nativeLater(e) {
			causes = append(causes, x.cause(e, "mode", "the rule is about original images and is in mode "+e.Mode.String()+
				", and a mutating policy cannot warn", "set it to mode enforce, or "+useWebhooks))
		}
		for _, m := range x.mirrors.entries {
			if m.Mode == policy.Enforce { // omitMirrors handles other entries
				x.omitBecause(m, causes...)
			}
		}
	}
}

// omitMirrors adds omissions for entries that the policy that rewrites cannot express, and for rules that need this
// policy if it is not exported.
func (x *exporter) omitMirrors() {
	exact := true          // the table of mirrors is exact
	var causes []*Omission // of the entries that are not exported
	for _, e := range x.mirrors.entries {
		exact = exact && len(x.omitted[e.Name]) == 0
		for _, s := range texts(e.Fields["sources"]) {
			if strings.HasPrefix(s, "*") {
				exact = false
				if slices.Contains(x.Targets, MAP) {
					x.omit(e, "sources", "the wildcard "+s+" is not supported natively", "list the registries, or "+useWebhook)
				}
			}
		}
		if exclude := blockOf(e, "exclude"); exclude["until"] != nil || e.Fields["until"] != nil {
			exact = false
		}
		if e.Mode != policy.Enforce && slices.Contains(x.Targets, MAP) {
			x.omit(e, "mode", "a mutating policy cannot warn",
				"leave the entry to the webhook until it is in mode enforce, with --best-effort")
		}
		for _, r := range x.omitted[e.Name] {
			if !slices.Contains(causes, r) {
				causes = append(causes, r)
			}
		}
	}
	causes = append(causes, x.endedWildcards()...)
	for i := range x.entries {
		e := &x.entries[i]
		images := blockOf(e, "images")
		if e.Block != "pods" || !x.nativeLater(e) || !x.exports("pods") {
			continue
		}
		switch {
		case images["from"] == nil:
		case len(causes) > 0:
			x.omitBecause(e, causes...)
		case !exact:
			x.omit(e, "images.from", "some mirrors entries cannot be exported",
				"list their sources and remove until, or "+useWebhook)
		case !slices.Contains(x.Targets, MAP) && !x.DenyUnrewritten:
			x.omit(e, "images.from", "without the policy that rewrites images, it denies every Pod if no replica is running",
				"export both with --target vap,map (Kubernetes 1.36), or accept this with --deny-unrewritten")
		}
	}
}

// endedWildcards returns causes that affect only rules that depend on the mirrors. Images at the mirror of an entry
// that has ended still count as images from a mirror, but expressions cannot find them if a source is a wildcard.
func (x *exporter) endedWildcards() (causes []*Omission) {
	for _, e := range x.mirrors.all {
		for _, s := range texts(e.Fields["sources"]) {
			if hasEnded(e) && strings.HasPrefix(s, "*") {
				causes = append(causes, x.cause(e, "sources", "the wildcard "+s+" is not supported natively",
					"list the registries, or "+useWebhooks))
			}
		}
	}
	return causes
}

// omitExceptions adds an omission for each entry of exceptions, with the rules that it lists, because exceptions end on
// a date.
func (x *exporter) omitExceptions() {
	for i := range x.entries {
		exception := &x.entries[i]
		if exception.Block != "exceptions" {
			continue
		}
		until := fmt.Sprint(exception.Fields["until"])
		var r *Omission
		for _, rule := range texts(exception.Fields["rules"]) {
			name, _, _ := strings.Cut(rule, "/")
			for j := range x.entries {
				e := &x.entries[j]
				if !x.excepted(e) || !matchesGlob(name, e.Name) {
					continue
				}
				if r == nil {
					r = x.cause(exception, "", "the exception applies until "+until+", and "+noClock, useWebhooks)
					r.until = until
				}
				x.omitBecause(e, r)
			}
		}
	}
}

// excepted reports whether exceptions prevent the export of an entry, perhaps together with its exclude.
func (x *exporter) excepted(e *policy.Entry) bool {
	exported := x.exports(e.Block) && e.Block != "mirrors" && e.Block != "exceptions"
	return (exported || x.seesOriginals(e)) && x.nativeLater(e)
}

// matchesGlob reports whether a pattern matches a name. In a pattern, * matches any number of characters.
func matchesGlob(pattern, name string) bool {
	head, rest, wild := strings.Cut(pattern, "*")
	if !wild {
		return pattern == name
	}
	if name, wild = strings.CutPrefix(name, head); !wild {
		return false
	}
	for i := range len(name) + 1 {
		if matchesGlob(rest, name[i:]) {
			return true
		}
	}
	return false
}
