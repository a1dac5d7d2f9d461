package policy

import (
	"iter"

	"github.com/evergate/evergate/policy/internal/strict"
)

// blocks are the entries of a policy, kind by kind, as they are written.
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

// append adds the entries of another document.
func (b *blocks) append(more *blocks) { more.addTo(func(string) *blocks { return b }) }

// addTo adds each entry to the blocks that of returns for its set.
func (b *blocks) addTo(of func(set string) *blocks) {
	addEach(b.Mirrors, of, func(b *blocks) *[]mirrorEntry { return &b.Mirrors })
	addEach(b.Pods, of, func(b *blocks) *[]podsEntry { return &b.Pods })
	addEach(b.Ingresses, of, func(b *blocks) *[]ingressesEntry { return &b.Ingresses })
	addEach(b.Services, of, func(b *blocks) *[]servicesEntry { return &b.Services })
	addEach(b.Routes, of, func(b *blocks) *[]routesEntry { return &b.Routes })
	addEach(b.Gateways, of, func(b *blocks) *[]gatewaysEntry { return &b.Gateways })
	addEach(b.Grants, of, func(b *blocks) *[]grantsEntry { return &b.Grants })
	addEach(b.Certificates, of, func(b *blocks) *[]certificatesEntry { return &b.Certificates })
	addEach(b.DNSEndpoints, of, func(b *blocks) *[]dnsEndpointsEntry { return &b.DNSEndpoints })
	addEach(b.Owners, of, func(b *blocks) *[]ownersEntry { return &b.Owners })
}

// addEach adds each entry of one block.
func addEach[E any, P entryOf[E]](entries []E, of func(set string) *blocks, block func(*blocks) *[]E) {
	for i := range entries {
		to := block(of(P(&entries[i]).set()))
		*to = append(*to, entries[i])
	}
}

// entryOf is a pointer to an entry of a block: all of them have a header.
type entryOf[E any] interface {
	*E
	set() string
}

// headers calls yield for each entry.
func (b *blocks) headers(yield func(*header)) {
	for i := range b.Mirrors {
		yield(&b.Mirrors[i].header)
	}
	for i := range b.Pods {
		yield(&b.Pods[i].header)
	}
	for i := range b.Ingresses {
		yield(&b.Ingresses[i].header)
	}
	for i := range b.Services {
		yield(&b.Services[i].header)
	}
	for i := range b.Routes {
		yield(&b.Routes[i].header)
	}
	for i := range b.Gateways {
		yield(&b.Gateways[i].header)
	}
	for i := range b.Grants {
		yield(&b.Grants[i].header)
	}
	for i := range b.Certificates {
		yield(&b.Certificates[i].header)
	}
	for i := range b.DNSEndpoints {
		yield(&b.DNSEndpoints[i].header)
	}
	for i := range b.Owners {
		yield(&b.Owners[i].header)
	}
}

// compiled are the entries of a policy, kind by kind, without those that are off.
type compiled struct {
	mirrors      *mirrorTable
	pods         ruleset[judgedPod]
	workloads    ruleset[judgedPod] // the same, as they judge templates
	ingresses    ruleset[Ingress]
	services     ruleset[Service]
	xBackends    ruleset[Service]
	routes       ruleset[Route]
	openShift    ruleset[OpenShiftRoute]
	gateways     ruleset[Gateway]
	grants       ruleset[Grant]
	certificates ruleset[Certificate]
	dnsEndpoints ruleset[DNSEndpoint]
	counts       Counts
}

