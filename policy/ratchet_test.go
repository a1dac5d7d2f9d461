package policy

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// evaluateUpdate returns the introduced and the pre-existing findings of an update to svc, as checks and values.
func evaluateUpdate(p *Policy, a object.Attributes, svc, old *object.Service) (introduced, existed []string) {
	for _, f := range must(Services.Evaluate(p, a, svc, old, nil)) {
		s := f.Check + " " + offender(rule.IdentityOf(f))
		if f.Existed {
			existed = append(existed, s)
		} else {
			introduced = append(introduced, s)
		}
	}
	return introduced, existed
}

// offender returns the value of the identity of a finding.
func offender(id rule.Identity) string {
	switch {
	case id.Prefix.IsValid():
		return id.Prefix.String()
	case strings.HasPrefix(id.Check, "annotations.") && id.Detail != "":
		return id.Value + "=" + id.Detail
	case id.Depth != match.HostItself:
		return match.HostPattern{Name: id.Value, Depth: id.Depth}.String()
	case id.Use != "":
		return id.Use + " " + id.Value
	}
	return id.Value + id.Detail
}

// Introduced findings deny an update, and pre-existing findings never do. There is one row for each kind of finding and
// each way in which it can change.
func TestRatchetServices(t *testing.T) {
	ips := func(ips ...string) object.Service { return object.Service{ExternalIPs: ips} }
	ranges := func(ranges ...string) object.Service {
		return object.Service{Type: "LoadBalancer", LoadBalancerSourceRanges: ranges}
	}
	ports := func(ports ...object.ServicePort) object.Service {
		return object.Service{Type: "NodePort", Ports: ports}
	}
	named := func(name string) object.Service { return object.Service{Type: "ExternalName", ExternalName: name} }
	annotated := func(pairs ...string) object.Service {
		s := object.Service{Meta: object.Meta{Annotations: map[string]string{}}}
		for i := 0; i < len(pairs); i += 2 {
			s.Annotations[pairs[i]] = pairs[i+1]
		}
		return s
	}
	azure := func(serviceType, name, value string) object.Service {
		s := annotated("service.beta.kubernetes.io/azure-allowed-"+name, value)
		s.Type = serviceType
		return s
	}
	lb := func(serviceType, field, annotation string) object.Service {
		s := annotated("metallb.io/loadBalancerIPs", annotation)
		s.Type, s.LoadBalancerIP = serviceType, field
		return s
	}
	hidden := func(field, annotation string) object.Service {
		s := annotated(sourceRangesAnnotation, annotation)
		if s.Type = "LoadBalancer"; field != "" {
			s.LoadBalancerSourceRanges = []string{field}
		}
		return s
	}
	const (
		noIPs     = "externalIPs: {allowed: []}"
		noLBIPs   = "loadBalancerIPs: {allowed: []}"
		ownRanges = "loadBalancerSourceRanges: {allowed: [192.168.0.0/16]}"
		noNode    = "nodePorts: {allowed: []}"
		denied    = `annotations: {denied: ["x/*"]}`
	)
	for name, test := range map[string]struct {
		rule           string
		old, svc       object.Service
		fresh, existed []string
	}{
		"value: unchanged":      {"types: {allowed: [ClusterIP]}", object.Service{Type: "NodePort"}, object.Service{Type: "NodePort"}, nil, []string{"types.allowed NodePort"}},
		"value: exchanged":      {"types: {allowed: [ClusterIP]}", object.Service{Type: "NodePort"}, object.Service{Type: "LoadBalancer"}, []string{"types.allowed LoadBalancer"}, nil},
		"value: fixed":          {"types: {allowed: [ClusterIP]}", object.Service{Type: "NodePort"}, object.Service{Type: "ClusterIP"}, nil, nil},
		"value: brought":        {"types: {allowed: [ClusterIP]}", object.Service{}, object.Service{Type: "NodePort"}, []string{"types.allowed NodePort"}, nil},
		"list: reordered":       {`ports: {allowed: []}`, ports(object.ServicePort{Port: 1}, object.ServicePort{Port: 2}), ports(object.ServicePort{Port: 2}, object.ServicePort{Port: 1}), nil, []string{"ports.allowed TCP 2", "ports.allowed TCP 1"}},
		"list: one exchanged":   {`ports: {allowed: []}`, ports(object.ServicePort{Port: 1}, object.ServicePort{Port: 2}), ports(object.ServicePort{Port: 3}, object.ServicePort{Port: 1}), []string{"ports.allowed TCP 3"}, []string{"ports.allowed TCP 1"}},
		"list: renamed":         {`ports: {allowed: []}`, ports(object.ServicePort{Name: "a", Port: 1}), ports(object.ServicePort{Name: "b", Port: 1}), nil, []string{"ports.allowed TCP 1"}},
		"node port: moved":      {noNode, ports(object.ServicePort{Port: 80, NodePort: 30001}), ports(object.ServicePort{Port: 443, NodePort: 30001}), nil, []string{"nodePorts.allowed TCP 30001"}},
		"node port: another":    {noNode, ports(object.ServicePort{NodePort: 30001}), ports(object.ServicePort{NodePort: 30002}), []string{"nodePorts.allowed TCP 30002"}, nil},
		"node port: other type": {noNode, object.Service{Type: "LoadBalancer", Ports: []object.ServicePort{{NodePort: 30001}}}, ports(object.ServicePort{NodePort: 30001}), nil, []string{"nodePorts.allowed TCP 30001"}},
		"node port: for health checks": {noNode, object.Service{Type: "LoadBalancer", HealthCheckNodePort: 30001}, ports(object.ServicePort{NodePort: 30001}),
			[]string{"nodePorts.allowed TCP 30001"}, nil},
		"node port: health checks on": {noNode, object.Service{Type: "LoadBalancer", HealthCheckNodePort: 30001},
			object.Service{Type: "LoadBalancer", HealthCheckNodePort: 30001}, nil, []string{"nodePorts.allowed health checks 30001"}},
		"allocation: absent is true": {"allocateLoadBalancerNodePorts: deny", object.Service{Type: "LoadBalancer"},
			object.Service{Type: "LoadBalancer", AllocateLoadBalancerNodePorts: new(true)}, nil, []string{"allocateLoadBalancerNodePorts true"}},
		"allocation: switched on": {"allocateLoadBalancerNodePorts: deny", object.Service{Type: "LoadBalancer", AllocateLoadBalancerNodePorts: new(false)},
			object.Service{Type: "LoadBalancer"}, []string{"allocateLoadBalancerNodePorts true"}, nil},
		"requirement: still unmet": {"loadBalancerClass: {required: true}", object.Service{Type: "LoadBalancer"}, object.Service{Type: "LoadBalancer"}, nil, []string{"loadBalancerClass.required "}},
		"requirement: now unmet": {"loadBalancerClass: {required: true}", object.Service{Type: "LoadBalancer", LoadBalancerClass: new("a")},
			object.Service{Type: "LoadBalancer"}, []string{"loadBalancerClass.required "}, nil},
		"requirement: now asked":         {"loadBalancerClass: {required: true}", object.Service{}, object.Service{Type: "LoadBalancer"}, []string{"loadBalancerClass.required "}, nil},
		"address: reordered":             {noIPs, ips("192.0.2.1", "192.0.2.2"), ips("192.0.2.2", "192.0.2.1"), nil, []string{"externalIPs.allowed 192.0.2.2/32", "externalIPs.allowed 192.0.2.1/32"}},
		"address: another":               {noIPs, ips("192.0.2.1"), ips("192.0.2.2"), []string{"externalIPs.allowed 192.0.2.2/32"}, nil},
		"address: other spelling":        {noIPs, ips("2001:db8::1"), ips("2001:DB8:0::1"), nil, []string{"externalIPs.allowed 2001:db8::1/128"}},
		"address: mapped":                {noIPs, ips("192.0.2.1"), ips("::ffff:192.0.2.1"), nil, []string{"externalIPs.allowed 192.0.2.1/32"}},
		"requested address: kept":        {noLBIPs, lb("LoadBalancer", "192.0.2.1", ""), lb("LoadBalancer", "", "192.0.2.1"), nil, []string{"loadBalancerIPs.allowed 192.0.2.1/32"}},
		"requested address: another":     {noLBIPs, lb("LoadBalancer", "192.0.2.1", ""), lb("LoadBalancer", "192.0.2.1", "192.0.2.2"), []string{"loadBalancerIPs.allowed 192.0.2.2/32"}, []string{"loadBalancerIPs.allowed 192.0.2.1/32"}},
		"requested address: idle before": {noLBIPs, lb("ClusterIP", "192.0.2.1", ""), lb("LoadBalancer", "192.0.2.1", ""), []string{"loadBalancerIPs.allowed 192.0.2.1/32"}, nil},
		"address: malformed as ever":     {noIPs, ips("192.0.2.010"), ips("192.0.2.010"), nil, []string{"externalIPs.allowed 192.0.2.010"}},
		"address: otherwise malformed":   {noIPs, ips("192.0.2.010"), ips("192.0.2.011"), []string{"externalIPs.allowed 192.0.2.011"}, nil},
		"range: narrower":                {ownRanges, ranges("10.0.0.0/8"), ranges("10.1.0.0/16"), nil, []string{"loadBalancerSourceRanges.allowed 10.1.0.0/16"}},
		"range: one address of it":       {ownRanges, ranges("0.0.0.0/0"), ranges("8.8.8.8/32"), nil, []string{"loadBalancerSourceRanges.allowed 8.8.8.8/32"}},
		"range: wider":                   {ownRanges, ranges("10.1.0.0/16"), ranges("10.0.0.0/8"), []string{"loadBalancerSourceRanges.allowed 10.0.0.0/8"}, nil},
		"range: beside":                  {ownRanges, ranges("10.1.0.0/16"), ranges("10.2.0.0/16"), []string{"loadBalancerSourceRanges.allowed 10.2.0.0/16"}, nil},
		"range: other family":            {ownRanges, ranges("0.0.0.0/0"), ranges("::/0"), []string{"loadBalancerSourceRanges.allowed ::/0"}, nil},
		"range: same but for spare bits": {ownRanges, ranges("10.0.0.0/8"), ranges("10.9.9.9/8"), nil, []string{"loadBalancerSourceRanges.allowed 10.0.0.0/8"}},
		"range: into the annotation":     {ownRanges, ranges("10.0.0.0/8"), annotated(sourceRangesAnnotation, "10.0.0.0/9"), nil, []string{"loadBalancerSourceRanges.allowed 10.0.0.0/9"}},
		"range: no longer hidden": {ownRanges, hidden("192.168.0.0/16", "0.0.0.0/0"), hidden("", "0.0.0.0/0"),
			[]string{"loadBalancerSourceRanges.allowed 0.0.0.0/0"}, nil},
		"range: out of hiding": {ownRanges, hidden("192.168.0.0/16", "0.0.0.0/0"), ranges("0.0.0.0/0"),
			[]string{"loadBalancerSourceRanges.allowed 0.0.0.0/0"}, nil},
		"range: as hidden as ever": {ownRanges, hidden("192.168.0.0/16", "0.0.0.0/0"), hidden("192.168.1.0/24", "0.0.0.0/0"),
			nil, []string{"loadBalancerSourceRanges.allowed 0.0.0.0/0"}},
		"range: fixed by half": {ownRanges, hidden("", "0.0.0.0/0"), hidden("192.168.0.0/16", "0.0.0.0/0"),
			nil, []string{"loadBalancerSourceRanges.allowed 0.0.0.0/0"}},
		"range: malformed and no longer hidden": {ownRanges, hidden("192.168.0.0/16", "all"), hidden("", "all"),
			[]string{"loadBalancerSourceRanges.allowed all"}, nil},
		"range: of a Service that becomes a LoadBalancer": {ownRanges, azure("NodePort", "ip-ranges", "0.0.0.0/0"), azure("LoadBalancer", "ip-ranges", "0.0.0.0/0"),
			[]string{"loadBalancerSourceRanges.allowed 0.0.0.0/0"}, nil},
		"range: of a Service that was a LoadBalancer": {ownRanges, azure("LoadBalancer", "ip-ranges", "0.0.0.0/0"), azure("ClusterIP", "ip-ranges", "0.0.0.0/0"),
			nil, []string{"loadBalancerSourceRanges.allowed 0.0.0.0/0"}},
		"clients: of a Service that becomes a LoadBalancer": {ownRanges, azure("", "service-tags", "Internet"), azure("LoadBalancer", "service-tags", "Internet"),
			[]string{"loadBalancerSourceRanges.allowed service.beta.kubernetes.io/azure-allowed-service-tagsInternet"}, nil},
		"clients: of a Service that was a LoadBalancer": {ownRanges, azure("LoadBalancer", "service-tags", "Internet"), azure("NodePort", "service-tags", "Internet"),
			nil, []string{"loadBalancerSourceRanges.allowed service.beta.kubernetes.io/azure-allowed-service-tagsInternet"}},
		"range: added":            {ownRanges, ranges("10.0.0.0/8"), ranges("11.0.0.0/8", "10.0.0.0/8"), []string{"loadBalancerSourceRanges.allowed 11.0.0.0/8"}, []string{"loadBalancerSourceRanges.allowed 10.0.0.0/8"}},
		"name: other spelling":    {"externalNames: {}", named("localhost"), named("LOCALHOST."), nil, []string{"externalNames localhost"}},
		"name: another":           {"externalNames: {}", named("localhost"), named("a.localhost"), []string{"externalNames a.localhost"}, nil},
		"name: comes into effect": {"externalNames: {}", object.Service{ExternalName: "localhost"}, named("localhost"), []string{"externalNames localhost"}, nil},
		"annotation: unchanged":   {denied, annotated("x/a", "1"), annotated("x/a", "1", "y/b", "2"), nil, []string{"annotations.denied x/a=1"}},
		"annotation: other value": {denied, annotated("x/a", "1"), annotated("x/a", "2"), []string{"annotations.denied x/a=2"}, nil},
		"annotation: other key":   {denied, annotated("x/a", "1"), annotated("x/b", "1"), []string{"annotations.denied x/b=1"}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			p := mustLoad(t, servicesRule(test.rule))
			fresh, existed := evaluateUpdate(p, object.Attributes{Operation: object.Update}, &test.svc, &test.old)
			equal(t, test.fresh, fresh, "introduced")
			equal(t, test.existed, existed, "existed")
		})
	}
}

