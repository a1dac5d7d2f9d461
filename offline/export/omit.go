package export

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy"
)

// useWebhook is the solution for most omissions. useWebhooks is the same for omissions that affect several entries.
const (
	useWebhook  = "leave the entry to the webhook, with --best-effort"
	useWebhooks = "leave the entries to the webhook, with --best-effort"
)

// noClock is the reason why an entry with an end is not exported.
const noClock = "the API server's expressions do not have a clock"

// openShiftRoutes is the reason why routes entries for OpenShift Routes are not exported.
const openShiftRoutes = "OpenShift Routes are not supported natively"

// omit adds an omission of a whole entry, so the entry is not exported.
func (x *exporter) omit(e *policy.Entry, field, why, instead string) {
	x.omitBecause(e, x.cause(e, field, why, instead))
}

// cause adds an omission that does not affect any entry yet.
func (x *exporter) cause(e *policy.Entry, field, why, instead string) *Omission {
	r := &Omission{Pos: e.Pos, Field: field, Why: why, Instead: instead, entry: e}
	x.causes = append(x.causes, r)
	return r
}

// omitBecause adds an entry to the entries that causes affect, so the entry is not exported.
func (x *exporter) omitBecause(e *policy.Entry, causes ...*Omission) {
	for _, r := range causes {
		if !slices.Contains(x.omitted[e.Name], r) {
			r.Entries = append(r.Entries, *e)
			x.omitted[e.Name] = append(x.omitted[e.Name], r)
		}
	}
}

// omitBlock adds an omission of a block of checks. The checks of an entry are independent of each other, so the other
// checks are still exported with --best-effort.
func (x *exporter) omitBlock(e *policy.Entry, block, field, why, instead string) {
	r := x.cause(e, field, why, instead)
	r.Entries = []policy.Entry{*e}
	x.partial[e.Name] = append(x.partial[e.Name], r)
	delete(e.Fields, block)
}

// known contains the supported fields of a block, with their nested fields. If the nested map is nil, all nested
// fields are supported.
type known map[string]known

// readFields returns the supported fields of a block, or nil if the block is not exported.
func readFields(block string) known {
	images := known{"from": nil, "allowed": nil, "denied": nil, "deniedTags": nil, "digest": nil}
	switch block {
	case "mirrors":
		selector := known{"namespaces": nil, "podLabels": nil, "images": nil, "reason": nil}
		return known{"match": selector, "exclude": selector, "sources": nil, "mirror": nil, "imagePullSecret": nil}
	case "pods":
		selector := known{"namespaces": nil, "podLabels": nil, "images": nil, "reason": nil}
		return known{"match": selector, "exclude": selector, "images": images, "workloads": nil}
	case "services":
		return withSelectors(serviceFields(), "loadBalancerClasses")
	case "ingresses":
		return withSelectors(ingressFields(), "classNames")
	case "routes":
		return withSelectors(routeFields(), "")
	case "gateways":
		return withSelectors(gatewayFields(), "gatewayClassNames")
	}
	return nil
}

// withSelectors adds match and exclude to the fields of blocks for objects that users write.
func withSelectors(fields known, classes string) known {
	selector := known{"namespaces": nil, "users": nil, "groups": nil, "labels": nil, "reason": nil}
	if classes != "" {
		selector[classes] = nil
	}
	fields["match"], fields["exclude"] = selector, selector
	return fields
}

// omitAll adds omissions for the parts of active entries that are not exported.
func (x *exporter) omitAll() {
	for i := range x.entries {
		e := &x.entries[i]
		exported := x.exports(e.Block) && (e.Block != "mirrors" || slices.Contains(x.Targets, MAP))
		if e.Mode == policy.Off || !exported && !x.seesOriginals(e) {
			continue
		}
		fields := readFields(e.Block)
		if fields == nil {
			x.omit(e, "", "entries of "+e.Block+" are not supported natively", useWebhook)
			continue
		}
		x.omitFields(e, "", e.Fields, fields)
		x.omitOpenShift(e)
		x.omitFilters(e)
	}
	for _, t := range []Target{HostsTOML, RegistriesConf} {
		if slices.Contains(x.Targets, t) {
			x.omitAllNodes(t)
		}
	}
	x.omitExceptions()
	x.omitRewriting()
	x.omitMirrors()
	for i := range x.entries {
		e := &x.entries[i]
		if e.Fields["hosts"] != nil && x.nativeLater(e) && readFields(e.Block) != nil && x.exports(e.Block) {
			x.omitHosts(e)
		}
	}
}

// omitOpenShift adds omissions for routes entries that apply to OpenShift Routes. If an entry also applies to other
// routes, it is exported for them.
func (x *exporter) omitOpenShift(e *policy.Entry) {
	kinds := texts(e.Fields["kinds"])
	switch {
	case e.Block != "routes" || !x.nativeLater(e):
	case onlyOpenShift(e):
		x.omit(e, "kinds", openShiftRoutes, useWebhook)
	case len(kinds) == 0 || slices.Contains(kinds, "Route"):
		x.omitBlock(e, "", "kinds", openShiftRoutes, "list only Gateway API kinds, or "+useWebhook)
	}
}

