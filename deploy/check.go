package deploy

import (
	"fmt"
	"slices"
)

// acceptAnnotation lists, separated by commas, the checks whose warnings about an object are accepted: they become
// infos. An error cannot be accepted.
const acceptAnnotation = "evergate.dev/preflight-accepts"

// check looks for one fault. docs/preflight.md is generated from its fields.
type check struct {
	id       string
	severity Severity // the worst that it reports
	live     bool     // it needs a live cluster
	finds    string   // what it finds
	why      string   // why it breaks clusters
	fix      string
	run      func(*cluster, *reporter)
}

// reporter collects the findings of one check.
type reporter struct {
	check    *check
	findings []Finding
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

func (r *reporter) add(s Severity, at ref, format string, args []any) {
	if s == Warning && slices.Contains(at.accepts, r.check.id) {
		s, format = Info, format+" (accepted)"
	}
	r.findings = append(r.findings, Finding{
		ID: r.check.id, Severity: s,
		Object: at.String(), Source: at.source, Message: fmt.Sprintf(format, args...),
		Why: r.check.why, Fix: r.check.fix,
	})
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

// in names a part of what r names.
func (r ref) in(format string, args ...any) ref {
	r.part = fmt.Sprintf(format, args...)
	return r
}
