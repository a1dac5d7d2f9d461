package policy

import (
	"iter"
	"reflect"
	"slices"

	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/images"
	"github.com/evergate/evergate/policy/internal/mirror"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/internal/unique"
	"github.com/evergate/evergate/policy/object"
)

// blocks contains a policy's entries as they are written. Its fields are the list of all blocks, so code that handles
// every block iterates over these fields. Counts has a field with the same name for each block.
type blocks struct {
	// Mirrors: the mirrors from which images are pulled. If several sources cover an image, the longest source applies.
	// Absent: images are not rewritten.
	Mirrors []mirror.Entry `yaml:"mirrors"`
	// Pods: rules for the images in Pods. Absent: every image is allowed.
	Pods []images.PodsEntry `yaml:"pods"`
	// Ingresses: rules for Ingresses. Absent: every Ingress is allowed.
	Ingresses []ingressesEntry `yaml:"ingresses"`
	// Services: rules for Services, and for the hosts of Gateway API XBackends. Absent: all of these objects are allowed.
	Services []servicesEntry `yaml:"services"`
	// Routes: rules for Gateway API routes and OpenShift Routes. Absent: every route is allowed.
	Routes []routesEntry `yaml:"routes"`
	// Gateways: rules for Gateways and ListenerSets. Absent: all of these objects are allowed.
	Gateways []gatewaysEntry `yaml:"gateways"`
	// Grants: rules for ReferenceGrants. Absent: every ReferenceGrant is allowed.
	Grants []grantsEntry `yaml:"grants"`
	// Certificates: rules for cert-manager Certificates. Absent: every Certificate is allowed.
	Certificates []hostsEntry `yaml:"certificates"`
	// DNSEndpoints: rules for external-dns DNSEndpoints. Absent: every DNSEndpoint is allowed.
	DNSEndpoints []hostsEntry `yaml:"dnsEndpoints"`
	// Owners: which namespaces own which hosts, for all kinds that claim hosts. Absent: any namespace may claim any host.
	Owners []claim.OwnersEntry `yaml:"owners"`
	// Unique: values that only one object may claim. The webhook does not evaluate them. Absent: nothing must be unique.
	Unique []unique.Entry `yaml:"unique"`
}

// all yields the struct field and the entries of each block, in the order of a policy file.
func (b *blocks) all() iter.Seq2[reflect.StructField, reflect.Value] {
	return reflect.ValueOf(b).Elem().Fields()
}

func headOf(entry reflect.Value) *rule.Header {
	e, _ := reflect.TypeAssert[interface{ Head() *rule.Header }](entry.Addr()) // TestEveryBlockIsCounted tries all
	return e.Head()
}

// headers yields the header of each entry.
func (b *blocks) headers(yield func(*rule.Header) bool) {
	for _, entries := range b.all() {
		for i := range entries.Len() {
			if !yield(headOf(entries.Index(i))) {
				return
			}
		}
	}
}

// append adds the entries of another document.
func (b *blocks) append(more *blocks) { more.addTo(func(string) *blocks { return b }) }

// addTo adds each entry to the blocks that the function of returns for the entry's rule set.
func (b *blocks) addTo(of func(set string) *blocks) {
	for field, entries := range b.all() {
		for i := range entries.Len() {
			to := of(headOf(entries.Index(i)).Set())
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

// Counts contains the number of entries in each block of a policy, without entries that are off.
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
	Unique       int `json:"unique"`
}

// Counts returns how many entries are not off, including entries in rule sets.
func (p *Policy) Counts() Counts { return p.counts }

// All yields the name of each block and the number of its entries, in the order of a policy file.
func (c Counts) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		for field, n := range reflect.ValueOf(c).Fields() {
			if !yield(field.Tag.Get("json"), int(n.Int())) {
				return
			}
		}
	}
}

// Kind is a kind of objects for which a policy has rules, or several kinds that are evaluated in the same way. O is the
// type of the objects.
type Kind[O any] uint8

// These are the kinds, in the order of their rows in kindRows.
const (
	Mirrors         Kind[struct{}]              = iota // Pods whose images mirrors rewrite; they do not have findings
	Pods            Kind[object.Pod]            = iota // Pods with their images as they are pulled
	Workloads       Kind[object.Workload]       = iota // objects with Pod templates
	Ingresses       Kind[object.Ingress]        = iota // Ingresses
	Services        Kind[object.Service]        = iota // Services and Gateway API XBackends
	Routes          Kind[object.Route]          = iota // Gateway API routes
	OpenShiftRoutes Kind[object.OpenShiftRoute] = iota // OpenShift Routes
	Gateways        Kind[object.Gateway]        = iota // Gateways and ListenerSets
	Grants          Kind[object.Grant]          = iota // ReferenceGrants
	Certificates    Kind[object.Certificate]    = iota // cert-manager Certificates
	DNSEndpoints    Kind[object.DNSEndpoint]    = iota // external-dns DNSEndpoints
	kinds                                       = iota // the number of kinds
)

// kindRow describes a kind.
type kindRow struct {
	// blocks are the names of the blocks whose entries apply to objects of the kind.
	blocks []string
	// compile compiles these entries.
	compile func(b *blocks, c *compilation) modal
}

