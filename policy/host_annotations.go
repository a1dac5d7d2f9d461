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

// hostAnnotationLine is a line of hostAnnotations, or of the block of that name of a policy.
type hostAnnotationLine struct {
	key   match.Glob // in lower case
	kinds []string
	word  string // that names the grammar
}

// hostAnnotationLines returns the lines of hostAnnotations, parsed on first use.
var hostAnnotationLines = sync.OnceValue(func() []hostAnnotationLine {
	var lines []hostAnnotationLine
	for line := range strings.Lines(hostAnnotations) {
		key, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		kinds, word, ok := strings.Cut(rest, " ")
		if ok && key != "#" {
			lines = append(lines, hostAnnotationLine{match.Glob(key), slices.Collect(strings.SplitSeq(kinds, ",")), word})
		}
	}
	return lines
})

// allHostAnnotations returns the annotations by which objects claim hosts, by kind: those of the table, those under
// further prefixes, and then those of a policy's own rows. more has, by the prefix of a line, the prefixes that its key
// may have too.
func allHostAnnotations(more map[string][]annotationPrefix, rows hostAnnotationRows) map[string][]HostAnnotation {
	all := map[string][]HostAnnotation{}
	add := func(line hostAnnotationLine) {
		for _, kind := range line.kinds {
			all[kind] = append(all[kind], HostAnnotation{string(line.key), line.word})
		}
	}
	for _, line := range hostAnnotationLines() {
		add(line)
		prefix, name, _ := strings.Cut(string(line.key), "/")
		for _, other := range more[prefix] {
			line.key = match.Glob(match.LowerASCII(string(other)) + "/" + name)
			add(line)
		}
	}
	for i := range rows {
		rows[i].addTo(all)
	}
	return all
}

// hostAnnotationTables returns the tables by kind.
func hostAnnotationTables(more map[string][]annotationPrefix, rows hostAnnotationRows) map[string]*hostAnnotationTable {
	tables := map[string]*hostAnnotationTable{}
	for kind, list := range allHostAnnotations(more, rows) {
		t := &hostAnnotationTable{exact: map[string]hostGrammar{}}
		for _, a := range list {
			t.add(match.Glob(a.Key), hostGrammars[a.Grammar])
		}
		tables[kind] = t
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

// annotationHost returns the annotation of a key.
func annotationHost(key string) func() claimField {
	return func() claimField {
		return claimField{path: "metadata.annotations[%s]", key: key, class: annotationField}
	}
}

// infrastructureHost returns the annotation of a key that a Gateway has for the Service that is made for it.
func infrastructureHost(key string) func() claimField {
	return func() claimField {
		return claimField{path: "spec.infrastructure.annotations[%s]", key: key, class: annotationField}
	}
}

// annotationClaims appends the claims that the annotations of an object make. claims are the claims of its other
// places.
func (v *view) annotationClaims(kind string, m *Meta, claims []hostClaim, r *report) []hostClaim {
	return claimsOf(m.Annotations, annotationHost, claims, r, v.known.hostTable(kind))
}

// annotationClaims appends the claims that the annotations of a Gateway make. The Service that is made for a Gateway
// has the annotations of spec.infrastructure. If that field is absent, Istio
// (pilot/pkg/config/kube/gateway/deploymentcontroller.go) puts the Gateway's own annotations on the Service. They are
// therefore read as annotations of a Service too.
func (g *gatewayView) annotationClaims(claims []hostClaim, r *report) []hostClaim {
	service := g.known.hostTable("Service")
	claims = claimsOf(g.Annotations, annotationHost, claims, r, g.known.hostTable("Gateway"), service)
	return claimsOf(g.InfrastructureAnnotations, infrastructureHost, claims, r, service)
}

// claimsOf appends the claims that annotations make by some tables. of returns the field of an annotation, and claims
// are the claims of the object's other places.
func claimsOf(
	all map[string]string, of func(key string) func() claimField, claims []hostClaim, r *report,
	tables ...*hostAnnotationTable,
) []hostClaim {
	rules := claims
	for _, table := range tables {
		for key := range all {
			if !r.spend(stepsOf(1+len(table.globs), key)) {
				return claims
			}
		}
		found := table.find(all)
		for i := range found {
			a := &found[i]
			// A list takes 6 ns a byte, conditions about 45.
			if r.spend(len(a.value)) {
				claims = appendClaims(claims, rules, table.grammar(a.key), a.value, claimPlace{in: of(a.key)})
			}
			if len(claims) > len(rules)+maxAnnotationHosts {
				return claims
			}
		}
	}
	return claims
}

// appendClaims appends the claims of a value in a place. claims begins with rules, the claims of the object's other
// places. The claim after maxAnnotationHosts claims of values is every host.
func appendClaims(claims, rules []hostClaim, grammar hostGrammar, value string, at claimPlace) []hostClaim {
	for name, p := range grammar(value, rules) {
		full := len(claims) == len(rules)+maxAnnotationHosts
		if full {
			name, p = fmt.Sprintf("more than %d names", maxAnnotationHosts), match.EveryHost()
		}
		claims = append(claims, recordClaim(name, p, at))
		if full {
			break
		}
	}
	return claims
}
