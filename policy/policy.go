// Package policy decides about objects. It loads policy files into a Policy, and turns a Policy and an object into
// findings and image rewrites. It is pure: no HTTP, no clock, no logger, no Kubernetes client. The same policy, the
// same object and the same time, which is an argument, have the same result, and any number of goroutines may use a
// Policy.
//
// # Order of reading
//
//	files → Load → Policy → RewritePod                           → outcomes of images
//	                      → EvaluatePod, EvaluateIngress, …            → findings
//
// [Load] decodes files strictly into entries, and compiles the entries into a [Policy]. [Policy.RewritePod] returns the
// mirrors of the images of a Pod. [Policy.EvaluatePod], [Policy.EvaluateIngress], [Policy.EvaluateService] and
// [Policy.EvaluateRoute] return the findings of the other entries.
//
//	load.go      files → entries → Policy
//	format.go    the text of a file, formatted
//	limits.go    what a policy file may cost
//	entry.go     name, mode and message of an entry
//	sets.go      the entries of a set, which one path of a webhook asks about
//	selector.go  match and exclude of an entry; selector_labels.go, their labels; selector_dimensions.go, which have a
//	             meaning for which kind
//	kinds.go     the blocks of a policy, kind by kind: written, compiled, counted, judged
//	object.go    what is judged: Pod, Ingress, Service; object_route.go, Route; object_ref.go, references to objects
//	judge.go     rules and checks, and evaluating them
//	index.go     the rules that can match a namespace
//	finding.go   findings, and the ratchet: only introduced findings deny an update
//	effort.go    what judging an object may cost
//	rewrite.go   the outcome of each image of a Pod
//
// # Blocks of a policy file
//
// Each block of the YAML has one file, with its fields, its checks and its sentences. The doc comment of a check is its
// specification.
//
//	mirrors                               mirrors.go, the entry; mirrors_table.go, the look-up of a mirror
//	  namespaces of entries of a source   mirrors_namespaces.go, the look-up; mirrors_overlaps.go, the errors
//	  errors between entries              mirrors_conflicts.go
//	  warnings about images.denied        mirrors_warnings.go; all other warnings: warnings.go
//	  the annotation with the originals   rewrite_record.go
//	pods                                  pods.go
//	  images                              pod_images.go; pod_digest.go, its digest
//	  images about to be rewritten        rewrite_denied.go
//	  workloads                           workloads.go, with what is judged
//	ingresses                             ingresses.go, with defaultBackend
//	  hosts                               hosts.go; host_claims.go, which an object claims; claim_place.go, where
//	  hosts in annotations                host_annotations.go; host_grammars.go, how their values are read
//	  tls                                 ingress_tls.go
//	  classNames                          ingress_class_names.go
//	  paths                               ingress_paths.go; ingress_paths_denied.go, its denied
//	  annotations                         annotations.go
//	  ingressNginx                        ingress_nginx.go
//	services                              services.go
//	  hosts                               hosts.go, as in ingresses
//	  types                               service_types.go
//	  ports                               service_ports.go
//	  nodePorts                           service_node_ports.go, with allocateLoadBalancerNodePorts
//	  loadBalancerClass                   service_load_balancer_class.go
//	  loadBalancerSourceRanges            service_load_balancer_source_ranges.go
//	  externalIPs                         service_external_ips.go
//	  loadBalancerStatus                  service_load_balancer_status.go
//	  externalNames                       service_external_names.go
//	  annotations                         annotations.go; service_annotations.go, those of load balancers
//	routes                                routes.go
//	  hosts                               route_hosts.go, with hosts.go as in ingresses
//	  paths                               route_paths.go, with the checks of ingress_paths.go
//	  parents                             route_parents.go
//	  backends                            route_backends.go
//	  filters                             route_filters.go
//	  annotations                         annotations.go
//	gateways                              gateways.go; gateway_object.go, what is judged
//	  hosts                               hosts.go, as in ingresses
//	  classNames                          gateway_class_names.go
//	  ports                               service_ports.go, as in services
//	  protocols                           gateway_protocols.go
//	  tls                                 gateway_tls.go
//	  allowedRoutes, allowedListeners     gateway_allowed.go
//	  annotations                         annotations.go
//	  addresses                           gateway_addresses.go
//	grants                                grants.go, with what is judged; grant_checks.go, its checks
//	routes, for Routes of OpenShift       openshift_routes.go, with what is judged
//	certificates                          certificates.go, with what is judged
//	  hosts                               certificate_claims.go; certificate_subject.go, common names in a subject
//	dnsEndpoints                          dns_endpoints.go, with what is judged and its claims
//	owners                                owners.go
//	carriers                              carriers.go
//	exceptions                            exceptions.go; exemptions.go, what silences a finding
//	until, reason                         until.go; expiry.go, the list of what ends
//	annotationPrefixes                    annotation_prefixes.go
//	globbingClasses                       globbing_classes.go
//	hostAnnotations                       host_annotation_rows.go
//	solverAccounts                        solvers.go, with the shapes of solvers
//	templates                             templates.go
//
// internal/match compares values with patterns: hosts, addresses, images, globs, regular expressions. internal/strict
// decodes YAML.
package policy

