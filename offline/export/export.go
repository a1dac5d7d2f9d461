// Package export translates a policy to the language of the API server: ValidatingAdmissionPolicies and
// MutatingAdmissionPolicies, which work even if no replica is running.
//
// A translation is exact. Anything that cannot be translated exactly is not exported, and the result lists it. This
// includes every field that this package does not read, so a new policy field is not exported until this package
// supports it. The module equivalence evaluates the exported objects with the code of the API server and compares the
// decisions with package policy.
package export

import (
	"bytes"
	"slices"
	"time"

	"github.com/evergate/evergate/policy"
)

// Target is a format to which a policy is exported.
type Target string

// The targets.
const (
	VAP Target = "vap" // ValidatingAdmissionPolicies
	MAP Target = "map" // MutatingAdmissionPolicies

	Static Target = "static" // files of manifest-based admission, for both kinds of policies
)

// TargetInfo is a target with a description of its output.
type TargetInfo struct {
	Name Target
	Does string
}

// Targets returns the targets in the order in which they are documented.
func Targets() []TargetInfo {
	return []TargetInfo{
		{VAP, "ValidatingAdmissionPolicies: Kubernetes 1.35 or later"},
		{MAP, "MutatingAdmissionPolicies: Kubernetes 1.36 or later"},
		{Static, "both as files of the API server: Kubernetes 1.37 or later"},
	}
}

// ExemptNamespaces returns the namespaces that the webhooks of the base manifests never match, first Evergate's
// namespace. A test compares the list with kustomize/base/exempt-namespaces.yaml.
func ExemptNamespaces() []string {
	return []string{"evergate-system", "kube-system", "kube-public", "kube-node-lease", "cert-manager"}
}

// Options contains the inputs of an export, except for the policy.
type Options struct {
	Targets []Target
	// DenyUnrewritten exports the check from: mirrors even if the policy that rewrites is not exported. Pods that a
	// webhook has not rewritten are then denied.
	DenyUnrewritten bool
	// Exempt contains the namespaces that are never matched, first Evergate's namespace.
	Exempt []string
	// BreakGlass is the group that may delete and change the objects that the target static protects.
	BreakGlass string
	// Hash is the hash of the policy, for an annotation.
	Hash string
	// Now is the time at which entries, excludes and exceptions that have ended are left out. At the zero time, nothing
	// has ended.
	Now time.Time
}

// Result is the result of an export.
type Result struct {
	Objects   []Object
	Omissions []Omission
	// Coverage reports for each entry which part of it is native. Report returns it as text.
	Coverage []Coverage
}

// Text returns the output: manifests, with a comment for each omission.
func (r *Result) Text() ([]byte, error) {
	manifests, err := YAML(r.Objects)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, omission := range r.Omissions {
		b.WriteString("# not exported: " + omission.String() + "\n")
	}
	if slices.ContainsFunc(r.Objects, func(o Object) bool { return o.plugin != "" }) {
		b.WriteString(AdmissionConfiguration)
	}
	b.Write(manifests)
	return b.Bytes(), nil
}

// exporter exports one policy.
type exporter struct {
	Options
	entries  []*entry
	settings policy.Fields
	// hostAnnotations contains the annotations by which objects claim hosts, by kind.
	hostAnnotations map[string][]policy.HostAnnotation

	mirrors *mirrors
	kinds   []*exportedKind // that native policies can validate
	causes  []*Omission     // in the order in which they were found
	result  Result
}

// entry is an entry of a policy, without an exclude that has ended.
type entry struct {
	policy.Entry

	ended   bool        // its until has passed; the mode is then off
	applies string      // a condition that the entry applies to an object
	checks  []check     // the exported checks
	omitted []*Omission // why the entry is not exported at all
	partial []*Omission // why fields are not exported
}

// native reports whether an entry is active and is exported.
func (e *entry) native() bool { return e.Mode != policy.Off && len(e.omitted) == 0 }

// Export exports a policy.
func Export(doc policy.Document, o Options) Result {
	static := slices.Contains(o.Targets, Static)
	if static {
		o.Targets = append(slices.Clone(o.Targets), VAP, MAP)
	}
	x := newExporter(doc, o)
	x.omit()
	for _, r := range x.causes {
		if len(r.Entries) > 0 {
			x.result.Omissions = append(x.result.Omissions, *r)
		}
	}
	if slices.Contains(o.Targets, MAP) {
		x.exportMirrors()
	}
	if slices.Contains(o.Targets, VAP) {
		for _, k := range x.kinds {
			x.exportKind(k)
		}
	}
	if static {
		x.makeStatic()
	}
	for _, e := range x.entries {
		if e.Block != "exceptions" {
			x.result.Coverage = append(x.result.Coverage, x.coverageOf(e))
		}
	}
	return x.result
}

func newExporter(doc policy.Document, o Options) *exporter {
	x := &exporter{
		Options: o, entries: current(doc.Entries, o.Now), settings: doc.Settings, hostAnnotations: doc.HostAnnotations,
	}
	x.mirrors = newMirrors(x.entries)
	x.kinds = []*exportedKind{x.pods(), x.services(), x.ingresses(), x.routes(), x.gateways()}
	return x
}

// current returns the entries at a time. It leaves out excludes and exceptions that have ended, and an entry that has
// ended is off.
func current(entries []policy.Entry, now time.Time) (all []*entry) {
	ended := func(fields policy.Fields) bool {
		until, is := fields["until"].(string)
		return is && !now.Before(policy.EndOf(until))
	}
	for _, e := range entries {
		e.Fields = cloneFields(e.Fields)
		if ended(blockOf(e.Fields, "exclude")) {
			delete(e.Fields, "exclude")
		}
		entry := &entry{Entry: e, ended: e.Mode != policy.Off && ended(e.Fields)}
		if entry.ended {
			entry.Mode = policy.Off
		}
		if e.Block != "exceptions" || !entry.ended {
			all = append(all, entry)
		}
	}
	return all
}