// compile compiles the entries into a policy.
func (b *blocks) compile(p *Policy, e *compilation, errs *strict.Collector) {
	if p.mirrors == nil { // those of a set are the policy's
		p.mirrors = compileMirrors(b.Mirrors, e.comparisons, errs)
	}
	p.pods = rulesOf(b.Pods, e, func(entry *podsEntry) rule[judgedPod] {
		return rule[judgedPod]{entry.ruleHeader, entry.checks(p)}
	})
	p.workloads = rulesOf(b.Pods, e, func(entry *podsEntry) rule[judgedPod] { return entry.workloadRule(p) })
	owners := compileOwners(b.Owners, errs)
	p.ingresses = rulesOf(b.Ingresses, e, func(entry *ingressesEntry) rule[Ingress] {
		return rule[Ingress]{entry.ruleHeader, entry.checks()}
	}, ownerRules(owners, claimsUnless(e.carriers, (*report).ingressClaims, (*Ingress).isSolver))...)
	p.ingresses.isSolver = (*Ingress).answersChallenges
	p.services = rulesOf(b.Services, e, func(entry *servicesEntry) rule[Service] {
		return rule[Service]{entry.ruleHeader, entry.checks()}
	}, ownerRules(owners, (*report).serviceClaims)...)
	p.services.isSolver = (*Service).answersChallenges
	p.xBackends = rulesOf(b.Services, e, (*servicesEntry).backendRule)
	p.routes = rulesOf(b.Routes, e, (*routesEntry).rule,
		ownerRules(owners, claimsUnless(e.carriers, (*report).routeClaims, (*Route).isSolver))...)
	p.routes.isSolver = (*Route).answersChallenges
	p.openShift = rulesOf(b.Routes, e, (*routesEntry).openShiftRule, openShiftOwners(owners, b.Routes)...)
	p.gateways = rulesOf(b.Gateways, e, func(entry *gatewaysEntry) rule[Gateway] {
		return rule[Gateway]{entry.ruleHeader, entry.checks()}
	}, ownerRules(owners, claimsUnless(e.carriers, (*report).gatewayClaims, always))...)
	p.grants = rulesOf(b.Grants, e, func(entry *grantsEntry) rule[Grant] {
		return rule[Grant]{entry.ruleHeader, entry.checks()}
	})
	p.certificates = rulesOf(b.Certificates, e, func(entry *certificatesEntry) rule[Certificate] {
		return rule[Certificate]{entry.ruleHeader, entry.checks()}
	}, ownerRules(owners, claimsUnless(e.carriers, (*report).certificateClaims, always))...)
	p.dnsEndpoints = rulesOf(b.DNSEndpoints, e, func(entry *dnsEndpointsEntry) rule[DNSEndpoint] {
		return rule[DNSEndpoint]{entry.ruleHeader, entry.checks()}
	}, ownerRules(owners, (*report).dnsEndpointClaims)...)
	p.counts = Counts{
		Mirrors: p.mirrors.len(), Pods: len(p.pods.rules), Ingresses: len(p.ingresses.rules) - len(owners),
		Services: len(p.services.rules) - len(owners), Certificates: len(p.certificates.rules) - len(owners),
		DNSEndpoints: len(p.dnsEndpoints.rules) - len(owners), Routes: len(p.routes.rules) - len(owners),
		Gateways: len(p.gateways.rules) - len(owners),
		Grants:   len(p.grants.rules),
	}
	for i := range b.Owners {
		if b.Owners[i].Mode != Off {
			p.counts.Owners++
		}
	}
	p.findDenying()
}

// Counts is how many entries of each kind a policy has, without those that are off.
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

// addSet adds the entries of a set.
func (c *Counts) addSet(set Counts) {
	c.Pods += set.Pods
	c.Ingresses += set.Ingresses
	c.Services += set.Services
	c.Routes += set.Routes
	c.Gateways += set.Gateways
	c.Grants += set.Grants
	c.Certificates += set.Certificates
	c.DNSEndpoints += set.DNSEndpoints
}

// Counts returns how many entries are in force, those of sets too.
func (p *Policy) Counts() Counts { return p.counts }

// All returns the blocks of a policy file in their order, each with the number of its entries.
func (c Counts) All() iter.Seq2[string, int] {
	return func(yield func(string, int) bool) {
		_ = yield("mirrors", c.Mirrors) && yield("pods", c.Pods) && yield("ingresses", c.Ingresses) &&
			yield("services", c.Services) && yield("routes", c.Routes) && yield("gateways", c.Gateways) &&
			yield("grants", c.Grants) && yield("certificates", c.Certificates) &&
			yield("dnsEndpoints", c.DNSEndpoints) && yield("owners", c.Owners)
	}
}

// Modes is the strictest mode among the entries of each kind; Off where there are none.
type Modes struct {
	Mirrors, Pods, Workloads, Ingresses, Services, Routes, OpenShiftRoutes, Gateways, Grants, Certificates,
	DNSEndpoints Mode
}

// Max returns the strictest mode of all.
func (m Modes) Max() Mode {
	return max(m.Mirrors, m.Pods, m.Workloads, m.Ingresses, m.Services, m.Routes, m.OpenShiftRoutes, m.Gateways, m.Grants,
		m.Certificates, m.DNSEndpoints)
}

// Strictest returns the strictest mode for objects of each kind, without the entries of sets. It decides about an
// object that cannot be parsed, for which it is unknown which entries match.
func (p *Policy) Strictest() Modes {
	return Modes{
		Mirrors: p.mirrors.strictest, Pods: p.pods.strictest, Workloads: p.workloads.strictest,
		Ingresses: p.ingresses.strictest,
		Services:  p.services.strictest, Routes: p.routes.strictest, OpenShiftRoutes: p.openShift.strictest,
		Gateways: p.gateways.strictest,
		Grants:   p.grants.strictest, Certificates: p.certificates.strictest, DNSEndpoints: p.dnsEndpoints.strictest,
	}
}

// JudgePod judges the images of a Pod as they will be pulled. old is the Pod before an update, nil otherwise. Judging
// ends at a thousand introduced findings, of which one denies the request if any rule does; of pre-existing findings it
// returns the first thousand. An error is that of the Effort: the object was not judged to its end. A nil Effort has
// the limits of a new one. The same applies to the other kinds.
func (p *Policy) JudgePod(a Attributes, pod, old *Pod, e *Effort) ([]Finding, error) {
	if !canChangeImages(a, pod) {
		return nil, nil
	}
	if e == nil {
		e = new(Effort)
	}
	return judge(&p.pods, a, newJudgedPod(a, pod, e), newJudgedPod(a, old, e), e)
}

