package mirrors

import (
	"regexp"
	"regexp/syntax"
	"slices"
	"strings"
)

// proposal is a source of a policy for a row: the images of the source are pulled from the mirror, except for the
// excluded images.
type proposal struct {
	source, mirror string
	excluded       []string
}

// refusal is the reason why a row cannot be imported, and a way out.
type refusal struct{ why, instead string }

// propose returns the sources for a row. There are none if the row pulls images from their registry. Import compares the
// results of the policy with the results of the row.
func (r *Row) propose() ([]proposal, *refusal) {
	switch {
	case len(r.Matches) > 0:
		return r.proposeRule()
	case len(r.Mirrors) == 0 && !r.Fallback:
		return nil, &refusal{"the mirrors block does not block images",
			"add a pods entry with images: {denied: [" + r.Prefix + "]}"}
	case r.short || len(r.Mirrors) == 0 || r.Mirrors[0].Place == r.Prefix:
		return nil, nil
	case strings.HasPrefix(r.Prefix, "*"):
		return nil, &refusal{"the mirror replaces all registries that " + r.Prefix + " covers, and a wildcard in a policy " +
			"keeps them apart", "list the registries, each in a row"}
	case len(r.Rewrites) > 0:
		return r.proposeRewrites()
	}
	return []proposal{{source: place(r.Prefix), mirror: place(r.Mirrors[0].Place)}}, nil
}

// place returns an image without its tag and its digest.
func place(image string) string {
	i := strings.LastIndexByte(image, '/')
	if end := strings.IndexAny(image[i+1:], ":@"); i >= 0 && end >= 0 {
		return image[:i+1+end]
	}
	return image
}

// proposeRewrites returns the sources for rewrites of the forms ^p/(.*) → q/$1 and (.*) → q/$1.
func (r *Row) proposeRewrites() (all []proposal, no *refusal) {
	form := regexp.MustCompile(`^\^?((?:[a-z0-9_-]|\\?\.)*(?:/(?:[a-z0-9_-]|\\?\.)+)*)/?\(\.[*+]\)\$?$`)
	whole := false
	for _, w := range r.Rewrites {
		pattern := w.Pattern.String()
		parts := form.FindStringSubmatch(pattern)
		above, ok := strings.CutSuffix(w.Replacement, "$1")
		if parts == nil || !ok || strings.Contains(above, "$") || parts[1] != "" && pattern[0] != '^' ||
			above != "" && above[len(above)-1] != '/' {
			return nil, &refusal{"the rewrite " + pattern + " is not of the form ^p/(.*) with q/$1",
				"write such a rewrite for each path"}
		}
		from := strings.ReplaceAll(parts[1], `\.`, ".")
		whole = whole || from == ""
		all = append(all, proposal{source: join(r.Prefix, from), mirror: join(r.Mirrors[0].Place, above)})
	}
	if !whole {
		all = append(all, proposal{source: r.Prefix, mirror: r.Mirrors[0].Place})
	}
	return all, nil
}

// join returns the place at a path.
func join(at, path string) string { return strings.TrimSuffix(at+"/"+strings.Trim(path, "/"), "/") }

// proposeRule returns the sources for the regular expressions of a rule.
func (r *Row) proposeRule() (all []proposal, no *refusal) {
	var excluded []string
	for _, p := range r.Excludes {
		texts, ok := prefixes(p)
		if !ok {
			return nil, &refusal{"the images that " + p.String() + " excludes cannot be listed",
				"exclude registries, paths or images that begin with a fixed text"}
		}
		for _, t := range texts {
			excluded = append(excluded, strings.TrimRight(t, "/:@"))
		}
	}
	for _, p := range r.Matches {
		texts, ok := prefixes(p)
		if !ok {
			return nil, &refusal{"the images that " + p.String() + " matches cannot be listed",
				"match registries or paths that begin with a fixed text, such as ^docker.io/"}
		}
		for _, t := range texts {
			source := place(strings.TrimRight(t, "/:@"))
			mirror := r.Mirrors[0].Place + source[len(registryOf(source)):]
			own := slices.DeleteFunc(slices.Clone(excluded), func(s string) bool { return !isBelow(place(s), source) })
			all = append(all, proposal{source, mirror, own})
		}
	}
	return all, nil
}

// maxPrefixes is the maximum number of prefixes of a regular expression. The patterns that people write have at most ten
// alternatives.
const maxPrefixes = 64

// prefixes returns the texts with which the images begin that a regular expression matches. It returns false if they
// cannot be listed. An image of docker.io has at least two segments, so prefixes leaves out texts with one.
func prefixes(re *regexp.Regexp) ([]string, bool) {
	parsed, err := syntax.Parse(re.String(), syntax.Perl)
	if err != nil {
		return nil, false
	}
	x := expansion{texts: []string{""}}
	x.add(parsed)
	texts := slices.DeleteFunc(x.texts, func(s string) bool {
		path, hub := strings.CutPrefix(strings.TrimRight(place(s), "/"), dockerHub+"/")
		return hub && !strings.Contains(path, "/")
	})
	return texts, len(texts) > 0 && !x.failed && !slices.Contains(texts, "")
}

// expansion contains the texts that the beginning of a regular expression matches.
type expansion struct {
	texts  []string
	open   bool // any text may follow
	failed bool
}

// add appends the texts of an expression.
func (x *expansion) add(re *syntax.Regexp) {
	if x.open || x.failed {
		return
	}
	switch re.Op {
	case syntax.OpBeginText, syntax.OpEndText, syntax.OpBeginLine, syntax.OpEndLine, syntax.OpEmptyMatch:
	case syntax.OpLiteral:
		x.each(func(s string) []string { return []string{s + string(re.Rune)} })
	case syntax.OpAnyCharNotNL, syntax.OpAnyChar: // a dot that should have been \.
		x.each(func(s string) []string { return []string{s + "."} })
	case syntax.OpCharClass:
		x.class(re)
	case syntax.OpCapture, syntax.OpConcat:
		for _, sub := range re.Sub {
			x.add(sub)
		}
	case syntax.OpAlternate:
		x.alternatives(re.Sub...)
	case syntax.OpQuest:
		x.alternatives(re.Sub[0], &syntax.Regexp{Op: syntax.OpEmptyMatch})
	case syntax.OpStar, syntax.OpPlus:
		x.open = true
	default:
		x.failed = true
	}
}

// class appends each character of a class, such as [:@].
func (x *expansion) class(re *syntax.Regexp) {
	x.each(func(s string) (all []string) {
		for i := 0; i < len(re.Rune); i += 2 {
			for c := re.Rune[i]; c <= re.Rune[i+1] && len(all) <= maxPrefixes; c++ {
				all = append(all, s+string(c))
			}
		}
		return all
	})
}

// alternatives appends the texts of each alternative.
func (x *expansion) alternatives(subs ...*syntax.Regexp) {
	var all []string
	for _, sub := range subs {
		one := expansion{texts: slices.Clone(x.texts)}
		one.add(sub)
		all = append(all, one.texts...)
		x.failed = x.failed || one.failed || one.open
	}
	x.texts = all
}

// each replaces each text.
func (x *expansion) each(replace func(string) []string) {
	var all []string
	for _, s := range x.texts {
		all = append(all, replace(s)...)
	}
	x.texts, x.failed = all, x.failed || len(all) > maxPrefixes
}