// omitFilters adds an omission for denied filters that do not refer to an object. CEL expressions cannot compare the
// effects of two such filters, so they cannot determine whether an update changes them.
func (x *exporter) omitFilters(e *policy.Entry) {
	if e.Block != "routes" || !x.nativeLater(e) {
		return
	}
	for _, kind := range texts(blockOf(e, "filters")["denied"]) {
		switch kind {
		case "RequestMirror", "ExtensionRef", "ExternalAuth":
		default:
			x.omitBlock(e, "filters", "filters.denied", "the API server's expressions cannot determine "+
				"whether an update changes a filter of type "+kind,
				"deny only RequestMirror, ExtensionRef and ExternalAuth, or "+useWebhook)
			return
		}
	}
}

// omitHosts adds an omission for the hosts block if CEL expressions cannot read the hosts in an annotation that the
// policy does not deny.
func (x *exporter) omitHosts(e *policy.Entry) {
	kinds := map[string][]string{
		"ingresses": {"Ingress"}, "services": {"Service"}, "gateways": {"Gateway", "Service"},
	}[e.Block]
	for _, kind := range kinds {
		for _, a := range x.hostAnnotations[kind] {
			if unread(a.Grammar) && !x.denies(e.Block, a.Key) {
				x.omitBlock(e, "hosts", "hosts", "the API server's expressions cannot read the hosts in the annotation "+a.Key,
					"deny it in an entry in mode enforce, without match and exclude: annotations: {denied: ["+
						strconv.Quote(a.Key)+"]}, or "+useWebhook)
				return
			}
		}
	}
}

// denies reports whether a rule denies an annotation in every object of a block.
func (x *exporter) denies(block, key string) bool {
	return slices.ContainsFunc(x.entries, func(e policy.Entry) bool {
		annotations := blockOf(&e, "annotations")
		return e.Block == block && e.Mode == policy.Enforce && x.native(&e) && e.Fields["match"] == nil &&
			e.Fields["exclude"] == nil && e.Fields["kinds"] == nil &&
			slices.ContainsFunc(texts(annotations["denied"]), func(p string) bool { return matchesGlob(p, key) })
	})
}

// exports reports whether a target supports the entries of a block.
func (x *exporter) exports(block string) bool {
	switch block {
	case "exceptions":
		return false
	case "mirrors":
		return slices.ContainsFunc(x.Targets, func(t Target) bool {
			return t == MAP || t == HostsTOML || t == RegistriesConf
		})
	}
	return slices.Contains(x.Targets, VAP)
}

// omitFields adds omissions for the fields that are not in read.
func (x *exporter) omitFields(e *policy.Entry, path string, fields policy.Fields, read known) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		inner, ok := read[name]
		if !ok {
			x.omitField(e, path, name, fields[name])
			continue
		}
		if nested, isFields := fields[name].(policy.Fields); isFields && inner != nil {
			x.omitFields(e, path+name+".", nested, inner)
		}
	}
}

// omitField adds an omission for a field. If the field belongs to a block of checks, the rest of the entry is still
// exported.
func (x *exporter) omitField(e *policy.Entry, path, name string, value any) {
	if name == "until" {
		x.omitUntil(e, path+name, fmt.Sprint(value))
		return
	}
	why, instead := whyNot(path + name)
	selects := strings.HasPrefix(path, "match.") || strings.HasPrefix(path, "exclude.")
	if e.Block == "mirrors" || e.Block == "pods" || selects || name == "reason" {
		x.omit(e, path+name, why, instead)
		return
	}
	if path == "" {
		x.omitBlock(e, name, name, why, instead)
		return
	}
	block, _, _ := strings.Cut(path, ".")
	x.omitBlock(e, "", path+name, why, instead)
	delete(blockOf(e, block), name)
}

// omitUntil adds an omission for an entry, or its exclude, that ends.
func (x *exporter) omitUntil(e *policy.Entry, field, until string) {
	r := x.cause(e, field, "it ends on a date, and "+noClock, useWebhook)
	r.until = until
	x.omitBecause(e, r)
}

// whyNot returns the reason why a field is not exported, and what to do instead.
func whyNot(field string) (why, instead string) {
	switch last := field[strings.LastIndexByte(field, '.')+1:]; {
	case field == "externalNames":
		return "the API server does not have a list of public top-level domains", useWebhook
	case field == "ingressNginx":
		return "the API server does not have the table of risky ingress-nginx annotations", useWebhook
	case last == "set":
		return "the webhook path selects the rule set", "leave rule sets to the webhook, with --best-effort"
	}
	return "it is not supported natively", useWebhook
}
