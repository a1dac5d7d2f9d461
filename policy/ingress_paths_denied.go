package policy

import (
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/rule"
)

// pathsDenied is paths.denied. It finds each path that contains one of the parts. Case does not matter, because some
// controllers ignore case (ingress-nginx does in regular expressions), and /Admin must not pass a list that denies
// /admin.
//
// A path may also be a regular expression, such as /[a]dmin, and match a part that it does not contain. If a controller
// may treat a path as a regular expression, pathsDenied finds the path if it contains a character that is special in
// regular expressions. In such a path, a dot is compared as any character. A controller may treat a path as a regular
// expression if its type is not Exact, Prefix or PathPrefix. ingress-nginx also does so for all paths of an Ingress
// with an annotation use-regex or rewrite-target, and the NGINX Ingress Controller of F5 does so with path-regex.
type pathsDenied[T any] struct {
	pathSource[T]
	parts []pathPart
}

func (c pathsDenied[T]) Find(obj *T, r *rule.Recorder) {
	paths := c.paths(obj, r)
	allRegex := c.allRegex != nil && c.allRegex(obj, r)
	for i := range paths {
		p := &paths[i]
		if !r.Spend(rule.StepsOf(len(c.parts), p.Path)) {
			return
		}
		if part, denied := c.partOf(p.lower()); denied {
			if f := r.TryAdd(p.identity("paths.denied")); f != nil {
				f.Path = p.field()
				f.Reason = text.Quote(p.Path) + " contains " + text.Quote(string(part)) + ", which is denied"
			}
			continue
		}
		if allRegex || !p.isLiteral() {
			c.findRegex(p, r)
		}
	}
}

func (c pathsDenied[T]) partOf(path string) (pathPart, bool) {
	for _, part := range c.parts {
		if strings.Contains(path, string(part)) {
			return part, true
		}
	}
	return "", false
}

// findRegex finds a path that may match a denied part if it is treated as a regular expression.
func (c pathsDenied[T]) findRegex(p *pathPlace, r *rule.Recorder) {
	const special = `[](){}*+?|^$\`
	if i := strings.IndexAny(p.Path, special); i >= 0 {
		if f := r.TryAdd(p.identity("paths.denied")); f != nil {
			f.Path, f.Reason = p.field(), text.Quote(p.Path)+" may be read as a pattern, because of "+
				text.QuoteRune(rune(p.Path[i]))+", so it cannot be distinguished from "+text.Quote(string(c.parts[0]))+
				", which is denied; "+c.literal
		}
		return
	}
	if !strings.Contains(p.Path, ".") {
		return
	}
	for _, part := range c.parts {
		if !r.Spend(1 + len(p.Path)*len(part)/rule.StepBytes) {
			return
		}
		if !containsWithDots(p.lower(), string(part)) {
			continue
		}
		if f := r.TryAdd(p.identity("paths.denied")); f != nil {
			f.Path = p.field()
			f.Reason = text.Quote(p.Path) + " as a pattern, in which a dot is any character, contains " +
				text.Quote(string(part)) + ", which is denied"
		}
		return
	}
}

// pathSyntax is how nginx interprets the paths of an Ingress.
type pathSyntax uint8

const (
	unknownPaths pathSyntax = iota
	literalPaths
	regexPaths
)

// pathSyntax returns how the controllers that use nginx interpret all paths of an Ingress. It depends only on the keys
// of the annotations. The prefix of the annotations of ingress-nginx is an option, so any prefix counts.
func (ing *ingressView) pathSyntax(r *rule.Recorder) pathSyntax {
	if ing.syntax == unknownPaths && r.Spend(len(ing.Annotations)) {
		ing.syntax = literalPaths
		for key := range ing.Annotations {
			switch key[strings.LastIndexByte(key, '/')+1:] {
			case "use-regex", "rewrite-target", "path-regex":
				ing.syntax = regexPaths
			}
		}
	}
	return ing.syntax
}

// containsWithDots reports whether a path contains part, where each dot of the path matches any character.
func containsWithDots(path, part string) bool {
	for start := 0; start+len(part) <= len(path); start++ {
		matched := 0
		for matched < len(part) && (path[start+matched] == part[matched] || path[start+matched] == '.') {
			matched++
		}
		if matched == len(part) {
			return true
		}
	}
	return false
}
