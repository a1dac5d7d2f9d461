package export

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy"
)

// Omission is a reason why entries, or a field of an entry, cannot be exported. There is one Omission for each reason,
// even if it affects several entries.
type Omission struct {
	Pos     policy.Position // the entry that causes it
	Field   string          // exclude.until; empty for the whole entry
	Why     string
	Instead string // what to do
	// Entries are the entries that are not exported, or not completely, because of it. An entry of exceptions causes an
	// omission, but is not in this list.
	Entries []policy.Entry

	cause string // the block and the name of the entry that causes it
}

// String returns the line for a report: file, line, column, field, reason, and what to do instead.
func (r Omission) String() string {
	path := r.Pos.Path
	if r.Field != "" {
		path += "." + r.Field
	}
	why := r.Why
	if others := r.others(); len(others) > 0 {
		also := ""
		if len(others) < len(r.Entries) {
			also = "also "
		}
		why += ", so the export " + also + "leaves out " + strings.Join(others, ", ")
	}
	return fmt.Sprintf("%s: %s: %s: %s", r.Pos, path, why, r.Instead)
}

// others lists the affected entries, except for the entry that causes the omission.
func (r *Omission) others() []string {
	var names []string
	for i := range r.Entries {
		if e := &r.Entries[i]; e.Pos != r.Pos {
			names = append(names, nameOf(e))
		}
	}
	return names
}

// Of returns the reason why an entry is not exported completely. ok is false if the omission does not affect the entry.
func (r *Omission) Of(e *policy.Entry) (field, why string, ok bool) {
	if !slices.ContainsFunc(r.Entries, func(o policy.Entry) bool { return o.Pos == e.Pos }) {
		return "", "", false
	}
	if e.Pos != r.Pos {
		return "", r.cause + ": " + r.Why, true
	}
	return r.Field, r.Why, true
}

// nameOf returns the block and the name of an entry.
func nameOf(e *policy.Entry) string { return e.Block + " " + e.Name }

const (
	// useWebhook is the solution for most omissions. useWebhooks is the same for omissions that affect several entries.
	useWebhook  = "leave the entry to the webhook, with --best-effort"
	useWebhooks = "leave the entries to the webhook, with --best-effort"
	// openShiftRoutes is the reason why routes entries for OpenShift Routes are not exported.
	openShiftRoutes = "OpenShift Routes are not supported natively"
)

// because adds an omission that does not affect any entry yet.
func (x *exporter) because(e *entry, field, why, instead string) *Omission {
	r := &Omission{Pos: e.Pos, Field: field, Why: why, Instead: instead, cause: nameOf(&e.Entry)}
	x.causes = append(x.causes, r)
	return r
}

// omitEntry adds an entry to the entries that omissions affect, so the entry is not exported.
func omitEntry(e *entry, causes ...*Omission) {
	for _, r := range causes {
		if !slices.Contains(e.omitted, r) {
			r.Entries = append(r.Entries, e.Entry)
			e.omitted = append(e.omitted, r)
		}
	}
}

// omitPart adds an omission of a part of an entry. The checks of an entry are independent of each other, so the other
// checks are still exported with --best-effort.
func omitPart(e *entry, r *Omission) {
	r.Entries = []policy.Entry{e.Entry}
	e.partial = append(e.partial, r)
}

// omit reads all active entries, and adds omissions for the parts that are not exported.
func (x *exporter) omit() {
	for _, e := range x.entries {
		if e.Block != "mirrors" && e.Block != "unique" && x.reads(e) {
			x.read(e)
		}
	}
	x.omitExceptions()
	x.omitRewriting()
	x.omitMirrors()
	for _, e := range x.entries {
		if e.native() && x.exports(e.Block) && e.Fields["hosts"] != nil {
			x.omitHosts(e)
		}
	}
}

// exports reports whether a target supports the entries of a block.
func (x *exporter) exports(block string) bool {
	switch block {
	case "exceptions":
		return false
	case "mirrors":
		return slices.Contains(x.Targets, MAP)
	}
	return slices.Contains(x.Targets, VAP)
}

// reads reports whether an entry is active, and the exported objects depend on it.
func (x *exporter) reads(e *entry) bool {
	return e.Mode != policy.Off && (x.exports(e.Block) || x.seesOriginals(e))
}

// kind returns the kind for the entries of a block, or nil if native policies do not support them.
func (x *exporter) kind(block string) *exportedKind {
	for _, k := range x.kinds {
		if k.name == block {
			return k
		}
	}
	return nil
}

