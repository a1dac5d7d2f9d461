package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// hostAnnotationRows is the block hostAnnotations of a policy: annotations of controllers that the table of known
// annotations does not have. A row can only add claims. A known annotation keeps its own grammar beside the row's.
type hostAnnotationRows []hostAnnotationRow

// hostAnnotationRow is a row of the block: {key: dns.corp.example/name, kinds: [Service], grammar: dns}.
type hostAnnotationRow struct {
	// Key is the key of the annotation, * for any run of characters. Upper and lower case make no difference. Of a
	// DNSEndpoint it is the name of a property in spec.endpoints[].providerSpecific.
	Key hostAnnotationKey `yaml:"key,required"`
	// Kinds lists the kinds of objects on which the annotation names hosts. Gateway means ListenerSets too. The Service
	// that is made for a Gateway has the annotations of spec.infrastructure, so that rows for Services judge those.
	Kinds []claimantKind `yaml:"kinds,required"`
	// Grammar says how the value names hosts. dns is a list of names with commas between them, in which *.example.com is
	// names at any depth; certificate is such a list in which it is one label; url is one URL, or a host and a port; any
	// means that the value may stand for every host, whatever it is.
	Grammar hostGrammarWord `yaml:"grammar,required"`
}

// hostAnnotationKey is a pattern for the keys of annotations, in lower case.
type hostAnnotationKey match.Glob

// UnmarshalText rejects a pattern of stars alone, because most annotations do not contain hosts.
func (k *hostAnnotationKey) UnmarshalText(b []byte) error {
	var g match.Glob
	if err := g.UnmarshalText(b); err != nil {
		return err
	}
	if strings.Trim(string(g), "*") == "" {
		return fmt.Errorf("%s is every annotation: write the keys that name hosts", text.Quote(b))
	}
	*k = hostAnnotationKey(match.LowerASCII(string(g)))
	return nil
}

// claimantKind is a kind of objects whose annotations may name hosts.
type claimantKind string

// UnmarshalText accepts the kinds whose annotations are read.
func (k *claimantKind) UnmarshalText(b []byte) error {
	switch s := string(b); s {
	case "Ingress", "Service", "HTTPRoute", "GRPCRoute", "TLSRoute", "TCPRoute", "UDPRoute", "Route", "Gateway",
		"DNSEndpoint":
		*k = claimantKind(s)
		return nil
	}
	return fmt.Errorf("%s is not a kind whose annotations are read: write Ingress, Service, HTTPRoute, GRPCRoute, "+
		"TLSRoute, TCPRoute, UDPRoute, Route, Gateway or DNSEndpoint", text.Quote(b))
}

// hostGrammarWord is a grammar that a row may have.
type hostGrammarWord string

// UnmarshalText accepts the grammars that are not those of a single controller.
func (w *hostGrammarWord) UnmarshalText(b []byte) error {
	switch s := string(b); s {
	case "dns", "certificate", "url", "any":
		*w = hostGrammarWord(s)
		return nil
	}
	return fmt.Errorf("%s is not a grammar: write dns, certificate, url or any", text.Quote(b))
}

// maxHostAnnotationRows is how many rows there may be, since each annotation is compared with all of their patterns.
const maxHostAnnotationRows = 100

// validate returns an error for too many rows.
func (rows hostAnnotationRows) validate() error {
	if len(rows) > maxHostAnnotationRows {
		return strict.Fieldf("hostAnnotations", "has %d rows; at most %d are read", len(rows), maxHostAnnotationRows)
	}
	return nil
}

// Validate implements strict.Validator.
func (row *hostAnnotationRow) Validate() error {
	if len(row.Kinds) == 0 {
		return strict.Fieldf("kinds", "[] is no kind: leave the row out")
	}
	return nil
}

// addTo adds the row to the annotations of its kinds. If a known pattern covers the key, the key also gets the grammar
// of that pattern, which the look-up of the key would not find otherwise.
func (row *hostAnnotationRow) addTo(all map[string][]HostAnnotation) {
	key := match.Glob(row.Key)
	for _, k := range row.Kinds {
		kind := string(k)
		known := slices.Clone(all[kind])
		listed := slices.ContainsFunc(known, func(a HostAnnotation) bool { return a.Key == string(key) })
		for _, a := range known {
			if g := match.Glob(a.Key); !listed && !key.IsWild() && g.IsWild() && g.Match(string(key)) {
				all[kind] = append(all[kind], HostAnnotation{string(key), a.Grammar})
				break
			}
		}
		if own := (HostAnnotation{string(key), string(row.Grammar)}); !slices.Contains(all[kind], own) {
			all[kind] = append(all[kind], own)
		}
	}
}
