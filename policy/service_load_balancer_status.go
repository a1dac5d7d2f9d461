package policy

import (
	"cmp"
	"errors"
	"slices"
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// loadBalancerStatusRules is the field loadBalancerStatus: {allowed: [203.0.113.0/24], hostnames:
// ["*.elb.example.com"], writers: {users: ["system:serviceaccount:kube-system:*"]}}. It is about
// status.loadBalancer.ingress, by which kube-proxy makes nodes intercept traffic to an address, as it does by
// spec.externalIPs: the other half of CVE-2020-8554. Only users that may write services/status can set it: cloud
// controllers, and users with all rights (*) in a namespace.
type loadBalancerStatusRules struct {
	// Allowed lists the address ranges that addresses may be in. [] denies all.
	Allowed []match.CIDR `yaml:"allowed"`
	// Hostnames lists patterns that host names may match. [] denies all.
	Hostnames []match.HostPattern `yaml:"hostnames"`
	// Writers lists the users and groups that may add an address or a host name.
	Writers *writers `yaml:"writers"`
}

// writers are users and groups, * for any run of characters. Either suffices.
type writers struct {
	// Users lists users, * for any run of characters. Absent: none.
	Users []match.Glob `yaml:"users"`
	// Groups lists groups, * for any run of characters. Absent: none.
	Groups []match.Glob `yaml:"groups"`
}

// Validate implements strict.Validator.
func (w *writers) Validate() error {
	if len(w.Users)+len(w.Groups) == 0 {
		return errors.New("has no writers: write users or groups, or deny all with allowed: [] and hostnames: []")
	}
	return nil
}

// Validate implements strict.Validator.
func (b *loadBalancerStatusRules) Validate() error {
	if b.Allowed == nil && b.Hostnames == nil && b.Writers == nil {
		return errNoCheck("allowed, hostnames or writers")
	}
	return nil
}

func (b *loadBalancerStatusRules) checks() []check[serviceView] {
	if b == nil {
		return nil
	}
	var cs []check[serviceView]
	if b.Allowed != nil {
		cs = append(cs, statusAllowed{match.NewCIDRSet(b.Allowed), passing(stringsOf(b.Allowed))})
	}
	if b.Hostnames != nil {
		cs = append(cs, statusHostnames{match.NewHostSet(b.Hostnames), passing(stringsOf(b.Hostnames))})
	}
	if b.Writers != nil {
		cs = append(cs, statusWriters{b.Writers, passing(slices.Concat(b.Writers.Users, b.Writers.Groups))})
	}
	return cs
}

// statusPath returns the path of a field of an element of status.loadBalancer.ingress.
func statusPath(i int, field string) string {
	return "status.loadBalancer.ingress[" + strconv.Itoa(i) + "]." + field
}

// statusAllowed (loadBalancerStatus.allowed) finds each address of status.loadBalancer.ingress that is in none of the
// ranges, or that not all parsers accept.
type statusAllowed struct {
	ranges  match.CIDRSet
	passing string
}

func (c statusAllowed) find(svc *serviceView, r *report) {
	ips := svc.statusIPs(r)
	for i := range ips {
		a := &ips[i]
		if !r.spend(1) {
			return
		}
		if a.written == "" || a.err == nil && c.ranges.Covers(a.prefix) {
			continue
		}
		if f := r.tryAdd(svc.LoadBalancerIngress[i].identity("loadBalancerStatus.allowed", a.normal())); f != nil {
			f.Path, f.Reason = statusPath(i, "ip"), a.reason(c.passing)
		}
	}
}

// identity returns the identity of a finding about an address or a host name of the element. It has the mode and the
// ports too: nodes intercept traffic to an address of the mode VIP, and not to one of the mode Proxy.
func (in *LoadBalancerIngress) identity(check, value string) identity {
	return identity{check: check, value: value, detail: in.Ports, use: cmp.Or(in.IPMode, "VIP")}
}

// normal returns the address in its one spelling, or as it is written where it is none.
func (a *address) normal() string {
	if a.err != nil {
		return a.written
	}
	return a.prefix.Addr().String()
}

// statusIPs returns the addresses of status.loadBalancer.ingress.
func (svc *serviceView) statusIPs(r *report) []address {
	if svc.statusAddresses == nil && r.spend(2*len(svc.LoadBalancerIngress)) {
		svc.statusAddresses = make([]address, len(svc.LoadBalancerIngress))
		for i := range svc.LoadBalancerIngress {
			if ip := svc.LoadBalancerIngress[i].IP; ip != "" {
				svc.statusAddresses[i] = newAddress(ip)
			}
		}
	}
	return svc.statusAddresses
}

// statusHostnames (loadBalancerStatus.hostnames) finds each host name of status.loadBalancer.ingress that no pattern
// covers.
type statusHostnames struct {
	patterns *match.HostSet
	passing  string
}

func (c statusHostnames) find(svc *serviceView, r *report) {
	for i := range svc.LoadBalancerIngress {
		name := svc.LoadBalancerIngress[i].Hostname
		if !r.spend(stepsOf(2, name)) {
			return
		}
		if name == "" {
			continue
		}
		host := match.ParseHost(name)
		if _, ok := c.patterns.Covers(host); ok {
			continue
		}
		id := svc.LoadBalancerIngress[i].identity("loadBalancerStatus.hostnames", host.Name)
		id.depth = host.Depth
		if f := r.tryAdd(id); f != nil {
			f.Path, f.Reason = statusPath(i, "hostname"), text.Quote(name)+" is not allowed"+c.passing
		}
	}
}

// statusWriters (loadBalancerStatus.writers) finds each address and each host name of status.loadBalancer.ingress that
// a user who is not a writer writes.
type statusWriters struct {
	writers *writers
	passing string
}

func (c statusWriters) find(svc *serviceView, r *report) {
	if len(svc.LoadBalancerIngress) == 0 || c.includes(r) {
		return
	}
	for i := range svc.LoadBalancerIngress {
		in := &svc.LoadBalancerIngress[i]
		if !r.spend(1) {
			return
		}
		c.add(in, in.IP, i, "ip", r)
		c.add(in, in.Hostname, i, "hostname", r)
	}
}

// includes reports whether the user of the request is a writer.
func (c statusWriters) includes(r *report) bool {
	s := r.subject
	if !r.spend(len(c.writers.Users) + len(c.writers.Groups)*len(s.groups)) {
		return true
	}
	return matchesAny(c.writers.Users, s.user) ||
		slices.ContainsFunc(s.groups, func(g string) bool { return matchesAny(c.writers.Groups, g) })
}

// add adds a finding about a field of an element, unless it is empty.
func (c statusWriters) add(in *LoadBalancerIngress, value string, i int, field string, r *report) {
	if value == "" {
		return
	}
	if f := r.tryAdd(in.identity("loadBalancerStatus.writers", value)); f != nil {
		f.Path = statusPath(i, field)
		f.Reason = text.Quote(value) + " is written by " + text.Quote(r.subject.user) + ", who may not" + c.passing
	}
}
