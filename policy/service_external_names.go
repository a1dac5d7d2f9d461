package policy

import (
	"slices"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// externalNameRules is the field externalNames: {allowed: ["*.corp.example"], denied: [old.corp.example]}. Names
// compare as DNS does: upper and lower case are the same, a dot at the end does not count; *.x covers one label before
// x, **.x one or more.
//
// As soon as the field is there, also as {}, unsafe targets are denied: localhost in all its spellings, IP addresses,
// names inside the cluster, names that Pods complete to such, machines and metadata services of clouds. Only a pattern
// of allowed that means them lets them pass: the name itself (localhost), or a wildcard under an unsafe name
// (**.svc.cluster.local); for a name of two labels also *.lan. "**" or *.internal do not.
type externalNameRules struct {
	// Allowed lists the targets that pass; every other one is denied. [] denies all.
	Allowed []match.HostPattern `yaml:"allowed"`
	// Denied lists targets that do not pass, whatever allowed says.
	Denied []match.HostPattern `yaml:"denied"`
}

// Validate implements strict.Validator.
func (b *externalNameRules) Validate() error {
	var faults strict.Faults
	faults.Add(refuseEmpty("denied", b.Denied))
	denied := match.NewHostSet(b.Denied)
	for _, a := range b.Allowed {
		if d, also := denied.Covers(a); also {
			faults.Fieldf("allowed", "%s is also denied, by %s: no Service can pass by it", a, d)
		}
	}
	return faults.Err()
}

func (b *externalNameRules) checks() []check[Service] {
	if b == nil {
		return nil
	}
	meant := slices.DeleteFunc(slices.Clone(b.Allowed), func(p match.HostPattern) bool { return !meansUnsafe(p) })
	return []check[Service]{&externalNames{
		meant:   match.NewHostSet(meant),
		denied:  match.NewHostSet(b.Denied),
		limited: b.Allowed != nil,
		allowed: match.NewHostSet(b.Allowed),
		passing: passing(stringsOf(b.Allowed)),
	}}
}

// meansUnsafe says whether a pattern lets the unsafe targets that it covers pass on purpose. A wildcard does so only
// below a name that is itself unsafe; below a single label, as in *.internal, it may well not have thought of them.
func meansUnsafe(p match.HostPattern) bool {
	switch kind := kindOf(p.Name); {
	case p.Depth == match.HostItself:
		return true
	case kind == metadataTarget, kind == loopbackTarget, kind == clusterTarget, kind == cloudTarget:
		return !match.EndsInNumber(p.Name)
	}
	return false
}

// externalNames finds a Service of type ExternalName whose spec.externalName does not pass. It says one thing of it, the
// first of: the target is unsafe (externalNames), it is denied (externalNames.denied), it is not allowed
// (externalNames.allowed). Services of other types are not judged: what the field holds has no effect, and to become an
// ExternalName is a change that is judged.
type externalNames struct {
	meant   *match.HostSet // what lets unsafe targets pass
	denied  *match.HostSet
	limited bool // allowed is there
	allowed *match.HostSet
	passing string
}

func (c *externalNames) find(svc *Service, r *report) {
	if svc.typ() != externalName {
		return
	}
	if !r.spend(stepsOf(4, svc.ExternalName)) {
		return
	}
	host := r.externalName(svc)
	if check, reason := c.judge(host); check != "" {
		r.add(hostIdentity(check, host), "spec.externalName", text.Quote(svc.ExternalName)+" "+reason)
	}
}

// externalName returns spec.externalName, parsed once for all rules.
func (r *report) externalName(svc *Service) match.HostPattern {
	if r.external == nil {
		r.external = new(match.ParseHost(svc.ExternalName))
	}
	return *r.external
}

// judge returns the check that a target breaks, and why; an empty check when it passes.
func (c *externalNames) judge(host match.HostPattern) (check, reason string) {
	if kind := kindOf(host.Name); kind != ordinaryTarget {
		_, meant := c.meant.Covers(host)
		if by, ok := c.allowed.Covers(host); kind == completedName {
			meant = ok && !by.IsEvery()
		}
		if !meant {
			return "externalNames", kind.describe() + "; it passes only where externalNames.allowed names it"
		}
	}
	if by, denied := c.denied.Covers(host); denied {
		return "externalNames.denied", "is denied by " + by.String() + "; write another name"
	}
	if _, allowed := c.allowed.Covers(host); c.limited && !allowed {
		return "externalNames.allowed", "is not allowed" + c.passing
	}
	return "", ""
}
