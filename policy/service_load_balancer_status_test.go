package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// Only addresses that a request adds to the status count, and the user who adds them.
func TestLoadBalancerStatusWriters(t *testing.T) {
	p := mustLoad(t, servicesRule(`loadBalancerStatus: {writers: {users: ["system:serviceaccount:kube-system:*"], groups: [net]}}`))
	ip := func(ips ...string) *object.Service {
		svc := &object.Service{}
		for _, s := range ips {
			svc.LoadBalancerIngress = append(svc.LoadBalancerIngress, object.LoadBalancerIngress{IP: s})
		}
		return svc
	}
	name := func(names ...string) *object.Service {
		svc := &object.Service{}
		for _, s := range names {
			svc.LoadBalancerIngress = append(svc.LoadBalancerIngress, object.LoadBalancerIngress{Hostname: s})
		}
		return svc
	}
	const deniedName = `r/loadBalancerStatus.writers: status.loadBalancer.ingress[0].hostname: "evil.example" is written by "jane", who may not; ` +
		`allowed: system:serviceaccount:kube-system:*, net`
	const denied = `r/loadBalancerStatus.writers: status.loadBalancer.ingress[1].ip: "8.8.8.8" is written by "jane", who may not; ` +
		`allowed: system:serviceaccount:kube-system:*, net`
	for name, test := range map[string]struct {
		user     string
		groups   []string
		svc, old *object.Service
		want     []string
	}{
		"a writer adds":             {"system:serviceaccount:kube-system:cloud", nil, ip("192.0.2.1", "8.8.8.8"), ip("192.0.2.1"), nil},
		"a group adds":              {"bob", []string{"devs", "net"}, ip("192.0.2.1", "8.8.8.8"), ip("192.0.2.1"), nil},
		"another user adds":         {"jane", []string{"devs"}, ip("192.0.2.1", "8.8.8.8"), ip("192.0.2.1"), []string{denied}},
		"another user keeps":        {"jane", nil, ip("8.8.8.8", "192.0.2.1"), ip("192.0.2.1", "8.8.8.8"), nil},
		"another user adds a name":  {"jane", nil, name("evil.example"), ip("192.0.2.1"), []string{deniedName}},
		"another user keeps a name": {"jane", nil, name("evil.example"), name("evil.example"), nil},
		"another removes":           {"jane", nil, ip("192.0.2.1"), ip("192.0.2.1", "8.8.8.8"), nil},
	} {
		t.Run(name, func(t *testing.T) {
			a := object.Attributes{Operation: object.Update, Subresource: "status", User: test.user, Groups: test.groups}
			equal(t, test.want, denying(must(Services.Evaluate(p, a, test.svc, test.old, nil))))
		})
	}
}

// With an empty list nothing passes, and each list applies to its own field only.
func TestLoadBalancerStatusOfNothing(t *testing.T) {
	svc := &object.Service{LoadBalancerIngress: []object.LoadBalancerIngress{{IP: "192.0.2.1"}, {Hostname: "a.example"}}}
	for rule, want := range map[string]string{
		"loadBalancerStatus: {allowed: []}":   `r/loadBalancerStatus.allowed: status.loadBalancer.ingress[0].ip: "192.0.2.1" is not allowed; the policy allows none`,
		"loadBalancerStatus: {hostnames: []}": `r/loadBalancerStatus.hostnames: status.loadBalancer.ingress[1].hostname: "a.example" is not allowed; the policy allows none`,
	} {
		found := must(Services.Evaluate(mustLoad(t, servicesRule(rule)), object.Attributes{Operation: object.Update, Subresource: "status"}, svc, &object.Service{}, nil))
		equal(t, []string{want}, sentences(found), rule)
	}
}
