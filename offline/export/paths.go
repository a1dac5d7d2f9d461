package export

import (
	"regexp"
	"strconv"
	"strings"
)

// ingressPaths returns an expression for the paths of an Ingress, each with its field, its type and its host. The host
// is a part of the identity of a path. A pathType that is not set is null.
func ingressPaths() string {
	return cel(`object.spec.?rules.orValue([]).transformList(i,rule,rule.?http.?paths.orValue([]).transformList(j,path,
		['spec.rules['+string(i)+'].http.paths['+string(j)+'].path'].map(field,{'field':field,'typeField':field+'Type',
			'path':string(path.?path.orValue('')),'type':path.?pathType.orValue(null)==null?'':string(path.pathType),
			'host':variables.hosts[i].pattern})[0])).flatten()`)
}

// pathID is an expression for the identity of a path. The identity of an exact path begins with ~: see knownUnserved.
const pathID = "(path.type=='Exact'?'~':'')+path.host+' '+path.path+' '+" +
	"(path.type in ['Exact','Prefix','PathPrefix']?'':path.type)"

// pathChecks returns the checks of paths, in the order of policy/ingress_paths.go, except for unsafeCharacters.
// allRegex is a condition that all paths are regular expressions.
func pathChecks(allRegex string) []check {
	return []check{
		of("paths.types", notAllowed, func(types any) string {
			return cel("variables.paths.filter(path,!(path.type in $types)).map(path,$fault)", "$types", set(texts(types)),
				"$fault", fault("path.typeField", "path.host+' '+path.path+' '+path.type", "path.type"))
		}),
		pathCheck("paths.denied", "contains a denied part, or may be a pattern that does", func(parts any) string {
			return hasDeniedPart(texts(parts), allRegex)
		}),
		pathCheck("paths.deniedPatterns", "matches a denied pattern, or is too long for patterns",
			func(patterns any) string {
				return tooLong("path.path") + "||" + matchesWhole("path.path", texts(patterns)...)
			}),
	}
}

// pathCheck returns a check of a field. condition returns a condition that a path has a fault.
func pathCheck(field, hint string, condition func(value any) string) check {
	c := of(field, hint, func(value any) string {
		return cel("variables.paths.filter(path,$condition).map(path,$fault)", "$condition", condition(value),
			"$fault", fault("path.field", pathID, "path.path"))
	})
	c.known = knownUnserved
	return c
}

// hasDeniedPart returns a condition that a path contains one of some parts, or that it may be a regular expression and
// cannot be distinguished from a path that does.
func hasDeniedPart(parts []string, allRegex string) string {
	contains, dotted := make([]string, len(parts)), make([]string, len(parts))
	for i, part := range parts {
		contains[i] = "lower.contains(" + str(part) + ")"
		dotted[i] = withDots(part)
	}
	return cel(`[path.path.lowerAscii()].exists(lower,$contains||
		($allRegex||!(path.type in ['Exact','Prefix','PathPrefix']))&&(lower.matches($special)||
			lower.contains('.')&&lower.matches($dotted)))`, "$contains", strings.Join(contains, "||"), "$allRegex", allRegex,
		"$special", str(`[\[\](){}*+?|^$\\]`), "$dotted", str(strings.Join(dotted, "|")))
}

// withDots returns a regular expression that matches texts with a part, in which each dot of the text can represent
// any byte.
func withDots(part string) string {
	var b strings.Builder
	for _, c := range part {
		b.WriteString("(?:" + regexp.QuoteMeta(string(c)) + `|\.{` + strconv.Itoa(len(string(c))) + "})")
	}
	return b.String()
}
