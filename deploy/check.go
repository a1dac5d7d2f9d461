package deploy

import (
	"fmt"
	"slices"
	"strings"
)

// acceptAnnotation lists, separated by commas, the checks whose warnings about an object are accepted: they become
// infos. An error cannot be accepted.
const acceptAnnotation = "evergate.dev/preflight-accepts"

// check looks for one fault. docs/preflight.md is generated from its fields.
type check struct {
	id       string
	severity Severity // the worst that it reports
	live     bool     // it needs a live cluster
	modelled bool     // it models what an API server does with a Pod; not run if one has answered a dry run
	needs    []premise
	finds    string // what it finds
	why      string // why it breaks clusters
	fix      string
	run      func(*cluster, *reporter)
}

// reporter collects the findings of one check.
type reporter struct {
	check *check
	found []found
}

func (r *reporter) error(at ref, format string, args ...any)   { r.add(Error, at, format, args) }
func (r *reporter) warning(at ref, format string, args ...any) { r.add(Warning, at, format, args) }
func (r *reporter) info(at ref, format string, args ...any)    { r.add(Info, at, format, args) }

// call reports what is wrong with the calls of a webhook: an error where it fails closed, a warning where it fails open
// and so only costs time. The sentence goes on after "with failurePolicy …".
func (r *reporter) call(h *hook, format string, args ...any) {
	severity := Warning
	if h.closed() {
		severity = Error
	}
	r.add(severity, h.ref, "with failurePolicy "+string(h.failurePolicy())+" "+format, args)
}

// add files a finding. What was found of another part of the same object already becomes one finding with it.
func (r *reporter) add(s Severity, at ref, format string, args []any) {
	if s == Warning && slices.Contains(at.accepts, r.check.id) {
		s, format = Info, format+" (accepted)"
	}
	f := Finding{
		ID: r.check.id, Severity: s, Source: at.source, Message: fmt.Sprintf(format, args...),
		Why: r.check.why, Fix: r.check.fix,
	}
	i := slices.IndexFunc(r.found, func(other found) bool {
		return other.at.sameObject(at) && at.part != "" && other.at.part != "" &&
			other.Severity == f.Severity && other.Message == f.Message
	})
	if i < 0 {
		r.found = append(r.found, found{at, []string{at.part}, f})
	} else if !slices.Contains(r.found[i].parts, at.part) {
		r.found[i].parts = append(r.found[i].parts, at.part)
	}
}

// found is a finding, and which parts of an object it is about.
type found struct {
	at    ref
	parts []string
	Finding
}

// findings returns what was found, in the order in which it was.
func (r *reporter) findings() []Finding {
	var all []Finding
	for _, f := range r.found {
		f.Object = f.at.in("%s", joinParts(f.parts)).String()
		all = append(all, f.Finding)
	}
	return all
}

// joinParts names parts of one kind: webhooks a, b.
func joinParts(parts []string) string {
	if len(parts) == 1 {
		return parts[0]
	}
	kind, _, _ := strings.Cut(parts[0], " ")
	var names []string
	for _, part := range parts {
		names = append(names, strings.TrimPrefix(part, kind+" "))
	}
	return kind + "s " + some(names)
}

// ref names an object, or a part of one, in findings.
type ref struct {
	kind, namespace, name string
	part                  string // such as: webhook pods.evergate.dev
	source                string
	accepts               []string // findings that the object accepts
}

// String is how kubectl's users name objects: Deployment evergate-system/evergate, container evergate.
func (r ref) String() string {
	s := r.kind + " "
	if r.namespace != "" {
		s += r.namespace + "/"
	}
	s += r.name
	if r.part != "" {
		s += ", " + r.part
	}
	return s
}

// sameObject reports whether two refs name the same object, or parts of it.
func (r ref) sameObject(other ref) bool {
	return r.kind == other.kind && r.namespace == other.namespace && r.name == other.name && r.source == other.source
}

// in names a part of what r names.
func (r ref) in(format string, args ...any) ref {
	r.part = fmt.Sprintf(format, args...)
	return r
}