// JudgeIngress judges an Ingress. old is the Ingress before an update, nil otherwise.
func (p *Policy) JudgeIngress(a Attributes, ing, old *Ingress, e *Effort) ([]Finding, error) {
	return judge(&p.ingresses, a, ing, old, e)
}

// JudgeService judges a Service or an XBackend. old is the object before an update, nil otherwise.
func (p *Policy) JudgeService(a Attributes, svc, old *Service, e *Effort) ([]Finding, error) {
	return judge(p.servicesFor(a), a, svc, old, e)
}

// servicesFor returns the rules for the resource of a request.
func (p *Policy) servicesFor(a Attributes) *ruleset[Service] {
	if a.Resource == xBackends {
		return &p.xBackends
	}
	return &p.services
}

// JudgeRoute judges a route of Gateway API. old is the route before an update, nil otherwise.
func (p *Policy) JudgeRoute(a Attributes, route, old *Route, e *Effort) ([]Finding, error) {
	return judge(&p.routes, a, route, old, e)
}

// JudgeOpenShiftRoute judges a Route of OpenShift. old is the Route before an update, nil otherwise.
func (p *Policy) JudgeOpenShiftRoute(a Attributes, route, old *OpenShiftRoute, e *Effort) ([]Finding, error) {
	return judge(&p.openShift, a, route, old, e)
}

// JudgeGateway judges a Gateway or a ListenerSet. old is the object before an update, nil otherwise.
func (p *Policy) JudgeGateway(a Attributes, g, old *Gateway, e *Effort) ([]Finding, error) {
	return judge(&p.gateways, a, g, old, e)
}

// JudgeGrant judges a ReferenceGrant. old is the object before an update, nil otherwise.
func (p *Policy) JudgeGrant(a Attributes, g, old *Grant, e *Effort) ([]Finding, error) {
	return judge(&p.grants, a, g, old, e)
}

// JudgeCertificate judges a Certificate. old is the Certificate before an update, nil otherwise.
func (p *Policy) JudgeCertificate(a Attributes, crt, old *Certificate, e *Effort) ([]Finding, error) {
	return judge(&p.certificates, a, crt, old, e)
}

// JudgeDNSEndpoint judges a DNSEndpoint. old is the DNSEndpoint before an update, nil otherwise.
func (p *Policy) JudgeDNSEndpoint(a Attributes, endpoint, old *DNSEndpoint, e *Effort) ([]Finding, error) {
	return judge(&p.dnsEndpoints, a, endpoint, old, e)
}

// ExplainPod returns for every pods rule whether it applies to the Pod.
func (p *Policy) ExplainPod(a Attributes, pod *Pod) []RuleTrace {
	if !canChangeImages(a, pod) {
		return p.pods.notEvaluated("not asked: it is the mirror Pod of a static Pod, " +
			"or the request cannot change an image")
	}
	return explain(&p.pods, a, newJudgedPod(a, pod, nil))
}

// ExplainIngress returns for every ingresses rule whether it applies to the Ingress.
func (p *Policy) ExplainIngress(a Attributes, ing *Ingress) []RuleTrace {
	return explain(&p.ingresses, a, ing)
}

// ExplainService returns for every services rule whether it applies to the Service, or, of rules that check something
// of an XBackend, to the XBackend.
func (p *Policy) ExplainService(a Attributes, svc *Service) []RuleTrace {
	return explain(p.servicesFor(a), a, svc)
}

// ExplainRoute returns for every routes rule whether it applies to the route.
func (p *Policy) ExplainRoute(a Attributes, route *Route) []RuleTrace {
	return explain(&p.routes, a, route)
}

// ExplainOpenShiftRoute returns for every routes rule that checks something of a Route whether it applies to the Route.
func (p *Policy) ExplainOpenShiftRoute(a Attributes, route *OpenShiftRoute) []RuleTrace {
	return explain(&p.openShift, a, route)
}

// ExplainGateway returns for every gateways rule whether it applies to the Gateway or the ListenerSet.
func (p *Policy) ExplainGateway(a Attributes, g *Gateway) []RuleTrace {
	return explain(&p.gateways, a, g)
}

// ExplainGrant returns for every grants rule whether it applies to the ReferenceGrant.
func (p *Policy) ExplainGrant(a Attributes, g *Grant) []RuleTrace {
	return explain(&p.grants, a, g)
}

// ExplainCertificate returns for every certificates rule whether it applies to the Certificate.
func (p *Policy) ExplainCertificate(a Attributes, crt *Certificate) []RuleTrace {
	return explain(&p.certificates, a, crt)
}

// ExplainDNSEndpoint returns for every dnsEndpoints rule whether it applies to the DNSEndpoint.
func (p *Policy) ExplainDNSEndpoint(a Attributes, endpoint *DNSEndpoint) []RuleTrace {
	return explain(&p.dnsEndpoints, a, endpoint)
}
