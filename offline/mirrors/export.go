package mirrors

import (
	"bytes"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/evergate/evergate/offline/export"
	"github.com/evergate/evergate/policy"
)

const (
	useWebhook = "leave the entry to the webhook, with --best-effort"
	dockerHub  = "docker.io"
)

// Options contains the inputs of an export, except for the policy.
type Options struct {
	Target export.Target
	// NoFallback means that nodes do not pull from the original registry if the mirror fails.
	NoFallback bool
	// Now is the time at which entries and excludes that have ended are left out. At the zero time, nothing has ended.
	Now time.Time
}

// Export returns the configuration of a container runtime with the mirrors of a policy, and the reasons why entries are
// not exported. A comment for each reason is at the beginning of the text.
func Export(doc policy.Document, o Options) ([]byte, []export.Omission) {
	table, omissions := FromPolicy(doc, o)
	var b bytes.Buffer
	for _, omission := range omissions {
		b.WriteString("# not exported: " + omission.String() + "\n")
	}
	table.Write(&b, o.Target)
	return b.Bytes(), omissions
}

// FromPolicy returns the table of the mirrors in a policy, without the entries that a container runtime cannot express.
// Its configuration is the same for all Pods on a node.
func FromPolicy(doc policy.Document, o Options) (Table, []export.Omission) {
	entries := slices.DeleteFunc(slices.Clone(doc.Entries), func(e policy.Entry) bool {
		return e.Block != "mirrors" || e.Mode == policy.Off || ended(e.Fields, o.Now)
	})
	var omissions []export.Omission
	omitted := map[policy.Position]bool{}
	for _, e := range entries {
		own := omissionsOf(e, o)
		for i := range own {
			own[i].Entries = []policy.Entry{e}
		}
		if len(own) > 0 {
			own[0].Entries = append(own[0].Entries, above(e, entries)...)
			for _, of := range own[0].Entries {
				omitted[of.Pos] = true
			}
		}
		omissions = append(omissions, own...)
	}
	var table Table
	for _, e := range entries {
		if !omitted[e.Pos] {
			for _, source := range texts(e.Fields["sources"]) {
				table = append(table, Row{source, destination(e, source), !o.NoFallback})
			}
		}
	}
	return table, omissions
}

// above returns the other entries that have a source of an entry, or a source above it. They are not exported without
// the entry, because a container runtime would also use them for its images.
func above(below policy.Entry, entries []policy.Entry) (all []policy.Entry) {
	for _, e := range entries {
		if e.Pos != below.Pos && slices.ContainsFunc(texts(e.Fields["sources"]), func(place string) bool {
			return slices.ContainsFunc(texts(below.Fields["sources"]), func(s string) bool { return isBelow(s, place) })
		}) {
			all = append(all, e)
		}
	}
	return all
}

// omissionsOf returns the reasons why a container runtime cannot express an entry.
func omissionsOf(e policy.Entry, o Options) (all []export.Omission) {
	omit := func(field, why, instead string) {
		all = append(all, export.Omission{Pos: e.Pos, Field: field, Why: why, Instead: instead})
	}
	if e.Mode != policy.Enforce {
		omit("mode", "a container runtime cannot warn", "export it when it is in mode enforce")
	}
	for _, field := range slices.Sorted(maps.Keys(e.Fields)) {
		switch field {
		case "sources", "mirror":
		case "exclude", "match":
			if block, _ := e.Fields[field].(policy.Fields); !ended(block, o.Now) {
				omit(field, "a container runtime cannot distinguish Pods", useWebhook)
			}
		case "imagePullSecret":
			omit(field, "kubelet chooses credentials by the original image",
				"give the nodes the credentials of the mirror, and remove the field")
		case "until":
			omit(field, "a container runtime has no clock", useWebhook)
		default:
			omit(field, "a container runtime has no such field", useWebhook)
		}
	}
	for _, source := range texts(e.Fields["sources"]) {
		switch {
		case strings.HasPrefix(source, "*"):
			omit("sources", "the wildcard "+source+" cannot keep registries apart at the mirror", "list the registries")
		case o.Target == HostsTOML && strings.Contains(source, "/"):
			omit("sources", "containerd mirrors only whole registries, but "+source+" has a path", useWebhook)
		}
	}
	return all
}

// ended reports whether an entry or an exclude block has ended.
func ended(fields policy.Fields, now time.Time) bool {
	until, is := fields["until"].(string)
	return is && !now.Before(policy.EndOf(until))
}

// destination returns the mirror of a source, as the policy spells it.
func destination(e policy.Entry, source string) string {
	mirror, _ := e.Fields["mirror"].(policy.Fields)
	place, _ := mirror["written"].(string)
	if mirror["keepRegistry"] != nil {
		place += "/" + registryOf(source)
	}
	return place
}

// texts returns the strings in a list of a policy.
func texts(list any) (all []string) {
	values, _ := list.([]any)
	for _, v := range values {
		s, _ := v.(string)
		all = append(all, s)
	}
	return all
}
