package export

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// seesOriginals reports whether a rule checks original images. If a native policy rewrites images, webhooks do not see
// the original images.
func (x *exporter) seesOriginals(e *entry) bool {
	images := blockOf(e.Fields, "images")
	return e.Block == "pods" && (images["denied"] != nil || images["deniedTags"] != nil) && len(x.mirrors.active) > 0 &&
		slices.Contains(x.Targets, MAP)
}

// omitRewriting adds omissions for all mirrors entries if a rule about original images is left to the webhooks.
// Webhooks are called after the policy that rewrites, so they would not see the original images.
func (x *exporter) omitRewriting() {
	for _, e := range x.entries {
		if e.Mode == policy.Off || !x.seesOriginals(e) {
			continue
		}
		causes := slices.Clone(e.omitted)
		if e.Mode != policy.Enforce {
			causes = append(causes, x.because(e, "mode", "the rule is about original images and is in mode "+e.Mode.String()+
				", and a mutating policy cannot warn", "set it to mode enforce, or "+useWebhooks))
		}
		for _, m := range x.mirrors.active {
			if m.Mode == policy.Enforce { // omitMirrors handles other entries
				omitEntry(m.entry, causes...)
			}
		}
	}
}

// omitMirrors adds omissions for entries that the policy that rewrites cannot express, and for rules that depend on the
// mirrors. Images at the mirror of an entry that has ended still count as images from a mirror.
func (x *exporter) omitMirrors() {
	rewrites := slices.Contains(x.Targets, MAP)
	var causes []*Omission // why native policies do not know all mirrors
	for _, m := range x.mirrors.all {
		own := x.notExact(m)
		if rewrites && !m.ended {
			if m.Mode != policy.Enforce {
				own = append(own, x.because(m.entry, "mode", "a mutating policy cannot warn",
					"leave the entry to the webhook until it is in mode enforce, with --best-effort"))
			}
			omitEntry(m.entry, own...)
		}
		causes = slices.Concat(causes, own, m.omitted)
	}
	for _, e := range x.entries {
		switch {
		case e.Block != "pods" || !e.native() || !x.exports("pods") || blockOf(e.Fields, "images")["from"] == nil:
		case len(causes) > 0:
			omitEntry(e, causes...)
		case !rewrites && !x.DenyUnrewritten:
			omitEntry(e, x.because(e, "images.from",
				"without the policy that rewrites images, it denies every Pod if no replica is running",
				"export both with --target vap,map (Kubernetes 1.36), or accept this with --deny-unrewritten"))
		}
	}
}

// notExact adds omissions for the fields that native policies do not support.
func (x *exporter) notExact(m *mirrorEntry) (causes []*Omission) {
	if !m.ended {
		for _, path := range m.left {
			causes = append(causes, x.notRead(m.entry, path))
		}
	}
	for _, s := range m.sources {
		if strings.HasPrefix(s, "*") {
			causes = append(causes, x.because(m.entry, "sources", "the wildcard "+s+" is not supported natively",
				"list the registries, or "+useWebhooks))
		}
	}
	return causes
}
