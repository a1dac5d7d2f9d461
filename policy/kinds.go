package policy

import (
	"iter"
	"reflect"
	"slices"

	"github.com/evergate/evergate/policy/internal/strict"
)

// blocks is the entries of a policy as they are written. It is the list of all blocks: everything that concerns each
// block ranges over its fields. Counts has a field of the same name for each of them.
type blocks struct {
	// Mirrors: from where images are pulled instead. The longest source that covers an image decides. Absent: no image is
	// rewritten.
	Mirrors []mirrorEntry `yaml:"mirrors"`
	// Pods: rules for the images of Pods. Absent: every image is allowed.
	Pods []podsEntry `yaml:"pods"`
	// Ingresses: rules for Ingresses. Absent: every Ingress is allowed.
	Ingresses []ingressesEntry `yaml:"ingresses"`
	// Services: rules for Services, and for the hosts of XBackends of Gateway API. Absent: all of them are allowed.
	Services []servicesEntry `yaml:"services"`
	// Routes: rules for routes of Gateway API and for Routes of OpenShift. Absent: every route is allowed.
	Routes []routesEntry `yaml:"routes"`
	// Gateways: rules for Gateways and ListenerSets. Absent: all of them are allowed.
	Gateways []gatewaysEntry `yaml:"gateways"`
	// Grants: rules for ReferenceGrants. Absent: every ReferenceGrant is allowed.
	Grants []grantsEntry `yaml:"grants"`
	// Certificates: rules for Certificates of cert-manager. Absent: every Certificate is allowed.
	Certificates []certificatesEntry `yaml:"certificates"`
	// DNSEndpoints: rules for DNSEndpoints of external-dns. Absent: every DNSEndpoint is allowed.
	DNSEndpoints []dnsEndpointsEntry `yaml:"dnsEndpoints"`
	// Owners: which namespaces own which hosts, for all kinds that claim hosts. Absent: any namespace may claim any host.
	Owners []ownersEntry `yaml:"owners"`
}

// all yields the field and the entries of each block, in the order of a policy file.
func (b *blocks) all() iter.Seq2[reflect.StructField, reflect.Value] {
	return reflect.ValueOf(b).Elem().Fields()
}

// headOf returns the header of an entry of a block.
func headOf(entry reflect.Value) *header {
	e, _ := reflect.TypeAssert[interface{ head() *header }](entry.Addr()) // TestEveryBlockIsCounted tries all
	return e.head()
}

// headers calls yield for each entry.
func (b *blocks) headers(yield func(*header)) {
	for _, entries := range b.all() {
		for i := range entries.Len() {
			yield(headOf(entries.Index(i)))
		}
	}
}

// append adds the entries of another document.
func (b *blocks) append(more *blocks) { more.addTo(func(string) *blocks { return b }) }

// addTo adds each entry to the blocks that of returns for its set.
func (b *blocks) addTo(of func(set string) *blocks) {
	for field, entries := range b.all() {
		for i := range entries.Len() {
			to := of(headOf(entries.Index(i)).set())
			list := reflect.ValueOf(to).Elem().FieldByIndex(field.Index)
			list.Set(reflect.Append(list, entries.Index(i)))
		}
	}
}

// counts returns how many entries of each block are not off.
func (b *blocks) counts() (c Counts) {
	for field, entries := range b.all() {
		n := 0
		for i := range entries.Len() {
			if headOf(entries.Index(i)).Mode != Off {
				n++
			}
		}
		reflect.ValueOf(&c).Elem().FieldByName(field.Name).SetInt(int64(n))
	}
	return c
}

// Counts is how many entries of each block a policy has, without entries that are off.
type Counts struct {
	Mirrors      int `json:"mirrors"`
	Pods         int `json:"pods"`
	Ingresses    int `json:"ingresses"`
	Services     int `json:"services"`
	Routes       int `json:"routes"`
	Gateways     int `json:"gateways"`
	Grants       int `json:"grants"`
	Certificates int `json:"certificates"`
	DNSEndpoints int `json:"dnsEndpoints"`
	Owners       int `json:"owners"`
}

// Counts returns how many entries are not off, with the entries of sets.
func (p *Policy) Counts() Counts { return p.counts }

