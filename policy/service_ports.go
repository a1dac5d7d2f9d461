package policy

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// portRange is a range of ports in a policy file that includes both ends: "443" or "8000-8999".
type portRange struct{ low, high int32 }

// UnmarshalText accepts a port, or two ports with - between them. Ports are from 1 to 65535.
func (p *portRange) UnmarshalText(b []byte) error {
	first, last, isRange := strings.Cut(string(b), "-")
	low, err := strconv.ParseUint(first, 10, 16)
	high := low
	if err == nil && isRange {
		high, err = strconv.ParseUint(last, 10, 16)
	}
	switch {
	case err != nil || low == 0:
		return fmt.Errorf(`%s is not a port or a range of ports: write "443" or "8000-8999", each from 1 to 65535`,
			text.Quote(b))
	case low > high:
		return fmt.Errorf(`%s is upside down: write "%d-%d"`, text.Quote(b), high, low)
	}
	*p = portRange{int32(low), int32(high)}
	return nil
}

func (p portRange) String() string {
	if p.low == p.high {
		return strconv.Itoa(int(p.low))
	}
	return fmt.Sprintf("%d-%d", p.low, p.high)
}

// portRanges is a list of ranges.
type portRanges []portRange

func (ps portRanges) contains(port int32) bool {
	return slices.ContainsFunc(ps, func(p portRange) bool { return p.low <= port && port <= p.high })
}

func (ps portRanges) steps() int { return 1 + len(ps)/16 }

// portRules is the ports block of services and gateways entries: {allowed: ["80", "443", "8000-8999"]}.
type portRules struct {
	// Allowed lists the ports, and ranges of ports, that an object may have. [] denies all ports.
	Allowed portRanges `yaml:"allowed,required"`
}

// portChecks compiles rules for one kind of object. It returns nil if b is nil. list is the path of the list whose
// elements have the ports. port returns the port of one element.
func portChecks[T any](b *portRules, list string, port portSource[T]) []rule.Check[T] {
	if b == nil {
		return nil
	}
	return []rule.Check[T]{portsAllowed[T]{b.Allowed, rule.Passing(text.Strings(b.Allowed)), list, port}}
}

// portsAllowed is the check ports.allowed. It finds each spec.ports[].port of a Service, and each spec.listeners[].port
// of a Gateway, outside the ranges. It does not check node ports, which have their own field, or target ports, which
// are ports of the Pods.
type portsAllowed[T any] struct {
	ranges  portRanges
	passing string
	list    string
	port    portSource[T]
}

func (c portsAllowed[T]) Find(obj *T, r *rule.Recorder) {
	for i := 0; ; i++ {
		port, protocol, ok := c.port(obj, i)
		if !ok || !r.Spend(c.ranges.steps()) {
			return
		}
		if c.ranges.contains(port) {
			continue
		}
		if f := r.TryAdd(rule.Identity{Check: "ports.allowed", Value: portText(port), Use: protocol}); f != nil {
			f.Path, f.Reason = fmt.Sprintf("%s[%d].port", c.list, i), portText(port)+" is not allowed"+c.passing
		}
	}
}

// portSource returns the port of element i and its protocol, and whether that element exists.
type portSource[T any] func(obj *T, i int) (port int32, protocol string, ok bool)

func (svc *serviceView) port(i int) (int32, string, bool) {
	if i >= len(svc.Ports) {
		return 0, "", false
	}
	return svc.Ports[i].Port, protocol(&svc.Ports[i]), true
}

// protocol returns the protocol of the port. The API server sets it, but manifests in files often omit it.
func protocol(p *object.ServicePort) string { return cmp.Or(p.Protocol, "TCP") }

func portText(port int32) string { return strconv.Itoa(int(port)) }