// kindRows is the list of all kinds.
func kindRows() [kinds]kindRow {
	return [kinds]kindRow{
		Mirrors:         {[]string{"mirrors"}, func(_ *blocks, c *compilation) modal { return c.policy.mirrors }},
		Pods:            Pods.row(rulesForPods, "pods"),
		Workloads:       Workloads.row(rulesForWorkloads, "pods"),
		Ingresses:       Ingresses.row(ingressRules, "ingresses", "owners"),
		Services:        Services.row(serviceRules, "services", "owners"),
		Routes:          Routes.row(routeRules, "routes", "owners"),
		OpenShiftRoutes: OpenShiftRoutes.row(openShiftRouteRules, "routes", "owners"),
		Gateways:        Gateways.row(gatewayRules, "gateways", "owners"),
		Grants:          Grants.row(grantRules, "grants"),
		Certificates:    Certificates.row(certificateRules, "certificates", "owners"),
		DNSEndpoints:    DNSEndpoints.row(dnsEndpointRules, "dnsEndpoints", "owners"),
	}
}

// row returns a row of the kind. The types of the objects must be the same, so in never fails.
func (Kind[O]) row(compile func(*blocks, *compilation) rules[O], names ...string) kindRow {
	return kindRow{names, func(b *blocks, c *compilation) modal { return compile(b, c) }}
}

// Blocks returns the names of the blocks of a policy whose entries apply to objects of the kind, its own block first.
func (k Kind[O]) Blocks() []string { return kindRows()[k].blocks }

// Evaluate evaluates an object by the rules of p. old is the object before an update, and nil for other operations. The
// evaluation stops after a thousand introduced findings. If any rule denies the request, at least one of these findings
// denies it. Evaluate also returns the first thousand pre-existing findings. An error comes from the Effort and means
// that the evaluation did not finish. A nil Effort has the limits of a new one.
func (k Kind[O]) Evaluate(p *Policy, a object.Attributes, obj, old *O, e *Effort) ([]Finding, error) {
	return k.in(p).Evaluate(a, obj, old, e)
}

// Explain returns, for every rule of p for the kind, whether it applies to an object.
func (k Kind[O]) Explain(p *Policy, a object.Attributes, obj *O) []RuleTrace {
	return k.in(p).Explain(a, obj)
}

func (k Kind[O]) in(p *Policy) rules[O] {
	r, _ := p.rules[k].(rules[O])
	return r
}

// modal has rules of one kind.
type modal interface {
	StrictestMode() Mode // of the rules, and Off without rules
}

// rules contains the compiled entries for one kind of objects.
type rules[O any] interface {
	modal
	Evaluate(a object.Attributes, obj, old *O, e *Effort) ([]Finding, error)
	Explain(a object.Attributes, obj *O) []RuleTrace
}

// viewRules contains rules that evaluate objects in a view.
type viewRules[O, T any, P kindView[T]] struct {
	*rule.Ruleset[T]
	view func(*O) T
}

func (s viewRules[O, T, P]) Evaluate(a object.Attributes, obj, old *O, e *Effort) ([]Finding, error) {
	return rule.Evaluate[O, T, P](s.Ruleset, a, s.view, obj, old, e)
}

func (s viewRules[O, T, P]) Explain(a object.Attributes, obj *O) []RuleTrace {
	return rule.Explain[O, T, P](s.Ruleset, a, s.view, obj)
}

// rulesOf compiles the entries of one kind, except entries that are off, and adds more rules after them. view returns
// the view of an object. isSolver is as in prepareViews.
func rulesOf[E, O, T any, P kindView[T]](
	entries []E, c *compilation, view func(*O) T, compile func(*E) rule.Rule[T],
	isSolver func(*T, *rule.Recorder) bool, more ...rule.Rule[T],
) rules[O] {
	prepare := prepareViews[T, P](c, isSolver)
	return viewRules[O, T, P]{rule.CompileRules(entries, c.exceptions, c.PollDone, compile, prepare, more), view}
}

// compiled contains a policy's compiled entries, without entries that are off.
type compiled struct {
	*podRules
	mirrors *mirror.Table
	unique  *unique.Rules
	rules   [kinds]modal
	counts  Counts
}

// compile compiles the entries into a policy.
func (b *blocks) compile(p *Policy, c compilation, errs *strict.Collector) {
	if p.mirrors == nil { // the policy of a rule set has the mirrors of the whole policy
		p.mirrors = mirror.Compile(b.Mirrors, c.shortNames, c.Comparisons, errs)
	}
	c.policy, c.owners = p, claim.CompileOwners(b.Owners, errs)
	p.unique = unique.Compile(b.Unique, c.owners, c.known, c.exceptions)
	p.podRules = images.Compile(b.Pods, p.mirrors, c.whole, c.exceptions, c.PollDone)
	for k, row := range kindRows() {
		p.rules[k] = row.compile(b, &c)
	}
}

// Modes contains the strictest mode among the entries of each kind. The mode is Off for a kind without entries.
type Modes [kinds]Mode

// Max returns the strictest mode of all kinds.
func (m Modes) Max() Mode { return slices.Max(m[:]) }

// Strictest returns the strictest mode for each kind, without entries in rule sets. This mode applies to an object that
// cannot be parsed, because it is unknown which entries match it.
func (p *Policy) Strictest() (m Modes) {
	for k, rules := range p.rules {
		m[k] = rules.StrictestMode()
	}
	return m
}
