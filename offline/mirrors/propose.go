package mirrors

import (
	"regexp"
	"slices"
	"strings"
)

// proposal is a source of a policy for a row: the images of the source are pulled from the mirror, except for the
// excluded images.
type proposal struct {
	source, mirror string
	excluded       []string
}

// obstacle is the reason why a row cannot be imported, and a way out.
type obstacle struct{ why, instead string }

// propose returns the sources for a row. The list is empty if the row pulls images from their registry. Import
// compares the results of the policy with the results of the row.
func (r *Row) propose() ([]proposal, *obstacle) {
	switch {
	case len(r.Matches) > 0:
		return r.proposeRule()
	case len(r.Mirrors) == 0 && !r.Fallback:
		return nil, &obstacle{"the mirrors block does not block images",
			"add a pods entry with images: {denied: [" + r.Prefix + "]}"}
	case r.short || len(r.Mirrors) == 0 || r.Mirrors[0].Place == r.Prefix:
		return nil, nil
	case strings.HasPrefix(r.Prefix, "*"):
		return nil, &obstacle{"the mirror replaces all registries that " + r.Prefix + " covers, and a wildcard in a policy " +
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
func (r *Row) proposeRewrites() (all []proposal, no *obstacle) {
	form := regexp.MustCompile(`^\^?((?:[a-z0-9_-]|\\?\.)*(?:/(?:[a-z0-9_-]|\\?\.)+)*)/?\(\.[*+]\)\$?$`)
	whole := false
	for _, w := range r.Rewrites {
		pattern := w.Pattern.String()
		parts := form.FindStringSubmatch(pattern)
		above, ok := strings.CutSuffix(w.Replacement, "$1")
		if parts == nil || !ok || strings.Contains(above, "$") || parts[1] != "" && pattern[0] != '^' ||
			above != "" && above[len(above)-1] != '/' {
			return nil, &obstacle{"the rewrite " + pattern + " is not of the form ^p/(.*) with q/$1",
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
func (r *Row) proposeRule() (all []proposal, no *obstacle) {
	var excluded []string
	for _, p := range r.Excludes {
		texts, ok := prefixes(p)
		if !ok {
			return nil, &obstacle{"the images that " + p.String() + " excludes cannot be listed",
				"exclude registries, paths or images that begin with a fixed text"}
		}
		for _, t := range texts {
			excluded = append(excluded, strings.TrimRight(t, "/:@"))
		}
	}
	for _, p := range r.Matches {
		texts, ok := prefixes(p)
		if !ok {
			return nil, &obstacle{"the images that " + p.String() + " matches cannot be listed",
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

// maxPrefixes is the maximum number of prefixes of a regular expression. The patterns that people write have at most
// ten alternatives.
const maxPrefixes = 64

// prefixes returns the texts with which the images begin that a regular expression matches. It returns false if the
// expression is not a fixed text with alternatives, such as ^docker.io/(library/)?ubuntu[:@].*$. An image of docker.io
// has at least two segments, so prefixes leaves out texts with one.
func prefixes(re *regexp.Regexp) (texts []string, ok bool) {
	group := regexp.MustCompile(`\((?:\?:)?((?:[\w/:@|-]|\\?\.)*)\)(\??)|\[([/:@]+)\]`)
	form := regexp.MustCompile(`^\^?((?:[\w/:@-]|\\?\.)+?)(?:\(?\.[*+]\)?)?\$?$`)
	left := []string{re.String()}
	for len(left) > 0 && len(left)+len(texts) <= maxPrefixes {
		pattern := left[0]
		left = left[1:]
		if at := group.FindStringSubmatch(pattern); at != nil {
			options := strings.Split(at[1], "|")
			if at[3] != "" {
				options = strings.Split(at[3], "")
			}
			if at[2] != "" {
				options = append(options, "")
			}
			for _, option := range options {
				left = append(left, strings.Replace(pattern, at[0], option, 1))
			}
			continue
		}
		parts := form.FindStringSubmatch(pattern)
		if parts == nil {
			return nil, false
		}
		text := strings.ReplaceAll(parts[1], `\.`, ".")
		path, hub := strings.CutPrefix(strings.TrimRight(place(text), "/"), dockerHub+"/")
		if !hub || strings.Contains(path, "/") {
			texts = append(texts, text)
		}
	}
	return texts, len(left) == 0 && len(texts) > 0
}
