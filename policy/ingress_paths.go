package policy

import (
	"errors"
	"fmt"
	"iter"
	"strconv"

	"github.com/evergate/evergate/policy/internal/strict"
)

// pathRules is the field paths of an ingresses entry. A finding about a path is identified by its host and path: a
// path that was tolerated on one host is new on another.
type pathRules struct {
	// Types lists the path types that may be used: [Exact, Prefix]. What ImplementationSpecific means is up to the
	// controller; ingress-nginx takes regular expressions there, and the advice about CVE-2026-24512 is to deny it
	// until the controller is mended.
	Types []pathType `yaml:"types"`
	// Denied lists what a path must not contain, upper or lower case: ["/admin"].
	Denied []pathPart `yaml:"denied"`
	// DeniedPatterns lists regular expressions that must not cover a whole path: ["/v[0-9]+/internal(/.*)?"].
	DeniedPatterns []regex `yaml:"deniedPatterns"`
	// UnsafeCharacters: deny means that a path must hold none of the characters by which it can break out of its
	// place in a controller's configuration (CVE-2026-24512 and its like): quotes, backslash, braces, semicolon,
	// number sign, white space and control characters.
	UnsafeCharacters denial `yaml:"unsafeCharacters"`
}

// pathType is the type of a path, as networking.k8s.io/v1 has it.
type pathType string

// UnmarshalText accepts the types that there are.
func (t *pathType) UnmarshalText(text []byte) error {
	switch s := string(text); s {
	case "Exact", "Prefix", "ImplementationSpecific":
		*t = pathType(s)
		return nil
	}
	return fmt.Errorf("%q is not a path type: write Exact, Prefix or ImplementationSpecific", text)
}

// pathPart is a part of a path, without regard to upper and lower case.
type pathPart string

// UnmarshalText refuses the empty part, which every path contains.
func (p *pathPart) UnmarshalText(text []byte) error {
	if len(text) == 0 {
		return errors.New("an empty part stands in every path: to deny all paths write types: []")
	}
	*p = pathPart(lowerASCII(string(text)))
	return nil
}

// Validate implements strict.Validator.
func (p *pathRules) Validate() error {
	errs := []error{refuseEmpty("denied", p.Denied), refuseEmpty("deniedPatterns", p.DeniedPatterns)}
	for _, x := range p.DeniedPatterns {
		// Whoever writes _by_lua means .*_by_lua.*, and nothing would tell that no path is denied by it.
		if x.prefix != "" && x.prefix[0] != '/' {
			errs = append(errs, strict.Fieldf("deniedPatterns", "%s covers no path: it is compared with the whole path, "+
				"which begins with /; write .*%[1]s.* for a part, or use denied", x.source))
		}
	}
	if len(p.checks()) == 0 {
		errs = append(errs, errNoCheck("types, denied, deniedPatterns or unsafeCharacters"))
	}
	return errors.Join(errs...)
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

// paths yields every path of the Ingress, and where it stands.
func (ing *Ingress) paths() iter.Seq2[pathPlace, *IngressPath] {
	return func(yield func(pathPlace, *IngressPath) bool) {
		for i := range ing.Rules {
			rule := &ing.Rules[i]
			for j := range rule.Paths {
				if !yield(pathPlace{rule, i, j}, &rule.Paths[j]) {
					return
				}
			}
		}
	}
}

// pathPlace is where in an Ingress a path stands.
type pathPlace struct {
	of   *IngressRule
	rule int
	path int
}

// finding is about one field of the path, path or pathType.
func (p pathPlace) finding(check, field, reason string) Finding {
	path := &p.of.Paths[p.path]
	return Finding{
		Check:  check,
		Path:   "spec.rules[" + strconv.Itoa(p.rule) + "].http.paths[" + strconv.Itoa(p.path) + "]." + field,
		Value:  parseHost(p.of.Host).String() + path.Path,
		Reason: reason,
	}
}
