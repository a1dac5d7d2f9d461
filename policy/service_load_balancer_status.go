package policy

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// loadBalancerStatusRules is the loadBalancerStatus block: {allowed: [203.0.113.0/24], hostnames:
// ["*.elb.example.com"], writers: {users: ["system:serviceaccount:kube-system:*"]}}. It validates
// status.loadBalancer.ingress. As with spec.externalIPs, kube-proxy makes nodes intercept traffic to these addresses,
// which is the other half of CVE-2020-8554. Only users with write access to services/status can set them: cloud
// controllers, and users with all rights (*) in a namespace.
type loadBalancerStatusRules struct {
	// Allowed lists the address ranges that addresses may be in. [] denies all addresses.
	Allowed []match.CIDR `yaml:"allowed"`
	// Hostnames lists patterns that host names may match. [] denies all host names.
	Hostnames []match.HostPattern `yaml:"hostnames"`
	// Writers lists the users and groups that may add an address or a host name.
	Writers *writers `yaml:"writers"`
}

// writers are users and groups. A user in either list is a writer.
type writers struct {
	// Users lists users, with * for any run of characters. Absent: no users.
	Users []match.Glob `yaml:"users"`
	// Groups lists groups, with * for any run of characters. Absent: no groups.
	Groups []match.Glob `yaml:"groups"`
}

func (w *writers) Validate() error {
	if len(w.Users)+len(w.Groups) == 0 {
		return errors.New("has no writers: write users or groups, or deny all with allowed: [] and hostnames: []")
	}
	var faults strict.Faults
	for _, g := range w.Users {
		if err := match.CheckUser(g); err != nil {
			faults.Fieldf("users", "%v", err)
		}
	}
	for _, g := range w.Groups {
		if err := match.CheckGroup(g); err != nil {
			faults.Fieldf("groups", "%v", err)
		}
	}
	return faults.Err()
}

func (b *loadBalancerStatusRules) Validate() error {
	return rule.RejectNone(b.checks(), "allowed, hostnames or writers")
}

func (b *loadBalancerStatusRules) checks() []rule.Check[serviceView] {
	var writers []match.Glob
	if b.Writers != nil {
		writers = slices.Concat(b.Writers.Users, b.Writers.Groups)
	}
	return rule.Checks(
		rule.When(b.Allowed != nil, statusAllowed{match.NewCIDRSet(b.Allowed), rule.Passing(text.Strings(b.Allowed))}),
		rule.When(b.Hostnames != nil,
			statusHostnames{match.NewHostSet(b.Hostnames), rule.Passing(text.Strings(b.Hostnames))}),
		rule.When(b.Writers != nil, statusWriters{b.Writers, rule.Passing(writers)}),
	)
}

func statusPath(i int, field string) string {
	return "status.loadBalancer.ingress[" + strconv.Itoa(i) + "]." + field
}

// statusAllowed is the check loadBalancerStatus.allowed. It finds each address of status.loadBalancer.ingress that is
// not in any of the ranges, or that some parsers do not accept.
type statusAllowed struct {
	ranges  match.CIDRSet
	passing string
}

func (c statusAllowed) Find(svc *serviceView, r *rule.Recorder) {
	ips := svc.statusIPs(r)
	for i := range ips {
		a := &ips[i]
		if !r.Spend(1) {
			return
		}
		if a.written == "" || a.err == nil && c.ranges.Covers(a.prefix) {
			continue
		}
		if f := r.TryAdd(statusIdentity(&svc.LoadBalancerIngress[i], "loadBalancerStatus.allowed", a.normal())); f != nil {
			f.Path, f.Reason = statusPath(i, "ip"), a.reason(c.passing)
		}
	}
}

// statusIdentity returns the identity of a finding about an address or a host name of the element. It contains the mode
// and the ports too. For example, nodes intercept traffic to an address with the mode VIP, but not with the mode Proxy.
func statusIdentity(in *object.LoadBalancerIngress, check, value string) rule.Identity {
	return rule.Identity{Check: check, Value: value, Detail: in.Ports, Use: cmp.Or(in.IPMode, "VIP")}
}

// normal returns the canonical form of the address, or its text if it is not a valid address.
func (a *address) normal() string {
	if a.err != nil {
		return a.written
	}
	return a.prefix.Addr().String()
}

// statusIPs returns an address for each element of status.loadBalancer.ingress. The address is empty if the element has
// no IP.
func (svc *serviceView) statusIPs(r *rule.Recorder) []address {
	if svc.statusAddresses == nil && r.Spend(2*len(svc.LoadBalancerIngress)) {
		svc.statusAddresses = make([]address, len(svc.LoadBalancerIngress))
		for i := range svc.LoadBalancerIngress {
			if ip := svc.LoadBalancerIngress[i].IP; ip != "" {
				svc.statusAddresses[i] = newAddress(ip)
			}
		}
	}
	return svc.statusAddresses
}

// statusHostnames is the check loadBalancerStatus.hostnames. It finds each host name of status.loadBalancer.ingress
// that no pattern covers.
type statusHostnames struct {
	patterns *match.HostSet
	passing  string
}

func (c statusHostnames) Find(svc *serviceView, r *rule.Recorder) {
	for i := range svc.LoadBalancerIngress {
		name := svc.LoadBalancerIngress[i].Hostname
		if !r.Spend(rule.StepsOf(2, name)) {
			return
		}
		if name == "" {
			continue
		}
		host := match.ParseHost(name)
		if _, ok := c.patterns.Covers(host); ok {
			continue
		}
		id := statusIdentity(&svc.LoadBalancerIngress[i], "loadBalancerStatus.hostnames", host.Name)
		id.Depth = host.Depth
		if f := r.TryAdd(id); f != nil {
			f.Path, f.Reason = statusPath(i, "hostname"), text.Quote(name)+" is not allowed"+c.passing
		}
	}
}

// statusWriters is the check loadBalancerStatus.writers. If the user of the request is not a writer, it finds each
// address and each host name of status.loadBalancer.ingress.
type statusWriters struct {
	*writers
	passing string
}

func (c statusWriters) Find(svc *serviceView, r *rule.Recorder) {
	if len(svc.LoadBalancerIngress) == 0 || c.includes(r) {
		return
	}
	for i := range svc.LoadBalancerIngress {
		in := &svc.LoadBalancerIngress[i]
		if !r.Spend(1) {
			return
		}
		c.add(in, in.IP, i, "ip", r)
		c.add(in, in.Hostname, i, "hostname", r)
	}
}

func (c statusWriters) includes(r *rule.Recorder) bool {
	s := r.Subject
	if !r.Spend(len(c.Users) + len(c.Groups)*len(s.Groups)) {
		return true
	}
	return match.AnyGlob(c.Users, s.User) ||
		slices.ContainsFunc(s.Groups, func(g string) bool { return match.AnyGlob(c.Groups, g) })
}

// add adds a finding about a field of an element, unless the value is empty.
func (c statusWriters) add(in *object.LoadBalancerIngress, value string, i int, field string, r *rule.Recorder) {
	if value == "" {
		return
	}
	if f := r.TryAdd(statusIdentity(in, "loadBalancerStatus.writers", value)); f != nil {
		f.Path = statusPath(i, field)
		f.Reason = text.Quote(value) + " is written by " + text.Quote(r.Subject.User) + ", who may not" + c.passing
	}
}