// A limited number of findings is kept, and pre-existing findings do not displace introduced findings.
func TestFindingsAreBounded(t *testing.T) {
	const n = 5 * rule.MaxFindings
	p := mustLoad(t, servicesRule("ports: {allowed: []}"))
	service := func(ports ...int32) *object.Service {
		svc := &object.Service{}
		for _, port := range ports {
			svc.Ports = append(svc.Ports, object.ServicePort{Port: port})
		}
		return svc
	}
	old := make([]int32, n)
	for i := range old {
		old[i] = int32(i + 1)
	}

	var e Effort
	created := must(Services.Evaluate(p, object.Attributes{Operation: object.Create}, service(old...), nil, &e))
	if len(created) != rule.MaxFindings {
		t.Fatalf("%d findings are kept, want %d", len(created), rule.MaxFindings)
	}
	if e.Steps() != 2+rule.MaxFindings { // the rule, its check and each port up to the last finding
		t.Errorf("evaluation went on for %d steps", e.Steps())
	}
	const first = "r/ports.allowed: spec.ports[0].port: 1 is not allowed; the policy allows none"
	const last = "r/ports.allowed: spec.ports[999].port: 1000 is not allowed; the policy allows none; the evaluation stopped at 1000 findings"
	if got := created[0].String(); got != first {
		t.Errorf("the first: %s", got)
	}
	if got := created[rule.MaxFindings-1].String(); got != last {
		t.Errorf("the last: %s", got)
	}

	// Findings after the first thousand are pre-existing too.
	reversed := slices.Clone(old)
	slices.Reverse(reversed)
	for _, f := range must(Services.Evaluate(p, object.Attributes{Operation: object.Update}, service(reversed...), service(old...), nil)) {
		if f.Denies() {
			t.Fatalf("nothing was introduced, but %s", f)
		}
	}
	updated := must(Services.Evaluate(p, object.Attributes{Operation: object.Update}, service(append(old, n+1)...), service(old...), nil))
	const introduced = "r/ports.allowed: spec.ports[5000].port: 5001 is not allowed; the policy allows none; and 4000 more that existed before"
	if got := updated[len(updated)-1]; len(updated) != rule.MaxFindings+1 || !got.Denies() || got.String() != introduced {
		t.Errorf("%d findings, the last: %s, denies %t", len(updated), got, got.Denies())
	}
}