// All returns the blocks of a policy file in their order, each with the number of its entries.
func (c Counts) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for field, n := range reflect.ValueOf(c).Fields() {
			if !yield(field.Tag.Get("json"), int(n.Int())) {
				return
			}
		}
	}
}

// Kind is a kind of objects for which a policy has rules, or several kinds that are evaluated alike.
type Kind uint8

// The kinds, in the order of their rows in kindRows.
const (
	Mirrors         Kind = iota // Pods whose images mirrors rewrite
	Pods                        // Pods, as their images are pulled
	Workloads                   // objects with templates of Pods
	Ingresses                   // Ingresses
	Services                    // Services
	XBackends                   // Gateway API XBackends, by the rules for Services
	Routes                      // Gateway API routes
	OpenShiftRoutes             // OpenShift Routes
	Gateways                    // Gateways and ListenerSets
	Grants                      // ReferenceGrants
	Certificates                // cert-manager Certificates
	DNSEndpoints                // external-dns DNSEndpoints
	kinds                       // how many kinds there are
)

// kindRow registers a kind.
type kindRow struct {
	// blocks are the names of the blocks whose entries apply to objects of the kind.
	blocks []string
	// compile compiles these entries.
	compile func(b *blocks, c *compilation) rules
}

// kindRows is the list of all kinds.
func kindRows() [kinds]kindRow {
	return [kinds]kindRow{
		Mirrors:         {[]string{"mirrors"}, func(_ *blocks, c *compilation) rules { return c.policy.mirrors }},
		Pods:            {[]string{"pods"}, podRules},
		Workloads:       {[]string{"pods"}, workloadRules},
		Ingresses:       {[]string{"ingresses", "owners"}, ingressRules},
		Services:        {[]string{"services", "owners"}, serviceRules},
		XBackends:       {[]string{"services"}, xBackendRules},
		Routes:          {[]string{"routes", "owners"}, routeRules},
		OpenShiftRoutes: {[]string{"routes", "owners"}, openShiftRouteRules},
		Gateways:        {[]string{"gateways", "owners"}, gatewayRules},
		Grants:          {[]string{"grants"}, grantRules},
		Certificates:    {[]string{"certificates", "owners"}, certificateRules},
		DNSEndpoints:    {[]string{"dnsEndpoints", "owners"}, dnsEndpointRules},
	}
}

// Blocks returns the names of the blocks of a policy whose entries apply to objects of the kind, its own block first.
func (k Kind) Blocks() []string { return kindRows()[k].blocks }

// rules is the compiled entries for one kind: a *ruleset of the view of the kind, or the mirrors.
type rules interface {
	strictestMode() Mode
}

// compiled holds the entries of a policy. It leaves out entries that are off.
type compiled struct {
	mirrors *mirrorTable
	rules   [kinds]rules
	counts  Counts
}

// rulesFor returns the rules of a policy for a kind whose view is T.
func rulesFor[T any](p *Policy, k Kind) *ruleset[T] {
	s, _ := p.rules[k].(*ruleset[T])
	return s
}

// compile compiles the entries into a policy.
func (b *blocks) compile(p *Policy, c compilation, errs *strict.Collector) {
	if p.mirrors == nil { // the policy of a set has the mirrors of the whole policy
		p.mirrors = compileMirrors(b.Mirrors, c.comparisons, errs)
	}
	c.policy, c.owners = p, compileOwners(b.Owners, errs)
	for k, row := range kindRows() {
		p.rules[k] = row.compile(b, &c)
	}
	p.denying = denyingRules(rulesFor[podView](p, Pods))
}

// Modes is the strictest mode among the entries of each kind. It is Off for a kind without entries.
type Modes [kinds]Mode

// Max returns the strictest mode of all kinds.
func (m Modes) Max() Mode { return slices.Max(m[:]) }

// Strictest returns the strictest mode for objects of each kind, without the entries of sets. It decides about an
// object that cannot be parsed, because it is then unknown which entries match.
func (p *Policy) Strictest() (m Modes) {
	for k, rules := range p.rules {
		m[k] = rules.strictestMode()
	}
	return m
}
