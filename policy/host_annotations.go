package policy

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/evergate/evergate/policy/internal/match"
)

// hostAnnotations has a line for each annotation by which an object claims host names: its key, the kinds that carry it,
// the grammar of its value. Lines with # are comments, and name the sources.
//
//go:embed data/host-annotations.txt
var hostAnnotations string

// hostAnnotationTable holds the annotations of one kind.
type hostAnnotationTable struct {
	exact map[string]hostGrammar
	globs []hostAnnotationGlob // of keys with a *
}

type hostAnnotationGlob struct {
	key     match.Glob
	grammar hostGrammar
}

// hostAnnotationLine is a line of hostAnnotations.
type hostAnnotationLine struct {
	key     string
	kinds   []string
	grammar hostGrammar
}

// hostAnnotationLines returns the lines of hostAnnotations, parsed on first use.
var hostAnnotationLines = sync.OnceValue(func() []hostAnnotationLine {
	var lines []hostAnnotationLine
	for line := range strings.Lines(hostAnnotations) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kinds, word, ok := strings.Cut(rest, " ")
		if ok && key != "#" {
			lines = append(lines, hostAnnotationLine{key, slices.Collect(strings.SplitSeq(kinds, ",")), hostGrammars[word]})
		}
	}
	return lines
})

// hostAnnotationTables returns the tables by kind. more has, by the prefix of a line, the prefixes that its key may have
// too.
func hostAnnotationTables(more map[string][]annotationPrefix) map[string]*hostAnnotationTable {
	tables := map[string]*hostAnnotationTable{}
	for _, line := range hostAnnotationLines() {
		prefix, name, _ := strings.Cut(line.key, "/")
		keys := []match.Glob{match.Glob(line.key)}
		for _, other := range more[prefix] {
			keys = append(keys, match.Glob(match.LowerASCII(string(other))+"/"+name))
		}
		for _, kind := range line.kinds {
			t := tables[kind]
			if t == nil {
				t = &hostAnnotationTable{exact: map[string]hostGrammar{}}
				tables[kind] = t
			}
			for _, key := range keys {
				t.add(key, line.grammar)
			}
		}
	}
	return tables
}

// add adds the grammar of a key. Under one prefix two controllers may read the same key, each by its own grammar.
func (t *hostAnnotationTable) add(key match.Glob, grammar hostGrammar) {
	if key.IsWild() {
		t.globs = append(t.globs, hostAnnotationGlob{key, grammar})
		return
	}
	if other := t.exact[string(key)]; other != nil {
		grammar = other.and(grammar)
	}
	t.exact[string(key)] = grammar
}

// grammar returns how the value of an annotation names hosts; nil where it names none.
func (t *hostAnnotationTable) grammar(key string) hostGrammar {
	key = match.LowerASCII(key)
	if g := t.exact[key]; g != nil {
		return g
	}
	for _, g := range t.globs {
		if g.key.Match(key) {
			return g.grammar
		}
	}
	return nil
}

// find returns the annotations that name hosts, sorted by key.
func (t *hostAnnotationTable) find(all map[string]string) (found []annotation) {
	for key, value := range all {
		if t.grammar(key) != nil {
			found = append(found, annotation{key, value})
		}
	}
	slices.SortFunc(found, func(a, b annotation) int { return strings.Compare(a.key, b.key) })
	return found
}

// maxAnnotationHosts is how many hosts of annotations an object may name: more than DNS records or certificates take of
// one object (Let's Encrypt: 100 names). What follows is read as every host.
const maxAnnotationHosts = 1000

// annotationClaims appends the claims that stand in the annotations of an object. claims are those of its other places.
func (r *report) annotationClaims(kind string, m *Meta, claims []hostClaim) []hostClaim {
	return r.claimsOf(m.Annotations, annotationHost, claims, r.known.hostTable(kind))
}

