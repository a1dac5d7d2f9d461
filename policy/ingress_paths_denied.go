package policy

import (
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// pathsDenied is paths.denied: it finds each path that contains one of the parts. Upper and lower case make no
// difference: some controllers compare so (ingress-nginx does for regular expressions), and a list that /Admin
// walks around denies little.
//
// A path may also be a pattern, of which it cannot be told what it matches: /[a]dmin. So where a controller may take it
// for one, it is found if it holds one of the characters of patterns: where its type is neither Exact nor Prefix, and on
// an Ingress with an annotation use-regex or rewrite-target, by which ingress-nginx takes all of its paths for regular
// expressions. A dot there stands for any character, and is compared as such.
type pathsDenied []pathPart

func (c pathsDenied) find(ing *Ingress, r *report) {
	paths := r.ingressPaths(ing)
	patterns := r.hasPatterns(ing)
	for i := range paths {
		p := &paths[i]
		if !r.spend(stepsOf(len(c), p.Path)) {
			return
		}
		if part, denied := c.within(p.lower()); denied {
			if f := r.found(p.identity("paths.denied")); f != nil {
				f.Path, f.Reason = p.field("path"), text.Quote(p.Path)+" contains "+text.Quote(string(part))+", which is denied"
			}
			continue
		}
		if patterns || p.Type != "Exact" && p.Type != "Prefix" {
			c.findPattern(p, r)
		}
	}
}

// within returns the first of the parts that stands in a path in lower case.
func (c pathsDenied) within(path string) (pathPart, bool) {
	for _, part := range c {
		if strings.Contains(path, string(part)) {
			return part, true
		}
	}
	return "", false
}

// findPattern finds a path that may match what is denied as a pattern.
func (c pathsDenied) findPattern(p *pathPlace, r *report) {
	const special = `[](){}*+?|^$\`
	if i := strings.IndexAny(p.Path, special); i >= 0 {
		if f := r.found(p.identity("paths.denied")); f != nil {
			f.Path, f.Reason = p.field("path"), text.Quote(p.Path)+" may be taken for a pattern, because of "+
				text.QuoteRune(rune(p.Path[i]))+", so what it matches cannot be told from "+text.Quote(string(c[0]))+
				", which is denied; write pathType Exact or Prefix, without use-regex and rewrite-target"
		}
		return
	}
	if !strings.Contains(p.Path, ".") {
		return
	}
	for _, part := range c {
		if !r.spend(1 + len(p.Path)*len(part)/stepBytes) {
			return
		}
		if !containsWithDots(p.lower(), string(part)) {
			continue
		}
		if f := r.found(p.identity("paths.denied")); f != nil {
			f.Path, f.Reason = p.field("path"), text.Quote(p.Path)+" as a pattern, in which a dot is any character, contains "+
				text.Quote(string(part))+", which is denied"
		}
		return
	}
}

// hasPatterns reports whether ingress-nginx takes all paths of an Ingress for regular expressions. The prefix of its
// annotations can be chosen, so any counts.
func (r *report) hasPatterns(ing *Ingress) bool {
	if r.patterns == nil && r.spend(len(ing.Annotations)) {
		r.patterns = new(false)
		for key := range ing.Annotations {
			if strings.HasSuffix(key, "/use-regex") || strings.HasSuffix(key, "/rewrite-target") {
				*r.patterns = true
			}
		}
	}
	return r.patterns != nil && *r.patterns
}

// containsWithDots reports whether part stands in a path in which each dot stands for any character.
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
