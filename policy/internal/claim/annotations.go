package claim

import (
	"crypto/sha256"
	_ "embed"
	"fmt"
	"iter"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/evergate/evergate/policy/internal/host"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// hostAnnotations has a line for each annotation that claims host names. A line contains the key, the kinds that can
// have the annotation and the grammar of its value. Lines that begin with # are comments, which cite the sources.
//
//go:embed data/host-annotations.txt
var hostAnnotations string

// HostAnnotation is an annotation by which objects of a kind claim hosts.
type HostAnnotation struct {
	Key     string // in lower case, * for any run of characters; compared without case
	Grammar string // how its value contains hosts, as a word of data/host-annotations.txt
}

// hostAnnotationTable holds the annotations of one kind.
type hostAnnotationTable struct {
	exact   map[string]wordedGrammar
	globs   []hostAnnotationGlob // keys with a *
	derived bool                 // a grammar derives hosts from the hosts in fields; see host.Value
}

// wordedGrammar is one or several grammars of the same key, and their words.
type wordedGrammar struct {
	words   []string
	grammar host.Grammar // nil without words
}

// add adds another grammar, unless g contains it.
func (g *wordedGrammar) add(word string, grammar host.Grammar) {
	switch {
	case slices.Contains(g.words, word):
		return
	case g.grammar != nil:
		grammar = g.grammar.And(grammar)
	}
	g.words, g.grammar = append(slices.Clip(g.words), word), grammar
}

type hostAnnotationGlob struct {
	key     match.Glob
	word    string
	grammar host.Grammar
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

// DescribeAnnotations returns the annotations that claim hosts, by kind. The annotations in the table come first, each
// followed by its copies under other prefixes. The rows of the policy come last. prefixes is nil if the policy does not
// have that block.
func DescribeAnnotations(prefixes *AnnotationPrefixes, rows AnnotationRows) map[string][]HostAnnotation {
	all, more := map[string][]HostAnnotation{}, prefixes.more()
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
// DescribeAnnotations.
func hostAnnotationTables(prefixes *AnnotationPrefixes, rows AnnotationRows) map[string]*hostAnnotationTable {
	tables, grammars := map[string]*hostAnnotationTable{}, host.Grammars()
	for kind, list := range DescribeAnnotations(prefixes, rows) {
		t := &hostAnnotationTable{exact: map[string]wordedGrammar{}}
		for _, a := range list {
			t.add(a, grammars[a.Grammar])
		}
		tables[kind] = t
	}
	return tables
}

// add adds the grammar of a key. A key can have several grammars, because two controllers may read the same key under
// one prefix, and a row of the policy may add a grammar to a known key.
func (t *hostAnnotationTable) add(a HostAnnotation, grammar host.Grammar) {
	t.derived = t.derived || a.Grammar == "www" || a.Grammar == "target"
	if key := match.Glob(a.Key); key.IsWild() {
		t.globs = append(t.globs, hostAnnotationGlob{key, a.Grammar, grammar})
		return
	}
	g := t.exact[a.Key]
	g.add(a.Grammar, grammar)
	t.exact[a.Key] = g
}

// grammar returns the grammar of an annotation, which consists of the grammars of all keys that match. It returns nil
// if the annotation does not claim hosts.
func (t *hostAnnotationTable) grammar(key string) host.Grammar {
	key = match.LowerASCII(key)
	g := t.exact[key]
	for i := range t.globs {
		if glob := &t.globs[i]; glob.key.Match(key) {
			g.add(glob.word, glob.grammar)
		}
	}
	return g.grammar
}

// claiming yields the keys of the annotations that claim hosts, with their grammars. It takes one table after the
// other, and sorts by key.
func claiming(all map[string]string, tables []*hostAnnotationTable) iter.Seq2[string, host.Grammar] {
	return func(yield func(string, host.Grammar) bool) {
		for _, table := range tables {
			var keys []string // most objects do not have any
			for key := range all {
				if table.grammar(key) != nil {
					keys = append(keys, key)
				}
			}
			slices.Sort(keys)
			for _, key := range keys {
				if !yield(key, table.grammar(key)) {
					return
				}
			}
		}
	}
}

// maxAnnotationHosts is how many hosts one object may claim in annotations. It is more than controllers use for the DNS
// records or the certificate of one object. For example, Let's Encrypt accepts 100 names in a certificate. If an object
// has more hosts, the remaining hosts count as one claim of every host. See tooManyHosts.
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

// claimsOf appends the claims in annotations, according to the given tables. of returns the field of an annotation.
// claims are the claims in the object's other fields.
func claimsOf(
	all map[string]string, of func(key string) func() claimField, claims []Claim, r *rule.Recorder,
	tables ...*hostAnnotationTable,
) []Claim {
	rules := claims
	for _, table := range tables {
		for key := range all {
			if !r.Spend(rule.StepsOf(1+len(table.globs), key)) {
				return claims
			}
		}
	}
	for key, grammar := range claiming(all, tables) {
		var full bool
		if claims, full = appendClaims(claims, rules, grammar, all[key], claimPlace{in: of(key)}, r); full {
			tables := slices.Clone(tables) // so that the original does not escape to the heap in every review
			return append(claims, tooManyHosts(of(key), func(yield func(key, value string) bool) {
				if slices.ContainsFunc(tables, func(t *hostAnnotationTable) bool { return t.derived }) {
					for h, served := range hostsOf(rules) {
						if !yield(strconv.FormatBool(served), h.String()) {
							return
						}
					}
				}
				for key := range claiming(all, tables) {
					if !yield(key, all[key]) {
						return
					}
				}
			}, r))
		}
	}
	return claims
}

// tooManyHosts returns the claim of the hosts after the first maxAnnotationHosts. Its identity contains a digest of all
// values, because the hosts are not compared one by one. An update that changes one of the values therefore introduces
// the claim. If annotations derive hosts from the hosts in fields, these hosts are values too.
func tooManyHosts(in func() claimField, values iter.Seq2[string, string], r *rule.Recorder) Claim {
	digest := sha256.New()
	for key, value := range values {
		if !r.Spend(1 + (len(key)+len(value))/4) {
			break
		}
		fmt.Fprintf(digest, "%d %s %d %s ", len(key), key, len(value), value)
	}
	field := in()
	field.digest = string(digest.Sum(nil))
	name := fmt.Sprintf("more than %d names", maxAnnotationHosts)
	return claimOfText(name, match.EveryHost(), claimPlace{in: func() claimField { return field }})
}

// claims appends the claims in an object's annotations. claims are the claims in its other fields. The result is nil
// only if claims is nil and there are no claims in annotations.
func (k *Annotations) claims(kind string, m *object.Meta, claims []Claim, r *rule.Recorder) []Claim {
	return claimsOf(m.Annotations, annotationHost, claims, r, k.hostTable(kind))
}

// OfService returns the claims in a Service's annotations. The result is never nil.
func OfService(svc *object.Service, known *Annotations, r *rule.Recorder) []Claim {
	return known.claims("Service", &svc.Meta, []Claim{}, r)
}

// hostsOf yields the hosts of claims in an object's fields. served is true for the hosts of rules.
func hostsOf(claims []Claim) iter.Seq2[match.HostPattern, bool] {
	return func(yield func(p match.HostPattern, served bool) bool) {
		for i := range claims {
			if !yield(claims[i].HostPattern, claims[i].at.in().class == mainField) {
				return
			}
		}
	}
}

// appendClaims appends the claims in the value of an annotation. claims begins with rules, the claims in the object's
// other fields. full is true if there are more than maxAnnotationHosts claims in values.
func appendClaims(
	claims, rules []Claim, grammar host.Grammar, value string, at claimPlace, r *rule.Recorder,
) (_ []Claim, full bool) {
	if !r.Spend(len(value) / rule.StepBytes) { // to search it; the grammar counts the rest
		return claims, false
	}
	for name, p := range grammar(host.Value{Text: value, Hosts: hostsOf(rules), Spend: r.Spend}) {
		if len(claims) == len(rules)+maxAnnotationHosts {
			return claims, true
		}
		claims = append(claims, recordClaim(name, p, at))
	}
	return claims, false
}