// gatewayAnnotationClaims appends the claims that stand in the annotations of a Gateway. Those of
// spec.infrastructure.annotations reach the Service that is made for it. Where that field is absent, Istio
// (pilot/pkg/config/kube/gateway/deploymentcontroller.go) puts the Gateway's own annotations on the Service, so that
// these are read as those of a Service too.
func (r *report) gatewayAnnotationClaims(g *Gateway, claims []hostClaim) []hostClaim {
	service := r.known.hostTable("Service")
	claims = r.claimsOf(g.Annotations, annotationHost, claims, r.known.hostTable("Gateway"), service)
	return r.claimsOf(g.InfrastructureAnnotations, infrastructureHost, claims, service)
}

// claimsOf appends the claims that annotations in one place make by some tables. claims are those of the object's other
// places.
func (r *report) claimsOf(
	all map[string]string, at placeKind, claims []hostClaim, tables ...*hostAnnotationTable,
) []hostClaim {
	rules := claims
	for _, table := range tables {
		if !r.spend(len(all) * (1 + len(table.globs))) {
			return claims
		}
		found := table.find(all)
		for i := range found {
			a := &found[i]
			// A list takes 6 ns a byte, conditions some 45.
			if r.spend(len(a.value)) {
				claims = a.appendClaims(claims, rules, table.grammar(a.key), at)
			}
			if len(claims) > len(rules)+maxAnnotationHosts {
				return claims
			}
		}
	}
	return claims
}

// appendClaims appends the claims of one annotation. rules are those of the object's other places, with which claims
// begins. The claim after maxAnnotationHosts of them is every host.
func (a *annotation) appendClaims(claims, rules []hostClaim, grammar hostGrammar, at placeKind) []hostClaim {
	for name, p := range grammar(a.value, rules) {
		full := len(claims) == len(rules)+maxAnnotationHosts
		if full {
			name, p = fmt.Sprintf("more than %d names", maxAnnotationHosts), match.EveryHost()
		}
		claims = append(claims, claimOfText(name, p, claimPlace{kind: at, annotation: a}))
		if full {
			break
		}
	}
	return claims
}

// hostGrammar yields the hosts that the value of an annotation names, and how each is written there. rules are the claims
// of the object's other places.
type hostGrammar func(value string, rules []hostClaim) iter.Seq2[string, match.HostPattern]

// and returns the grammar of a value that names hosts by either grammar.
func (g hostGrammar) and(other hostGrammar) hostGrammar {
	return func(value string, rules []hostClaim) iter.Seq2[string, match.HostPattern] {
		return func(yield func(string, match.HostPattern) bool) {
			for _, seq := range []iter.Seq2[string, match.HostPattern]{g(value, rules), other(value, rules)} {
				for name, p := range seq {
					if !yield(name, p) {
						return
					}
				}
			}
		}
	}
}

// hostGrammars are the grammars that data/host-annotations.txt names.
var hostGrammars = map[string]hostGrammar{
	"dns":         listed(anyDepth),
	"certificate": listed(oneLabel),
	"commonname":  commonNames,
	"nginx":       nginxAlias,
	"www":         wwwRedirect,
	"uris":        uriHosts,
	"regex":       regexHosts,
	"alb":         albConditions,
	"eskip":       eskipHosts,
}

// listed is the grammar of names with commas between them. read says what one of them stands for.
func listed(read func(name string) match.HostPattern) hostGrammar {
	return func(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
		return func(yield func(string, match.HostPattern) bool) {
			for name := range elements(value) {
				if !yield(name, read(name)) {
					return
				}
			}
		}
	}
}

// elements yields the elements of a list, without the blanks around them and without empty ones.
func elements(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" && !yield(name) {
				return
			}
		}
	}
}

// oneLabel reads a name as a certificate means it: *.example is one label.
func oneLabel(name string) match.HostPattern {
	rest, wild := strings.CutPrefix(name, "*.")
	if !isHostName(rest) {
		return match.EveryHost()
	}
	p := match.ParseHost(rest)
	if wild {
		p.Depth = match.OneLabelBelow
	}
	return p
}

// anyDepth reads a name as DNS means it: *.example is any number of labels (RFC 4592).
func anyDepth(name string) match.HostPattern {
	p := oneLabel(name)
	if p.Depth == match.OneLabelBelow {
		p.Depth = match.LabelsBelow
	}
	return p
}

