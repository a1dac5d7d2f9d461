package claim

import (
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/strict"
)

// AnnotationRows is the hostAnnotations block of a policy. It lists annotations that are missing in the table of known
// annotations. A row can only add claims. A known annotation keeps its grammar in addition to the grammar of the row.
type AnnotationRows []hostAnnotationRow

// hostAnnotationRow is a row of the block, for example {key: dns.corp.example/name, kinds: [Service], grammar: dns}.
type hostAnnotationRow struct {
	// Key is the key of the annotation. A * matches any run of characters. Case does not matter. For a DNSEndpoint, the
	// key is the name of a property in spec.endpoints[].providerSpecific.
	Key hostAnnotationKey `yaml:"key,required"`
	// Kinds lists the kinds of objects on which the annotation claims hosts. Gateway includes ListenerSets. The Service
	// that is created for a Gateway gets the annotations in spec.infrastructure, so rows for Services apply to these
	// annotations too.
	Kinds []claimantKind `yaml:"kinds,required"`
	// Grammar is the format of the value. dns is a comma-separated list of names, in which *.example.com covers names at
	// any depth. certificate is a comma-separated list of names, in which *.example.com covers one label. url is one URL,
	// or a host and a port. any means that every value may claim every host.
	Grammar hostGrammarWord `yaml:"grammar,required"`
}

// hostAnnotationKey is a pattern for the keys of annotations, in lower case.
type hostAnnotationKey match.Glob

// longestAnnotationKey is the maximum number of bytes in the key of an annotation: a prefix of 253, a slash and a name
// of 63 (https://kubernetes.io/docs/concepts/overview/working-with-objects/annotations/).
const longestAnnotationKey = 317

// UnmarshalText rejects a pattern that consists only of stars, because most annotations do not contain hosts. It also
// rejects a pattern that is longer than every key, because messages contain the pattern.
func (k *hostAnnotationKey) UnmarshalText(b []byte) error {
	var g match.Glob
	if err := g.UnmarshalText(b); err != nil {
		return err
	}
	if len(b) > longestAnnotationKey {
		return fmt.Errorf("%s has %d bytes: the key of an annotation has at most %d", text.Quote(b), len(b),
			longestAnnotationKey)
	}
	if strings.Trim(string(g), "*") == "" {
		return fmt.Errorf("%s matches every annotation: write the keys that contain hosts", text.Quote(b))
	}
	*k = hostAnnotationKey(match.LowerASCII(string(g)))
	return nil
}

// claimantKind is a kind of object whose annotations may claim hosts.
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

// UnmarshalText accepts the grammars that are not specific to one controller.
func (w *hostGrammarWord) UnmarshalText(b []byte) error {
	switch s := string(b); s {
	case "dns", "certificate", "url", "any":
		*w = hostGrammarWord(s)
		return nil
	}
	return fmt.Errorf("%s is not a grammar: write dns, certificate, url or any", text.Quote(b))
}

// maxHostAnnotationRows is the maximum number of rows. It is limited because each annotation is compared with the
// patterns of all rows.
const maxHostAnnotationRows = 100

// CheckLength returns an error if there are too many rows.
func (rows AnnotationRows) CheckLength() error {
	if len(rows) > maxHostAnnotationRows {
		return strict.Fieldf("hostAnnotations", "has %d rows; at most %d are read", len(rows), maxHostAnnotationRows)
	}
	return nil
}

// Validate implements strict.Validator.
func (row *hostAnnotationRow) Validate() error {
	if len(row.Kinds) == 0 {
		return strict.Fieldf("kinds", "[] does not list any kind: leave the row out")
	}
	return nil
}

// addTo adds the row to the annotations of its kinds.
func (row *hostAnnotationRow) addTo(all map[string][]HostAnnotation) {
	own := HostAnnotation{string(row.Key), string(row.Grammar)}
	for _, k := range row.Kinds {
		if kind := string(k); !slices.Contains(all[kind], own) {
			all[kind] = append(all[kind], own)
		}
	}
}
