package policy

import (
	"errors"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/claim"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// pathRules is the paths field of an ingresses entry. A finding about a path is identified by its host, path and type.
// A pre-existing finding on one host therefore does not exempt another host.
type pathRules struct {
	// Types lists the path types that may be used, for example [Exact, Prefix]. The meaning of ImplementationSpecific
	// depends on the controller. ingress-nginx treats such paths as regular expressions, and the advisory for
	// CVE-2026-24512 recommends denying this type until the controller is fixed.
	Types []pathType `yaml:"types"`
	deniedPathRules
	// UnsafeCharacters: deny means that a path must not contain characters that can inject configuration into a
	// controller (CVE-2026-24512 and similar). These are quotes, backquotes, backslashes, braces, semicolons, number
	// signs, white space and control characters.
	UnsafeCharacters rule.Denial `yaml:"unsafeCharacters"`
}

// deniedPathRules contains the fields of the paths block that are the same for Ingresses and routes.
type deniedPathRules struct {
	// Denied lists texts that a path must not contain, for example ["/admin"]. Case does not matter.
	Denied []pathPart `yaml:"denied"`
	// DeniedPatterns lists regular expressions that must not match a whole path, for example ["/v[0-9]+/internal(/.*)?"].
	// A path of more than 1,024 characters does not pass.
	DeniedPatterns []match.Regex `yaml:"deniedPatterns"`
}

// pathType is the type of a path, as networking.k8s.io/v1 has it.
type pathType string

// UnmarshalText accepts the three types of the API.
func (t *pathType) UnmarshalText(b []byte) error {
	return rule.ReadWord(t, b, "a path type", "Exact", "Prefix", "ImplementationSpecific")
}

// pathPart is a part of a path, in lower case.
type pathPart string

// UnmarshalText rejects the empty part, because every path contains it, and characters that do not print.
func (p *pathPart) UnmarshalText(b []byte) error {
	if len(b) == 0 {
		return errors.New("every path contains an empty part: to deny all paths write types: []")
	}
	*p = pathPart(match.LowerASCII(string(b)))
	return match.RejectUnprintable(b, "part of a path")
}

func (p *pathRules) Validate() error {
	return rejectDeniedPaths(&p.deniedPathRules, p.checks())
}

// rejectDeniedPaths returns an error for lists of denied paths that cannot deny any path, and for a block without
// checks.
func rejectDeniedPaths[T any](d *deniedPathRules, checks []rule.Check[T]) error {
	var faults strict.Faults
	faults.Add(rule.RejectEmpty("denied", d.Denied))
	faults.Add(rule.RejectEmpty("deniedPatterns", d.DeniedPatterns))
	for i := range d.DeniedPatterns {
		// A user who writes _by_lua means .*_by_lua.*. Without this error, the entry would load and never deny a path.
		if prefix := d.DeniedPatterns[i].Prefix(); prefix != "" && prefix[0] != '/' {
			faults.Fieldf("deniedPatterns", "%s does not match any path: it is compared with the whole path, "+
				"which begins with /; write .*%[1]s.* for a part, or use denied", &d.DeniedPatterns[i])
		}
	}
	faults.Add(rule.RejectNone(checks, "types, denied, deniedPatterns or unsafeCharacters"))
	return faults.Err()
}

func (p *pathRules) checks() []rule.Check[ingressView] {
	return pathChecks(ingressPathSource(), p.Types, &p.deniedPathRules, p.UnsafeCharacters)
}

// pathChecks compiles rules for the paths of one kind of object.
func pathChecks[T any, S ~string](
	source pathSource[T], types []S, denied *deniedPathRules, unsafe rule.Denial,
) []rule.Check[T] {
	return rule.Checks(
		rule.When(types != nil, pathsTypes[T]{source, text.Plain(types), rule.Passing(types)}),
		rule.When(denied.Denied != nil, pathsDenied[T]{source, denied.Denied}),
		rule.When(denied.DeniedPatterns != nil, pathsDeniedPatterns[T]{source, denied.DeniedPatterns}),
		rule.When(unsafe, pathsUnsafeCharacters[T]{source}),
	)
}

// pathSource provides the paths of one kind of object to the checks.
type pathSource[T any] struct {
	paths func(obj *T, r *rule.Recorder) []pathPlace
	// allRegex reports whether a controller may read all paths of an object as regular expressions. It is nil if no
	// controller does.
	allRegex func(obj *T, r *rule.Recorder) bool
	// literal is the end of a sentence. It describes how to write a path that cannot be a regular expression.
	literal string
}

func ingressPathSource() pathSource[ingressView] {
	return pathSource[ingressView]{
		paths:    (*ingressView).allPaths,
		allRegex: func(ing *ingressView, r *rule.Recorder) bool { return ing.pathSyntax(r) == regexPaths },
		literal:  "write pathType Exact or Prefix, without use-regex, path-regex and rewrite-target",
	}
}

// allPaths returns all paths of an Ingress.
func (ing *ingressView) allPaths(r *rule.Recorder) []pathPlace {
	if ing.paths != nil {
		return ing.paths
	}
	hosts, n := ing.ruleHosts(r), 0
	for i := range ing.Rules {
		n += len(ing.Rules[i].Paths)
	}
	ing.paths = make([]pathPlace, 0, n)
	for i := range ing.Rules {
		paths := ing.Rules[i].Paths
		for j := range paths {
			p := &paths[j]
			if !r.Spend(rule.StepsOf(1, p.Path)) {
				return nil
			}
			ing.paths = append(ing.paths, pathPlace{Path: p.Path, Type: p.Type, host: hosts[i].HostPattern, rule: i, match: j})
		}
	}
	return ing.paths
}

// pathPlace is a path of an object and its position.
type pathPlace struct {
	Path, Type string
	host       match.HostPattern // of the Ingress rule
	kind       pathKind
	rule       int // index in spec.rules
	match      int // index in the rule's paths or matches; -1 without matches, which means every path

	folded string // see lower
}

// pathKind is the field that contains a path.
type pathKind uint8

const (
	ingressPath   pathKind = iota // spec.rules[rule].http.paths[match]
	routePath                     // spec.rules[rule].matches[match].path
	routeMethod                   // spec.rules[rule].matches[match].method
	openShiftPath                 // spec.path
)

// lower returns the path in lower case, computed on first use.
func (p *pathPlace) lower() string {
	if p.folded == "" {
		p.folded = match.LowerASCII(p.Path)
	}
	return p.folded
}

// isLiteral reports whether the type of the path excludes regular expressions.
func (p *pathPlace) isLiteral() bool {
	return p.Type == "Exact" || p.Type == "Prefix" || p.Type == "PathPrefix"
}

// field returns the field that contains the path.
func (p *pathPlace) field() string {
	switch p.kind {
	case routePath:
		return p.routeField("path.value")
	case routeMethod:
		return p.routeField("method")
	case openShiftPath:
		return "spec.path"
	default:
		return "spec.rules[" + strconv.Itoa(p.rule) + "].http.paths[" + strconv.Itoa(p.match) + "].path"
	}
}

// typeField returns the field that contains the type of the path.
func (p *pathPlace) typeField() string {
	switch p.kind {
	case routePath:
		return p.routeField("path.type")
	case routeMethod:
		return p.routeField("method.type")
	default:
		return p.field() + "Type"
	}
}

func (p *pathPlace) routeField(name string) string {
	switch rule := "spec.rules[" + strconv.Itoa(p.rule) + "].matches"; {
	case p.rule < 0:
		return "spec.rules"
	case p.match < 0:
		return rule
	default:
		return rule + "[" + strconv.Itoa(p.match) + "]." + name
	}
}

// identity returns the identity of a finding about the path. An exact path is idle, because a prefix matches more
// requests. An update may change a prefix into an exact path, but not the reverse.
func (p *pathPlace) identity(check string) rule.Identity {
	id := claim.Identity(check, p.host)
	id.Detail, id.Idle = p.Path, p.Type == "Exact"
	if !p.isLiteral() {
		id.Use = p.Type
	}
	return id
}

// identityOfType returns the identity of a finding about the type of the path. The identity contains the path too, so a
// pre-existing path of a denied type does not exempt other paths.
func (p *pathPlace) identityOfType(check string) rule.Identity {
	id := claim.Identity(check, p.host)
	id.Detail, id.Use = p.Path, p.Type
	return id
}

// pathsTypes is paths.types. It finds each path whose type is not in the list.
type pathsTypes[T any] struct {
	pathSource[T]
	allowed []string
	passing string // the end of its sentences
}

func (c pathsTypes[T]) Find(obj *T, r *rule.Recorder) {
	paths := c.paths(obj, r)
	for i := range paths {
		p := &paths[i]
		if !r.Spend(1) {
			return
		}
		if slices.Contains(c.allowed, p.Type) {
			continue
		}
		if f := r.TryAdd(p.identityOfType("paths.types")); f != nil {
			f.Path, f.Reason = p.typeField(), "no type is set"+c.passing
			if p.Type != "" {
				f.Reason = text.Quote(p.Type) + " is not allowed" + c.passing
			}
		}
	}
}

// pathsDeniedPatterns is paths.deniedPatterns. It finds each path that one of the regular expressions matches
// completely, from the first character to the last.
type pathsDeniedPatterns[T any] struct {
	pathSource[T]
	patterns []match.Regex
}

func (c pathsDeniedPatterns[T]) Find(obj *T, r *rule.Recorder) {
	paths := c.paths(obj, r)
	for i := range paths {
		p := &paths[i]
		for j := range c.patterns {
			x := &c.patterns[j]
			if !r.Spend(x.Steps(p.Path)) {
				return
			}
			if x.Passes(p.Path, true) {
				continue
			}
			if f := r.TryAdd(p.identity("paths.deniedPatterns")); f != nil {
				f.Path, f.Reason = p.field(), x.Reason(p.Path, true)
			}
			break
		}
	}
}

// pathsUnsafeCharacters is paths.unsafeCharacters. It finds each path that contains a character that can end the
// directive in a controller's configuration, so the path could inject other directives (CVE-2026-24512, kubernetes
// issue 136678, and earlier CVE-2021-25745, CVE-2021-25748 and CVE-2022-4886). ingress-nginx writes a path into
// nginx.conf (buildLocation in its internal/ingress/controller/template) as
//
//	location /path {          with = in front for Exact
//	location ~* "^/path" {    on a host for which any Ingress enables regular expressions
//
// In the first form, white space, { or ; ends the path, and ; and } let the text continue with other directives. A #
// hides the rest of the line, and quotes begin a string. In the second form, a quote ends the path, and a backslash at
// the end escapes the closing quote. Paths do not need control characters. Traefik writes a path between backquotes
// into the expression of a rule, as in PathPrefix(`/path`).
//
// The dollar sign is allowed. It does not end a path, and the rewrite example in the ingress-nginx documentation needs
// it: /something(/|$)(.*). Regular expressions can avoid the unsafe characters, for example with [.] instead of \. and
// [0-9][0-9] instead of [0-9]{2}. The ingress-nginx option strict-validate-path-type is stricter for Exact and Prefix
// (it allows only letters, digits and -_./), but it does not check ImplementationSpecific. Use paths.types for this
// type.
type pathsUnsafeCharacters[T any] struct{ pathSource[T] }

func (c pathsUnsafeCharacters[T]) Find(obj *T, r *rule.Recorder) {
	paths := c.paths(obj, r)
	for i := range paths {
		p := &paths[i]
		if !r.Spend(stepsOfRunes(p.Path)) {
			return
		}
		if f := tryAddUnsafe(p.identity("paths.unsafeCharacters"), p.Path, isUnsafeInPath, r); f != nil {
			f.Path = p.field()
		}
	}
}

func isUnsafeInPath(c rune) bool {
	switch c {
	case '"', '\'', '`', '\\', '{', '}', ';', '#':
		return true
	}
	return unicode.IsSpace(c) || unicode.IsControl(c)
}

// tryAddUnsafe adds a finding if s contains an unsafe character. It returns the finding, whose path the caller
// sets. Without a finding, or if the finding is not needed, it returns nil. The sentence lists the characters in 1024
// bytes, each once.
func tryAddUnsafe(id rule.Identity, s string, isUnsafe func(rune) bool, r *rule.Recorder) *rule.Finding {
	first := strings.IndexFunc(s, isUnsafe)
	if first < 0 {
		return nil
	}
	f := r.TryAdd(id)
	if f == nil {
		return nil
	}
	const most = 1024
	seen := map[rune]bool{}
	var names []string
	for _, c := range s[first:min(len(s), first+most)] {
		if isUnsafe(c) && !seen[c] {
			seen[c], names = true, append(names, text.QuoteRune(c))
		}
	}
	f.Reason = text.Quote(s) + " contains " + text.List(names) +
		", which can inject text into the controller's configuration (CVE-2026-24512); remove it"
	return f
}