// isHostName reports whether a text is a name that records, certificates and servers take as it is. They take more than
// host names may have: _, and digits alone. Two dots at the end are no name: external-dns removes both.
func isHostName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > match.MaxHost {
		return false
	}
	before := byte('.')
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' && before == '.', !isHostByte(c):
			return false
		}
		before = c
	}
	return before != '.'
}

func isHostByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_'
}

// nginxAlias is the grammar of server-alias of ingress-nginx: words of server_name. *.example is any number of labels,
// .example is that and example itself; a regular expression and www.example.* are every host.
func nginxAlias(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name := range elements(value) {
			if below, ok := strings.CutPrefix(name, "."); ok && isHostName(below) {
				if !yield(name, anyDepth(below)) || !yield(name, anyDepth("*."+below)) {
					return
				}
				continue
			}
			if !yield(name, anyDepth(name)) {
				return
			}
		}
	}
}

// wwwRedirect is the grammar of from-to-www-redirect: ingress-nginx answers for www.example where a rule has the host
// example, and for example where it has www.example.
func wwwRedirect(value string, rules []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		if on, err := strconv.ParseBool(value); err != nil || !on { // as the controller parses it: 1 and T are true
			return
		}
		for i := range rules {
			h := &rules[i]
			if h.at.kind != ruleHost || h.Depth != match.HostItself {
				continue
			}
			other, www := strings.CutPrefix(h.Name, "www.")
			if !www {
				other = "www." + h.Name
			}
			if len(other) <= match.MaxHost && !yield(other, match.ParseHost(other)) {
				return
			}
		}
	}
}

// uriHosts is the grammar of URIs with commas between them, each of which may have a host.
func uriHosts(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for uri := range elements(value) {
			if p, ok := uriName(uri); ok && !yield(uri, p) {
				return
			}
		}
	}
}

// regexHosts is the grammar of a regular expression: every host.
func regexHosts(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		if strings.TrimSpace(value) != "" {
			yield(value, match.EveryHost())
		}
	}
}

// eskipHosts is the grammar of routes and predicates of Skipper: with a predicate about hosts (Host, HostAny,
// ForwardedHost) they are every host.
func eskipHosts(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		if strings.Contains(unquotedEskip(value), "Host") {
			yield(value, match.EveryHost())
		}
	}
}

// unquotedEskip returns eskip without its texts in double quotes: Header("X-Host", "a") has no predicate about hosts. It is
// the whole value where quotes may mean something else: with a regular expression or a comment (/) or a backquote
// outside of them, or without the last quote.
func unquotedEskip(value string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '/' || c == '`':
			return value
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return value
	}
	return b.String()
}

// commonNames is the grammar of the common name of a certificate, which may be free text: see commonName.
func commonNames(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name := range elements(value) {
			if p, ok := commonName(name); ok && !yield(name, p) {
				return
			}
		}
	}
}

// maxConditions is how many bytes of conditions are parsed; AWS takes five values a rule. Longer ones are every host.
const maxConditions = 16 << 10

// albConditions is the grammar of conditions of the AWS load balancer controller: a JSON list, of which host-header has
// globs, in which * also stands for dots, and regular expressions, which are every host: the dots of one that looks like a
// name stand for any character.
func albConditions(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		var conditions []struct {
			Field            string `json:"field"`
			HostHeaderConfig struct {
				Values      []string `json:"values"`
				RegexValues []string `json:"regexValues"`
			} `json:"hostHeaderConfig"`
		}
		if len(value) > maxConditions || json.Unmarshal([]byte(value), &conditions) != nil {
			yield(value, match.EveryHost())
			return
		}
		for _, c := range conditions {
			if c.Field != "host-header" {
				continue
			}
			for _, glob := range c.HostHeaderConfig.Values {
				if !yield(glob, anyDepth(glob)) {
					return
				}
			}
			for _, regex := range c.HostHeaderConfig.RegexValues {
				if !yield(regex, match.EveryHost()) {
					return
				}
			}
		}
	}
}