// Findings of a rule that does not deny do not displace findings of a rule that denies, wherever the rules are in the
// policy. Findings are in the order of the policy.
func TestRulesThatDenyAreAskedFirst(t *testing.T) {
	p := mustLoad(t, "services:\n- {name: loud, mode: audit, ports: {allowed: []}}\n- {name: told, mode: warn, ports: {allowed: []}}\n"+
		"- {name: denies, mode: enforce, types: {allowed: []}}\n")
	svc := &object.Service{Ports: make([]object.ServicePort, 2*rule.MaxFindings)}
	for i := range svc.Ports {
		svc.Ports[i].Port = int32(i + 1)
	}
	findings := must(Services.Evaluate(p, object.Attributes{Operation: object.Create}, svc, nil, nil))
	if len(findings) != rule.MaxFindings || findings[0].Rule != "told" || findings[rule.MaxFindings-1].Rule != "denies" {
		t.Fatalf("%d findings, the first %s, the last %s", len(findings), findings[0], findings[len(findings)-1])
	}
	if !findings[rule.MaxFindings-1].Denies() {
		t.Error("it does not deny")
	}
}

// The cost of evaluating an object is limited for all rules. Above the limit, the evaluation stops with an error.
func TestEffortIsBounded(t *testing.T) {
	var rules strings.Builder
	rules.WriteString("services:\n")
	for i := range 150 {
		fmt.Fprintf(&rules, "- {name: r%d, mode: warn, ports: {allowed: [1-65535]}}\n", i)
	}
	p := mustLoad(t, rules.String())
	for ports, want := range map[int]string{5000: "", 10000: "need more than 1000000 comparisons"} {
		svc := &object.Service{Ports: make([]object.ServicePort, ports)}
		for i := range svc.Ports {
			svc.Ports[i].Port = 80
		}
		var e Effort
		if _, err := Services.Evaluate(p, object.Attributes{Operation: object.Create}, svc, nil, &e); (err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want) {
			t.Errorf("%d ports: %v after %d steps, want %q", ports, err, e.Steps(), want)
		}
		asked := 0
		e = Effort{Expired: func() bool { asked++; return asked > 2 }}
		if _, err := Services.Evaluate(p, object.Attributes{Operation: object.Create}, svc, nil, &e); !errors.Is(err, ErrExpired) || e.Steps() > 4*4096 {
			t.Errorf("%d ports: %v after %d steps, want %v", ports, err, e.Steps(), ErrExpired)
		}
	}
}

