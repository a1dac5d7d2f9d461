// Package export says a policy in the language of the API server: ValidatingAdmissionPolicies and
// MutatingAdmissionPolicies, which hold when every replica is dead, and configurations of nodes.
//
// What it says is exact, or it is refused: nothing is approximated. A field that a file of this package does not read
// is refused, so that a new field of the policy is refused until it is said here. The module interop evaluates what is
// exported by the API server's own code, and compares the decisions with those of package policy.
//
//	export.go      the targets, and what is refused
//	refusal.go     the fields that are read, and why others are not
//	vap.go         the policies of a kind: rules, modes, the ratchet, the message
//	pods.go        the checks of images; images.go, patterns of images; reference.go, the grammar of references
//	services.go    the checks of Services; addresses.go, of addresses
//	ingresses.go   the checks of Ingresses; paths.go, of paths; annotations.go, of annotations
//	routes.go      the checks of routes; route_rules.go, of their rules
//	gateways.go    the checks of Gateways and ListenerSets
//	hosts.go       the checks of hosts; host_claims.go, where hosts stand; host_annotations.go, in annotations
//	mirrors.go     which mirror an image has; map.go, the policy that rewrites
//	static.go      the same as files of the API server, and what protects the rest
//	nodes.go       mirrors as container runtimes have them
//	plain.go       one regular expression that most images pass by
//	selector.go    match and exclude
//	manifest.go    the objects as YAML
//	cel.go         literals and conditions of CEL
package export

import (
	"bytes"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy"
)

// Target is what a policy is exported to.
type Target string

// The targets.
const (
	VAP Target = "vap" // ValidatingAdmissionPolicies
	MAP Target = "map" // MutatingAdmissionPolicies

	Static Target = "static" // files of manifest-based admission, of both

	HostsTOML      Target = "hosts-toml"      // of containerd
	RegistriesConf Target = "registries-conf" // of CRI-O
)

// TargetInfo is a target, and what is written for it.
type TargetInfo struct {
	Name Target
	Does string
}

// Targets returns the targets in the order of documents.
func Targets() []TargetInfo {
	return []TargetInfo{
		{VAP, "ValidatingAdmissionPolicies: Kubernetes 1.35 or later"},
		{MAP, "MutatingAdmissionPolicies: Kubernetes 1.36 or later"},
		{Static, "both as files of the API server: Kubernetes 1.37 or later"},
		{HostsTOML, "the mirrors of a containerd: a file for each registry"},
		{RegistriesConf, "the mirrors of a CRI-O: registries.conf"},
	}
}

// ExemptNamespaces returns the namespaces that the kit's webhooks never match, Evergate's own first: those of
// kustomize/base/exempt-namespaces.yaml, which a test compares.
func ExemptNamespaces() []string {
	return []string{"evergate-system", "kube-system", "kube-public", "kube-node-lease", "cert-manager"}
}

// Options are what an export depends on beside the policy.
type Options struct {
	Targets []Target
	// DenyUnrewritten exports from: mirrors also without the policy that rewrites: Pods that a webhook has not rewritten
	// are then denied.
	DenyUnrewritten bool
	// Exempt are the namespaces that are never matched, Evergate's own first.
	Exempt []string
	// BreakGlass is the group that may delete and change what the target static protects.
	BreakGlass string
	// Hash is that of the policy, for an annotation.
	Hash string
}

// Result is what an export gives.
type Result struct {
	Objects []Object
	// Nodes is the configuration of a container runtime.
	Nodes    []byte
	Refusals []Refusal
	// Coverage says of each entry what of it is native.
	Coverage []Coverage
}

// Text returns what is written: manifests, with a comment for each refusal.
func (r *Result) Text() ([]byte, error) {
	manifests, err := YAML(r.Objects)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, refusal := range r.Refusals {
		b.WriteString("# not said here: " + refusal.String() + "\n")
	}
	if slices.ContainsFunc(r.Objects, func(o Object) bool { return o.plugin != "" }) {
		b.WriteString(AdmissionConfiguration)
	}
	b.Write(manifests)
	b.Write(r.Nodes)
	return b.Bytes(), nil
}