import (
	"errors"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/strict"
)

// Policy is a set of compiled entries. It is immutable.
type Policy struct {
	hash string
	compiled

	denying  *ruleset[podView] // see denyingRules
	warnings strict.Errors
	expiries []Expiry
	places   []EntryPlace

	templates []Template // sorted by their names

	sets   map[string]*Policy // by name, each with the entries that are in it
	set    string             // of which this is the policy; empty for the whole one
	plain  *Policy            // that rewrites, of the policy of a set
	blocks []string           // in which it has entries; of a set alone

	entries    int // with those that are off
	additions  Additions
	allowEmpty bool
}

// Hash returns 12 hexadecimal digits that identify the text of the policy. They are the same on every replica.
func (p *Policy) Hash() string { return p.hash }

// Entries returns how many entries the files hold, with those that are off.
func (p *Policy) Entries() int { return p.entries }

// Additions is how many entries a policy has that change how its other entries are evaluated.
type Additions struct {
	Exceptions int
	Carriers   int // patterns for shared gateway namespaces
	Templates  int
}

// Additions returns how many exceptions, shared gateway namespaces and templates the files hold.
func (p *Policy) Additions() Additions { return p.additions }

// ErrEmptied is the error for a policy that Emptied reports.
var ErrEmptied = errors.New("the policy is empty, there is no entry in it: write allowEmpty: true in a document if " +
	"that is meant")

// Emptied reports whether the policy holds no entry and does not say allowEmpty: true. A policy becomes so by accident:
// a file is truncated, a key loses its .yaml. What is in force then ought not to end.
func (p *Policy) Emptied() bool { return p.entries == 0 && !p.allowEmpty }

// Warnings returns warnings about valid entries that do less than they seem to, one a line, with file, line and column.
func (p *Policy) Warnings() []string {
	var lines []string
	for _, w := range p.warnings {
		lines = append(lines, w.Error())
	}
	return lines
}

// WarningProblems returns what Warnings does, with the parts of each warning apart.
func (p *Policy) WarningProblems() []Problem { return problemsOf(p.warnings) }

// MirrorPlaces returns the places that images are rewritten to, each once: a registry, or a registry and a path, such
// as mirror.example/docker.io; for a mirror that ends with {registry}, the place above it.
func (p *Policy) MirrorPlaces() []string { return p.mirrors.mirrorPlaces() }

// MirrorPrefixes returns what the images of all mirrors begin with, each with a slash at its end, without those that
// another one covers.
func (p *Policy) MirrorPrefixes() []string {
	var prefixes []string
	for _, place := range p.MirrorPlaces() {
		prefix := place + "/"
		covered := func(other string) bool { return strings.HasPrefix(prefix, other) }
		if !slices.ContainsFunc(prefixes, covered) {
			prefixes = append(prefixes, prefix)
		}
	}
	return prefixes
}
