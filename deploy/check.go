package deploy

import (
	"fmt"
	"slices"
	"strings"
)

// acceptAnnotation lists, separated by commas, the checks whose warnings about an object are accepted. They become
// infos. An error cannot be accepted.
const acceptAnnotation = "evergate.dev/preflight-accepts"

// check looks for one kind of problem. docs/preflight.md is generated from its fields.
type check struct {
	id       string
	severity Severity // the worst severity that it reports
	live     bool     // it needs a live cluster
	modelled bool     // it predicts the admission of a Pod; not run if an API server has answered a dry run
	needs    []premise
	finds    string // the problem, after "Preflight reports"
	why      string // why it breaks clusters
	fix      string
	run      func(*cluster, *reporter)
}

// eachServer returns the run function of a check that checks each Deployment on its own.
func eachServer(run func(*cluster, *server, *reporter)) func(*cluster, *reporter) {
	return func(c *cluster, r *reporter) {
		for _, s := range c.servers {
			run(c, s, r)
		}
	}
}

// eachHook returns the run function of a check that checks each Evergate webhook on its own.
func eachHook(run func(*cluster, *hook, *reporter)) func(*cluster, *reporter) {
	return func(c *cluster, r *reporter) {
		for _, h := range c.hooks {
			run(c, h, r)
		}
	}
}

// reporter collects the findings of one check.
type reporter struct {
	check *check
	found []found
}

func (r *reporter) error(at ref, format string, args ...any)   { r.add(Error, at, format, args) }
func (r *reporter) warning(at ref, format string, args ...any) { r.add(Warning, at, format, args) }
func (r *reporter) info(at ref, format string, args ...any)    { r.add(Info, at, format, args) }

// call reports a problem with the calls of a webhook. It is an error if the webhook fails closed, and a warning if it
// fails open and so only costs time. The message starts with "with failurePolicy …" and continues with format.
func (r *reporter) call(h *hook, format string, args ...any) {
	severity := Warning
	if h.closed() {
		severity = Error
	}
	r.add(severity, h.ref, "with failurePolicy "+string(h.failurePolicy())+" "+format, args)
}

// add records a finding. Findings with the same message about several parts of one object become one finding.
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

// found is a finding, and the parts of the object that it is about.
type found struct {
	at    ref
	parts []string
	Finding
}

// findings returns the findings in the order in which the check reported them.
func (r *reporter) findings() []Finding {
	var all []Finding
	for _, f := range r.found {
		f.Object = f.at.in("%s", joinParts(f.parts)).String()
		all = append(all, f.Finding)
	}
	return all
}

// joinParts lists parts of the same kind: webhooks a, b.
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

// ref identifies an object, or a part of an object, in findings.
type ref struct {
	kind, namespace, name string
	part                  string // such as: webhook pods.evergate.dev
	source                string
	accepts               []string // findings that the object accepts
}

// String formats an object as users of kubectl know it: Deployment evergate-system/evergate, container evergate.
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

// sameObject reports whether two refs identify the same object, or parts of it.
func (r ref) sameObject(other ref) bool {
	return r.kind == other.kind && r.namespace == other.namespace && r.name == other.name && r.source == other.source
}

// in returns a ref of a part of the object.
func (r ref) in(format string, args ...any) ref {
	r.part = fmt.Sprintf(format, args...)
	return r
}
