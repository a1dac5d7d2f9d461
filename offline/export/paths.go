package export

import (
	"regexp"
	"slices"
	"strings"
	"unicode"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// pathFields returns the fields of the paths block that are exported for Ingresses.
func pathFields() known {
	fields := routePathFields()
	fields["unsafeCharacters"] = nil
	return fields
}

// routePathFields returns the fields of the paths block that are exported for routes.
func routePathFields() known { return known{"types": nil, "denied": nil, "deniedPatterns": nil} }

// pathsOf returns an expression for the paths of an Ingress, each with its field, its type and its host. The host is
// a part of the identity of a path.
func pathsOf(s side) string {
	return string(s) + ".spec.?rules.orValue([]).transformList(i,r,r.?http.?paths.orValue([]).transformList(j,p,{" +
		"'field':'spec.rules['+string(i)+'].http.paths['+string(j)+'].path'," +
		"'typeField':'spec.rules['+string(i)+'].http.paths['+string(j)+'].pathType','path':string(p.?path.orValue(''))," +
		"'type':(p.?pathType.orValue(null)==null?'':string(p.pathType)),'host':variables.hosts" + s.suffix() +
		"[i].p})).flatten()"
}

// pathID is an expression for the identity of the path p. The identity of an exact path begins with ~: see hostKnown.
const pathID = "(p.type=='Exact'?'~':'')+p.host+' '+p.path+' '+(p.type in ['Exact','Prefix','PathPrefix']?'':p.type)"

// pathChecks returns the checks of the paths block, in the order of policy/ingress_paths.go. allRegex returns a
// condition that all paths are regular expressions. literal is a hint how to write a path that is not a regular
// expression.
func pathChecks(paths policy.Fields, allRegex func(side) string, literal string) []check {
	var all []check
	add := func(id, where, path, ident, why, known string) {
		all = append(all, check{id: id, known: known, faults: func(s side) string {
			return "variables.paths" + s.suffix() + where + ".map(p," + fault(path, ident, why) + ")"
		}})
	}
	if types, ok := paths["types"]; ok {
		add("paths.types", ".filter(p,!(p.type in "+set(texts(types))+"))", "p.typeField",
			"p.host+' '+p.path+' '+p.type",
			"(p.type==''?'no type is set':"+quote("p.type")+"+' is not allowed')+"+str(passing(texts(types))), "")
	}
	if parts := texts(paths["denied"]); len(parts) > 0 {
		all = append(all, check{id: "paths.denied", known: hostKnown, faults: func(s side) string {
			return pathsWith("variables.paths"+s.suffix(), deniedPart(parts, allRegex(s), literal))
		}})
	}
	if patterns := texts(paths["deniedPatterns"]); len(patterns) > 0 {
		by := "''"
		for _, pattern := range slices.Backward(patterns) {
			by = matchesWhole("p.path", pattern) + "?" + str(" matches "+pattern+", which is denied") + ":" + by
		}
		by = choose(tooLong("p.path"), str(saysTooLong), by)
		all = append(all, check{id: "paths.deniedPatterns", known: hostKnown, faults: func(s side) string {
			return pathsWith("variables.paths"+s.suffix(), by)
		}})
	}
	if paths["unsafeCharacters"] != nil {
		unsafe := unsafeInPaths()
		class := "[" + unsafe.class + "]"
		add("paths.unsafeCharacters", ".filter(p,p.path.matches("+str(class)+"))", "p.field", pathID,
			quote("p.path")+"+' contains '+"+bind("l", unsafe.quotes()+".map(m,p.path.findAll("+str(class)+").distinct()"+
				".map(c,m[c]))[0]", "size(l)>5?l.slice(0,5).join(', ')+' and '+string(size(l)-5)+' more':l.join(', ')")+
				"+"+str(", which can inject text into the controller's configuration (CVE-2026-24512); remove it"), hostKnown)
	}
	return all
}

// pathsWith returns an expression for the faults of paths. reason is an expression for the part of the sentence after
// the path; it is empty for a path without a fault.
func pathsWith(paths, reason string) string {
	return paths + ".map(p,{'field':p.field,'path':p.path,'type':p.type,'host':p.host,'says':" + reason +
		"}).filter(p,p.says!='').map(p," + fault("p.field", pathID, quote("p.path")+"+p.says") + ")"
}

// deniedPart returns an expression for the fault of the path p if it contains one of some denied parts. allRegex is a
// condition that all paths of the object are regular expressions.
func deniedPart(parts []string, allRegex, literal string) string {
	const special = `[\[\](){}*+?|^$\\]`
	contains, dotted := "''", "''"
	for _, part := range slices.Backward(parts) {
		quoted := text.Quote(part)
		contains = "l.contains(" + str(part) + ")?" + str(" contains "+quoted+", which is denied") + ":" + contains
		dotted = "l.matches(" + str(withDots(part)) + ")?" +
			str(" as a pattern, in which a dot is any character, contains "+quoted+", which is denied") + ":" + dotted
	}
	char := "(x==" + str(`\`) + "?" + str(`'\\'`) + ":\"'\"+x+\"'\")"
	pattern := "' may be read as a pattern, because of '+" + char + "+" +
		str(", so it cannot be distinguished from "+text.Quote(parts[0])+", which is denied; "+literal)
	asRegex := bind("x", "p.path.find("+str(special)+")", choose("x!=''", pattern, choose("l.contains('.')", dotted,
		"''")))
	return bind("l", "p.path.lowerAscii()", bind("c", contains, choose("c!=''", "c",
		choose(allRegex+"||!(p.type in {'Exact':true,'Prefix':true,'PathPrefix':true})", asRegex, "''"))))
}

// withDots returns a regular expression that matches texts with a part, in which each dot of the text can represent
// any byte.
func withDots(part string) string {
	var b strings.Builder
	for _, c := range part {
		b.WriteString("(?:" + regexp.QuoteMeta(string(c)) + `|\.{` + number(len(string(c))) + "})")
	}
	return b.String()
}

// regexPaths returns a condition that nginx treats all paths of an Ingress as regular expressions.
func regexPaths(s side) string {
	return "variables.annotations" + s.suffix() + ".exists(k,k.matches('(?:^|/)(?:use-regex|rewrite-target|path-regex)$'))"
}

// unsafeRunes contains the characters that paths must not contain.
type unsafeRunes struct {
	class string // of a regular expression
	runes []rune
}

// unsafeInPaths returns the characters that isUnsafeInPath in package policy rejects: some punctuation, white space
// and control characters.
func unsafeInPaths() unsafeRunes {
	u := unsafeRunes{class: "`" + `"'\\{};#\pZ\x{0}-\x{1f}\x{7f}-\x{9f}`}
	for c := range unicode.MaxLatin1 + rune(0x3000) {
		if strings.ContainsRune("`"+`"'\{};#`, c) || unicode.IsSpace(c) || unicode.IsControl(c) {
			u.runes = append(u.runes, c)
		}
	}
	return u
}

// quotes returns an expression for a list with one map, from the characters to their form in sentences.
func (u unsafeRunes) quotes() string {
	pairs := make([]string, len(u.runes))
	for i, c := range u.runes {
		pairs[i] = str(string(c)) + ":" + str(text.QuoteRune(c))
	}
	return "[{" + strings.Join(pairs, ",") + "}]"
}
