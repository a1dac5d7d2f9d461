package policy

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/evergate/evergate/policy/internal/match"
)

// hostAnnotations has a line for each annotation that claims host names. A line contains the key, the kinds that can
// have the annotation and the grammar of its value. Lines that begin with # are comments, which cite the sources.
//
//go:embed data/host-annotations.txt
var hostAnnotations string

// hostAnnotationTable holds the annotations of one kind.
type hostAnnotationTable struct {
	exact map[string]hostGrammar
	globs []hostAnnotationGlob // keys with a *
}

type hostAnnotationGlob struct {
	key     match.Glob
	grammar hostGrammar
}

// hostAnnotationLine is a line of hostAnnotations.
type hostAnnotationLine struct {
	key   match.Glob // in lower case
	kinds []string
	word  string // the name of the grammar
}

// hostAnnotationLines returns the lines of hostAnnotations, parsed on first use.
var hostAnnotationLines = sync.OnceValue(func() []hostAnnotationLine { //nolint:gochecknoglobals // of an embedded file
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

// allHostAnnotations returns the annotations that claim hosts, by kind. The annotations in the table come first, each
// followed by its copies under other prefixes. The rows of the policy come last. more maps the prefix of a key to the
// other prefixes that the key may have.
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

// hostAnnotationTables returns a table for each kind. Its parameters have the same meaning as those for
// allHostAnnotations.
func hostAnnotationTables(more map[string][]annotationPrefix, rows hostAnnotationRows) map[string]*hostAnnotationTable {
	tables, grammars := map[string]*hostAnnotationTable{}, hostGrammars()
	for kind, list := range allHostAnnotations(more, rows) {
		t := &hostAnnotationTable{exact: map[string]hostGrammar{}}
		for _, a := range list {
			t.add(match.Glob(a.Key), grammars[a.Grammar])
		}
		tables[kind] = t
	}
	return tables
}

// add adds the grammar of a key. A key can have two grammars, because two controllers may read the same key under one
// prefix.
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

// grammar returns the grammar of an annotation. It returns nil if the annotation does not claim hosts.
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

// find returns the annotations that claim hosts, sorted by key.
func (t *hostAnnotationTable) find(all map[string]string) (found []annotation) {
	for key, value := range all {
		if t.grammar(key) != nil {
			found = append(found, annotation{key, value})
		}
	}
	slices.SortFunc(found, func(a, b annotation) int { return strings.Compare(a.key, b.key) })
	return found
}

// maxAnnotationHosts is how many hosts one object may claim in annotations. It is more than controllers use for the DNS
// records or the certificate of one object. For example, Let's Encrypt accepts 100 names in a certificate. If an object
// has more hosts, the remaining hosts count as one claim of every host.
const maxAnnotationHosts = 1000

// annotationHost returns the field of the annotation with the given key.
func annotationHost(key string) func() claimField {
	return func() claimField {
		return claimField{path: "metadata.annotations[%s]", key: key, class: annotationField}
	}
}

// infrastructureHost returns the field of an annotation in spec.infrastructure of a Gateway. The Service that is
// created for the Gateway gets this annotation.
func infrastructureHost(key string) func() claimField {
	return func() claimField {
		return claimField{path: "spec.infrastructure.annotations[%s]", key: key, class: annotationField}
	}
}

// annotationClaims appends the claims in an object's annotations. claims are the claims in its other fields.
func (v *view) annotationClaims(kind string, m *Meta, claims []hostClaim, r *report) []hostClaim {
	return claimsOf(m.Annotations, annotationHost, claims, r, v.known.hostTable(kind))
}

// annotationClaims appends the claims in a Gateway's annotations. The Service that is created for the Gateway gets the
// annotations in spec.infrastructure. If that field is absent, Istio
// (pilot/pkg/config/kube/gateway/deploymentcontroller.go) puts the Gateway's own annotations on the Service. Evergate
// therefore also evaluates the Gateway's annotations as Service annotations.
func (g *gatewayView) annotationClaims(claims []hostClaim, r *report) []hostClaim {
	service := g.known.hostTable("Service")
	claims = claimsOf(g.Annotations, annotationHost, claims, r, g.known.hostTable("Gateway"), service)
	return claimsOf(g.InfrastructureAnnotations, infrastructureHost, claims, r, service)
}

// claimsOf appends the claims in annotations, according to the given tables. of returns the field of an annotation.
// claims are the claims in the object's other fields.
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
			// A list takes 6 ns per byte, and conditions take about 45 ns per byte.
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

// appendClaims appends the claims in the value of an annotation. claims begins with rules, the claims in the object's
// other fields. After maxAnnotationHosts claims in values, appendClaims adds one claim of every host and stops.
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
