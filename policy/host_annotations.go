package policy

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/evergate/evergate/policy/internal/match"
)

// hostAnnotations has a line for each annotation by which an object claims host names: its key, the kinds that carry
// it, the grammar of its value. Lines with # are comments, and name the sources.
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
	word    string // that names the grammar
	grammar hostGrammar
}

// keys returns the key of the line, and those under the further prefixes that its prefix has.
func (l *hostAnnotationLine) keys(more map[string][]annotationPrefix) []match.Glob {
	prefix, name, _ := strings.Cut(l.key, "/")
	keys := []match.Glob{match.Glob(l.key)}
	for _, other := range more[prefix] {
		keys = append(keys, match.Glob(match.LowerASCII(string(other))+"/"+name))
	}
	return keys
}

// hostAnnotationLines returns the lines of hostAnnotations, parsed on first use.
var hostAnnotationLines = sync.OnceValue(func() []hostAnnotationLine {
	var lines []hostAnnotationLine
	for line := range strings.Lines(hostAnnotations) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kinds, word, ok := strings.Cut(rest, " ")
		if ok && key != "#" {
			of := slices.Collect(strings.SplitSeq(kinds, ","))
			lines = append(lines, hostAnnotationLine{key, of, word, hostGrammars[word]})
		}
	}
	return lines
})

// hostAnnotationTables returns the tables by kind. more has, by the prefix of a line, the prefixes that its key may
// have too.
func hostAnnotationTables(more map[string][]annotationPrefix) map[string]*hostAnnotationTable {
	tables := map[string]*hostAnnotationTable{}
	for _, line := range hostAnnotationLines() {
		keys := line.keys(more)
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
