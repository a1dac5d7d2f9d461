package export

import (
	"regexp"
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy"
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

// pathChecks takes the fields of the paths block and returns its checks, in the order of policy/ingress_paths.go.
// allRegex is a condition that all paths are regular expressions. It leaves unsafeCharacters, which in routes is also
// about headers and filters.
func pathChecks(block policy.Fields, allRegex string) (all []check) {
	if types, ok := takeTexts(block, "types"); ok {
		all = append(all, check{id: "paths.types", hint: notAllowed, faults: pathFaults("!(path.type in "+set(types)+")",
			fault("path.typeField", "path.host+' '+path.path+' '+path.type", "path.type"))})
	}
	if parts, ok := takeTexts(block, "denied"); ok {
		all = append(all, pathCheck("paths.denied", "contains a denied part, or may be a pattern that does",
			hasDeniedPart(parts, allRegex)))
	}
	if patterns, ok := takeTexts(block, "deniedPatterns"); ok {
		all = append(all, pathCheck("paths.deniedPatterns", "matches a denied pattern, or is too long for patterns",
			tooLong("path.path")+"||"+matchesWhole("path.path", patterns...)))
	}
	return all
}

// unsafePathChecks takes the field unsafeCharacters of an Ingress and returns its check. The characters are those that
// isUnsafeInPath in package policy rejects: some punctuation, white space and control characters.
func unsafePathChecks(block policy.Fields) []check {
	if take(block, "unsafeCharacters") == nil {
		return nil
	}
	return []check{pathCheck("paths.unsafeCharacters", "contains characters that inject text into the controller's "+
		"configuration", "path.path.matches("+str("[`"+`"'\\{};#\pZ\x{0}-\x{1f}\x{7f}-\x{9f}]`)+")")}
}

// pathCheck returns a check of the paths that meet a condition.
func pathCheck(id, hint, condition string) check {
	return check{id: id, hint: hint, known: knownUnserved,
		faults: pathFaults(condition, fault("path.field", pathID, "path.path"))}
}

func pathFaults(condition, fault string) string {
	return cel("variables.paths.filter(path,$condition).map(path,$fault)", "$condition", condition, "$fault", fault)
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
