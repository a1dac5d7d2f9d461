// Package policy evaluates objects. It loads policy files into a Policy, and turns a Policy and an object into findings
// and image rewrites. The package is pure. It does not use HTTP, a clock, a logger or a Kubernetes client. The time is
// an argument. The same policy, object and time always have the same result. Any number of goroutines may use a Policy
// at the same time.
//
// # Order of reading
//
//	files → Load → Policy → RewritePod                      → outcomes of images
//	                      → Pods.Evaluate, Ingresses.Evaluate, … → findings
//
// [Load] decodes files strictly into entries, and compiles the entries into a [Policy]. [Policy.RewritePod] returns the
// mirrors for the images in a Pod. [Kind.Evaluate] returns the findings of the other entries.
//
//	load.go      files → entries → Policy; document.go, one YAML document and its compilation
//	limits.go    limits on the cost of loading a policy
//	sets.go      rule sets: the entries that one webhook path evaluates
//	kinds.go     the blocks of a policy, and the kinds of objects to which they apply
//	object/      the evaluated objects; object_ref.go, references in them
//
// # Blocks of a policy file
//
// Each block of the YAML has one Go file with its fields, its checks and its sentences. The doc comment of a check is
// its specification.
//
//	mirrors                               internal/mirror, its entry and the look-up of a mirror
//	pods                                  internal/images, its entry and checks, and the rewriting of images
//	ingresses                             ingresses.go, with defaultBackend
//	  hosts                               internal/claim, as in all other kinds
//	  tls                                 ingress_tls.go
//	  classNames                          ingress_class_names.go
//	  paths                               ingress_paths.go; ingress_paths_denied.go, the check denied
//	  annotations                         annotations.go
//	  ingressNginx                        ingress_nginx.go
//	  backends                            ingress_backends.go
//	services                              services.go
//	  types                               service_types.go
//	  ports                               service_ports.go
//	  nodePorts                           service_node_ports.go, with allocateLoadBalancerNodePorts
//	  loadBalancerClass                   service_load_balancer_class.go
//	  loadBalancerSourceRanges            service_load_balancer_source_ranges.go
//	  loadBalancerIPs                     service_load_balancer_ips.go
//	  externalIPs                         service_external_ips.go
//	  loadBalancerStatus                  service_load_balancer_status.go
//	  externalNames                       service_external_names.go
//	  annotations                         annotations.go; service_annotations.go, load balancer annotations
//	routes                                routes.go
//	  hosts                               route_hosts.go, with internal/claim
//	  paths                               route_paths.go, with the checks of ingress_paths.go
//	  parents                             route_parents.go
//	  backends                            route_backends.go
//	  filters                             route_filters.go
//	  annotations                         annotations.go
//	gateways                              gateways.go
//	  classNames, protocols               gateway_names.go
//	  ports                               service_ports.go, as in services
//	  tls                                 gateway_tls.go
//	  allowedRoutes, allowedListeners     gateway_allowed.go
//	  annotations                         annotations.go
//	  addresses                           gateway_addresses.go
//	grants                                grants.go; grant_checks.go, its checks
//	routes, for OpenShift Routes          openshift_routes.go
//	certificates                          certificates.go
//	dnsEndpoints                          certificates.go
//	owners, sharedGatewayNamespaces, annotationPrefixes, globbingClasses, hostAnnotations
//	                                      internal/claim
//	unique                                internal/unique
//	exceptions                            internal/rule/exceptions.go
//	until, reason                         internal/rule/until.go; expiry.go, the list of everything that expires
//	solverAccounts                        solvers.go, with the shapes of solver objects
//	shortNameRegistry                     internal/mirror
//	templates                             internal/podtemplate
//
// internal/rule evaluates objects: it contains the common fields of entries, selectors, findings, exemptions and
// limits. internal/claim reads the hosts that objects claim, and checks them. internal/images evaluates and rewrites
// the images of Pods, and internal/mirror finds their mirrors. internal/match compares values with patterns for hosts,
// addresses and images, with globs and with regular expressions. internal/host reads host names in annotations,
// certificates and records. internal/strict decodes YAML.
package policy

import (
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// Policy is a set of compiled entries. It is immutable.
type Policy struct {
	hash string
	compiled

	warnings strict.Errors
	expiries []Expiry
	places   []EntryPlace

	templates []Template // sorted by their names

	sets   map[string]*Policy // rule sets by name, each with the entries in it
	set    string             // name of the rule set that this policy represents; empty for the whole policy
	blocks []string           // blocks in which it has entries; only for a rule set

	entries    int // including entries that are off, without unique
	additions  Additions
	allowEmpty bool
}

// Hash returns 12 hexadecimal digits that identify the text of the policy. They are the same on every replica.
func (p *Policy) Hash() string { return p.hash }

// NewUniqueIndex returns an empty index for the unique block, or nil without active entries. now decides which entries
// and exceptions have expired.
func (p *Policy) NewUniqueIndex(now time.Time) *UniqueIndex { return p.unique.NewIndex(now) }

// Entries returns how many entries the files contain, including entries that are off, but without the unique block.
func (p *Policy) Entries() int { return p.entries }

// Templates returns the kinds of custom resources that have Pod templates, sorted by their names. The caller must not
// change the slice.
func (p *Policy) Templates() []Template { return p.templates }

// Additions counts the entries that change how a policy's other entries are evaluated.
type Additions struct {
	Exceptions       int
	SharedNamespaces int // patterns for shared gateway namespaces
	Templates        int
}

// Additions returns how many exceptions, patterns for shared gateway namespaces and templates the files contain.
func (p *Policy) Additions() Additions { return p.additions }

// ErrEmptied is the error for a policy for which Emptied returns true.
var ErrEmptied = errors.New("the policy is empty, there is no entry in it: write allowEmpty: true in a document if " +
	"that is meant")

// Emptied reports whether the policy does not have any entries and does not contain allowEmpty: true. A policy can
// become empty by accident, for example if a file is truncated or a key loses its suffix .yaml. The previous policy
// should then stay active.
func (p *Policy) Emptied() bool { return p.entries == 0 && !p.allowEmpty }

// Warnings returns warnings about valid entries that have less effect than it seems. Each element is one warning with
// file, line and column.
func (p *Policy) Warnings() []string {
	var lines []string
	for _, w := range p.warnings {
		lines = append(lines, w.Error())
	}
	return lines
}

// WarningProblems returns the same warnings as Warnings, with the parts of each warning in separate fields.
func (p *Policy) WarningProblems() []Problem { return problemsOf(p.warnings) }

// FullImage returns an image with its registry, as patterns for images spell it: docker.io/library/nginx:1.25 for
// nginx:1.25. The error is the reason why the image is not an image reference.
func (p *Policy) FullImage(image string) (string, error) {
	ref, err := match.ParseReference(image, p.mirrors.ShortNames)
	return ref.String(), err
}

// MirrorPlaces returns the places to which images are rewritten, each once. A place is a registry, or a registry and a
// path, such as mirror.example/docker.io. For a mirror that ends with {registry}, it is the place above this segment.
func (p *Policy) MirrorPlaces() []string { return p.mirrors.Places() }

// MirrorPrefixes returns the prefixes of all images at mirrors, each with a slash at the end. It leaves out a prefix
// that begins with another prefix.
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