// read takes the fields of an entry about objects and translates them into checks. It adds an omission for each field
// that remains.
func (x *exporter) read(e *entry) {
	k := x.kind(e.Block)
	if k == nil {
		omitEntry(e, x.because(e, "", "entries of "+e.Block+" are not supported natively", useWebhook))
		return
	}
	fields := cloneFields(e.Fields)
	e.checks = translate(fields, k.checks(fields))
	ofKinds := ""
	kinds, limited := takeTexts(fields, "kinds")
	if limited {
		ofKinds = "request.resource.resource in " + set(resourcesOf(kinds))
	}
	matches, excludes := k.selector.takeMatch(blockOf(fields, "match")), k.selector.takeExclude(blockOf(fields, "exclude"))
	e.applies = allOf(matches, ofKinds, excludes)
	for _, path := range remaining(fields) {
		r := x.notRead(e, path)
		block, _, _ := strings.Cut(path, ".")
		if e.Block == "pods" || slices.Contains([]string{"match", "exclude", "until", "reason"}, block) {
			omitEntry(e, r)
		} else {
			omitPart(e, r)
		}
	}
	switch {
	case e.Block != "routes":
	case onlyOpenShift(&e.Entry):
		omitEntry(e, x.because(e, "kinds", openShiftRoutes, useWebhook))
	case !limited || slices.Contains(kinds, "Route"): // the entry is exported for other routes
		omitPart(e, x.because(e, "kinds", openShiftRoutes, "list only Gateway API kinds, or "+useWebhook))
	}
}

// notRead adds an omission for a field that has not been taken. It does not affect any entry yet.
func (x *exporter) notRead(e *entry, path string) *Omission {
	switch path {
	case "until":
		return x.because(e, path, noClock(e.Fields), exportAgain+useWebhook)
	case "exclude.until":
		return x.because(e, path, noClock(blockOf(e.Fields, "exclude")), exportAgain+useWebhook)
	case "externalNames":
		return x.because(e, path, "the API server does not have a list of public top-level domains", useWebhook)
	case "ingressNginx.maxRisk":
		return x.because(e, path, "the API server does not have the table of risky ingress-nginx annotations", useWebhook)
	case "match.set":
		return x.because(e, path, "the webhook path selects the rule set",
			"leave rule sets to the webhook, with --best-effort")
	}
	return x.because(e, path, "it is not supported natively", useWebhook)
}

// exportAgain is the solution for reasons that end.
const exportAgain = "export again after that, or "

// noClock returns the reason why an entry, an exclude or an exception that ends is not exported.
func noClock(fields policy.Fields) string {
	return fmt.Sprintf("it ends on %v, and CEL has no clock", fields["until"])
}

// omitHosts adds an omission for the hosts block if CEL expressions cannot read the hosts in an annotation that the
// policy does not deny.
func (x *exporter) omitHosts(e *entry) {
	kinds := map[string][]string{
		"ingresses": {"Ingress"}, "services": {"Service"}, "gateways": {"Gateway", "Service"},
	}[e.Block]
	for _, kind := range kinds {
		for _, a := range x.hostAnnotations[kind] {
			if !unread(a.Grammar) || x.denies(e.Block, a.Key) {
				continue
			}
			omitPart(e, x.because(e, "hosts", "CEL cannot read the hosts in the annotation "+a.Key,
				"deny it in an entry in mode enforce, without match and exclude: annotations: {denied: ["+
					strconv.Quote(a.Key)+"]}, or "+useWebhook))
			e.checks = slices.DeleteFunc(e.checks, func(c check) bool { return strings.HasPrefix(c.id, "hosts.") })
			return
		}
	}
}

// denies reports whether a rule denies an annotation in every object of a block.
func (x *exporter) denies(block, key string) bool {
	return slices.ContainsFunc(x.entries, func(e *entry) bool {
		return e.Block == block && e.Mode == policy.Enforce && e.native() && e.Fields["match"] == nil &&
			e.Fields["exclude"] == nil && e.Fields["kinds"] == nil &&
			slices.ContainsFunc(texts(blockOf(e.Fields, "annotations")["denied"]), func(p string) bool {
				return matchesGlob(p, key)
			})
	})
}

// omitExceptions adds an omission for each entry of exceptions, with the rules that it lists, because exceptions end on
// a date.
func (x *exporter) omitExceptions() {
	for _, exception := range x.entries {
		if exception.Block != "exceptions" {
			continue
		}
		r := x.because(exception, "", noClock(exception.Fields), exportAgain+useWebhooks)
		for _, rule := range texts(exception.Fields["rules"]) {
			name, _, _ := strings.Cut(rule, "/")
			for _, e := range x.entries {
				if x.reads(e) && x.kind(e.Block) != nil && matchesGlob(name, e.Name) {
					omitEntry(e, r)
				}
			}
		}
	}
}

// matchesGlob reports whether a pattern matches a name. In a pattern, * matches any number of characters.
func matchesGlob(pattern, name string) bool {
	return regexp.MustCompile(`^(?s:` + globRegex(pattern) + `)$`).MatchString(name)
}