// exporter exports one policy.
type exporter struct {
	Options
	entries  []policy.Entry
	settings policy.Fields
	// hostAnnotations are the annotations by which objects claim hosts, by their kinds.
	hostAnnotations map[string][]policy.HostAnnotation

	mirrors *mirrors
	refused map[string][]Refusal // whole entries, by their names
	partial map[string][]Refusal // blocks of checks of entries, by their names
	result  Result
}

// Export exports a policy.
func Export(doc policy.Document, o Options) Result {
	static := slices.Contains(o.Targets, Static)
	if static {
		o.Targets = append(slices.Clone(o.Targets), VAP, MAP)
	}
	x := &exporter{
		Options: o, entries: cloneEntries(doc.Entries), settings: doc.Settings,
		hostAnnotations: doc.HostAnnotations, refused: map[string][]Refusal{}, partial: map[string][]Refusal{},
	}
	x.mirrors = newMirrors(x.entries)
	x.refuseAll()
	if slices.Contains(o.Targets, MAP) {
		x.exportMirrors()
	}
	if slices.Contains(o.Targets, VAP) {
		for _, k := range x.kinds() {
			x.exportKind(k)
		}
	}
	if static {
		x.makeStatic()
	}
	for _, t := range []Target{HostsTOML, RegistriesConf} {
		if slices.Contains(o.Targets, t) {
			x.result.Nodes = append(x.result.Nodes, x.nodes(t)...)
		}
	}
	x.cover()
	return x.result
}

// cloneEntries copies entries, so that fields can be left out of them.
func cloneEntries(entries []policy.Entry) []policy.Entry {
	entries = slices.Clone(entries)
	for i := range entries {
		entries[i].Fields = cloneFields(entries[i].Fields)
	}
	return entries
}

func cloneFields(fields policy.Fields) policy.Fields {
	fields = maps.Clone(fields)
	for name, value := range fields {
		if nested, ok := value.(policy.Fields); ok {
			fields[name] = cloneFields(nested)
		}
	}
	return fields
}

// kinds are the kinds of objects that are judged natively.
func (x *exporter) kinds() []kind {
	return []kind{x.pods(), x.services(), x.ingresses(), x.routes(), x.gateways()}
}

// Coverage is what of an entry is native.
type Coverage struct {
	Entry policy.Entry
	// Native says that the API server does what the entry says.
	Native bool
	// Why says why it does not, or what of it is left out.
	Why string
}

// String returns the line of a report.
func (c Coverage) String() string {
	word := "webhook only"
	if c.Native {
		word = "native"
	}
	if c.Why != "" {
		word += ": " + c.Why
	}
	return fmt.Sprintf("%s: %s %s: %s", c.Entry.Pos, c.Entry.Block, c.Entry.Name, word)
}

// refusedFields names the fields that are left to the webhook, and why.
func refusedFields(refusals []Refusal) string {
	var fields []string
	for _, r := range refusals {
		fields = append(fields, r.Field+" ("+r.Why+")")
	}
	return strings.Join(fields, ", ")
}

// cover fills in the coverage.
func (x *exporter) cover() {
	for _, e := range x.entries {
		if e.Block == "exceptions" {
			continue
		}
		c := Coverage{Entry: e, Native: true}
		switch refused := x.refused[e.Name]; {
		case e.Mode == policy.Off:
			c.Native, c.Why = false, "it is off"
		case !x.exports(e.Block):
			c.Native, c.Why = false, "no target of the export is about it"
		case len(refused) > 0:
			c.Native, c.Why = false, refused[0].Why
		case len(x.partial[e.Name]) > 0:
			c.Native = slices.ContainsFunc(slices.Collect(maps.Keys(e.Fields)),
				func(f string) bool {
					return !slices.Contains([]string{"match", "exclude", "kinds", "subdomainDomains"}, f)
				})
			c.Why = "but for " + refusedFields(x.partial[e.Name])
		case e.Block == "pods":
			c.Why = "but for the templates of workloads, which the webhook judges"
		case e.Block == "mirrors":
			c.Why = "but for warnings and audit annotations about images, which the webhook writes"
		}
		x.result.Coverage = append(x.result.Coverage, c)
	}
}
