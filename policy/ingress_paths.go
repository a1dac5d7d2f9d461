package policy

import (
	"errors"
	"fmt"
	"strconv"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// pathRules is the field paths of an ingresses entry. A finding about a path is identified by its host and path: a
// path that was tolerated on one host is new on another.
type pathRules struct {
	// Types lists the path types that may be used: [Exact, Prefix]. What ImplementationSpecific means is up to the
	// controller; ingress-nginx takes regular expressions there, and the advice about CVE-2026-24512 is to deny it
	// until the controller is fixed.
	Types []pathType `yaml:"types"`
	// Denied lists what a path must not contain, upper or lower case: ["/admin"].
	Denied []pathPart `yaml:"denied"`
	// DeniedPatterns lists regular expressions that must not cover a whole path: ["/v[0-9]+/internal(/.*)?"].
	DeniedPatterns []match.Regex `yaml:"deniedPatterns"`
	// UnsafeCharacters: deny means that a path must hold none of the characters by which it can break out of its
	// place in a controller's configuration (CVE-2026-24512 and its like): quotes, backslash, braces, semicolon,
	// number sign, white space and control characters.
	UnsafeCharacters denial `yaml:"unsafeCharacters"`
}

// pathType is the type of a path, as networking.k8s.io/v1 has it.
type pathType string

// UnmarshalText accepts the types that there are.
func (t *pathType) UnmarshalText(b []byte) error {
	switch s := string(b); s {
	case "Exact", "Prefix", "ImplementationSpecific":
		*t = pathType(s)
		return nil
	}
	return fmt.Errorf("%s is not a path type: write Exact, Prefix or ImplementationSpecific", text.Quote(b))
}

// pathPart is a part of a path, without regard to upper and lower case.
type pathPart string

// UnmarshalText refuses the empty part, which every path contains.
func (p *pathPart) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("an empty part stands in every path: to deny all paths write types: []")
	}
	*p = pathPart(match.LowerASCII(string(b)))
	return nil
}

// Validate implements strict.Validator.
func (p *pathRules) Validate() error {
	var faults strict.Faults
	faults.Add(refuseEmpty("denied", p.Denied))
	faults.Add(refuseEmpty("deniedPatterns", p.DeniedPatterns))
	for _, x := range p.DeniedPatterns {
		// Whoever writes _by_lua means .*_by_lua.*, and nothing would tell that no path is denied by it.
		if prefix := x.Prefix(); prefix != "" && prefix[0] != '/' {
			faults.Fieldf("deniedPatterns", "%s covers no path: it is compared with the whole path, "+
				"which begins with /; write .*%[1]s.* for a part, or use denied", &x)
		}
	}
	if len(p.checks()) == 0 {
		faults.Add(errNoCheck("types, denied, deniedPatterns or unsafeCharacters"))
	}
	return faults.Err()
}

func (p *pathRules) checks() []check[Ingress] {
	if p == nil {
		return nil
	}
	var checks []check[Ingress]
	if p.Types != nil {
		checks = append(checks, pathsTypes{p.Types, passing(p.Types)})
	}
	if p.Denied != nil {
		checks = append(checks, pathsDenied(p.Denied))
	}
	if p.DeniedPatterns != nil {
		checks = append(checks, pathsDeniedPatterns(p.DeniedPatterns))
	}
	if p.UnsafeCharacters {
		checks = append(checks, pathsUnsafeCharacters{})
	}
	return checks
}

// ingressPaths returns every path of an Ingress, prepared once for all rules.
func (r *report) ingressPaths(ing *Ingress) []pathPlace {
	if r.paths != nil {
		return r.paths
	}
	hosts, n := r.ingressHosts(ing), 0
	for i := range ing.Rules {
		n += len(ing.Rules[i].Paths)
	}
	r.paths = make([]pathPlace, 0, n)
	for i := range ing.Rules {
		paths := ing.Rules[i].Paths
		for j := range paths {
			if !r.spend(stepsOf(1, paths[j].Path)) {
				return nil
			}
			r.paths = append(r.paths, pathPlace{IngressPath: &paths[j], host: hosts[i].HostPattern, rule: i, path: j})
		}
	}
	return r.paths
}

// pathPlace is a path of an Ingress and where it stands.
type pathPlace struct {
	*IngressPath
	host match.HostPattern
	rule int
	path int

	folded string // see lower
}

// lower returns the path in lower case, made once for all rules.
func (p *pathPlace) lower() string {
	if p.folded == "" {
		p.folded = match.LowerASCII(p.Path)
	}
	return p.folded
}

// field names a field of the path, path or pathType.
func (p *pathPlace) field(name string) string {
	return "spec.rules[" + strconv.Itoa(p.rule) + "].http.paths[" + strconv.Itoa(p.path) + "]." + name
}

// identity is that of a finding about a path.
func (p *pathPlace) identity(check string) identity {
	id := hostIdentity(check, p.host)
	id.detail = p.Path
	return id
}

// identityOfType is that of a finding about the type of a path. What offends is the type together with the path, so that
// an old path of a denied type makes no room for another one.
func (p *pathPlace) identityOfType(check string) identity {
	id := p.identity(check)
	id.use = p.Type
	return id
}