// Rules apply to an object that is being deleted, and through any subresource.
func TestRatchetHasNoExemption(t *testing.T) {
	p := mustLoad(t, servicesRule(`annotations: {denied: ["x/*"]}`))
	for _, subresource := range []string{"", "status"} {
		a := object.Attributes{Operation: object.Update, Subresource: subresource}
		old := object.Service{Meta: object.Meta{Annotations: map[string]string{"x/a": "1"}}}
		// Removing a finalizer does not introduce a finding, so it passes. The same request with another annotation does not
		// pass.
		same, worse := old, object.Service{Meta: object.Meta{Annotations: map[string]string{"x/a": "1", "x/b": "1"}}}
		if fresh, existed := evaluateUpdate(p, a, &same, &old); len(fresh) != 0 || len(existed) != 1 {
			t.Errorf("subresource %q: an update of nothing: %v, %v", subresource, fresh, existed)
		}
		if fresh, _ := evaluateUpdate(p, a, &worse, &old); len(fresh) != 1 {
			t.Errorf("subresource %q: a new annotation passed", subresource)
		}
	}
}

// An old object is evaluated as if the user of the update had created it, because its author is unknown.
func TestRatchetAndSelectors(t *testing.T) {
	p := mustLoad(t, `
services:
- name: r
  mode: enforce
  exclude: {groups: [break-glass], namespaces: [free]}
  externalIPs: {allowed: []}
`)
	old, worse := object.Service{ExternalIPs: []string{"192.0.2.1"}}, object.Service{ExternalIPs: []string{"192.0.2.1", "192.0.2.2"}}
	normal := object.Attributes{Operation: object.Update, User: "jane", Groups: []string{"devs"}}
	breakGlass := object.Attributes{Operation: object.Update, User: "jane", Groups: []string{"devs", "break-glass"}}
	if fresh, existed := evaluateUpdate(p, normal, &old, &old); len(fresh) != 0 || len(existed) != 1 {
		t.Errorf("a break-glass user's object, touched by a normal user: %v, %v", fresh, existed)
	}
	if fresh, existed := evaluateUpdate(p, normal, &worse, &old); len(fresh) != 1 || len(existed) != 1 {
		t.Errorf("a break-glass user's object, made worse by a normal user: %v, %v", fresh, existed)
	}
	if fresh, existed := evaluateUpdate(p, breakGlass, &worse, &old); len(fresh)+len(existed) != 0 {
		t.Errorf("a break-glass user is excluded: %v, %v", fresh, existed)
	}
}
