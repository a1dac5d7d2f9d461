package offline

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/internal/text"
)

// hasAction reports whether a text contains a template action, {{, that is not in quotes or in a comment. Only such an
// action changes the YAML around it. Others are values, for example in alerts of Prometheus.
func hasAction(data []byte) bool {
	for line := range bytes.Lines(data) {
		before, _, found := bytes.Cut(line, []byte("{{"))
		quoted := bytes.Count(before, []byte{'"'})%2 > 0 || bytes.Count(before, []byte{'\''})%2 > 0
		if found && !quoted && !bytes.Contains(before, []byte("# ")) {
			return true
		}
	}
	return false
}

// Unrendered returns an error if a field or an annotation with an image or a host contains a template action. Objects
// from a cluster may contain such text.
func (o Object) Unrendered() error {
	if !bytes.Contains(o.JSON, []byte("{{")) {
		return nil
	}
	if uid, _ := field(o.JSON, "metadata", "uid"); uid != nil {
		return nil
	}
	dec := jsontext.NewDecoder(bytes.NewReader(o.JSON))
	for {
		token, err := dec.ReadToken()
		if err != nil {
			return nil //nolint:nilerr // the end, or a mistake about which other code returns an error
		}
		_, action, found := strings.Cut(token.String(), "{{")
		if inside, n := dec.StackIndex(dec.StackDepth()); !found || inside == '{' && n%2 == 1 { // the name of a field
			continue
		}
		if path := dotted(dec.StackPointer()); hasImageOrHost(dec.StackPointer(), path) {
			action, _, _ = strings.Cut(action, "}}")
			return o.failed(fmt.Errorf("%s contains the template action %s: render it first, for example with helm template",
				text.Name(path), text.Quote("{{"+action+"}}")))
		}
	}
}

// hasImageOrHost reports whether a field contains images or hosts.
func hasImageOrHost(at jsontext.Pointer, path string) bool {
	if at.Parent() == "/metadata/annotations" {
		return slices.ContainsFunc([]string{"host", "name", "domain", "dns", "alias", "fqdn"}, func(word string) bool {
			return strings.Contains(at.LastToken(), word)
		})
	}
	name := strings.TrimRight(path, "[0123456789]") // of a list, if the field is its element
	return !strings.HasPrefix(path, "metadata.") && slices.Contains([]string{
		"image", "reference", "host", "hosts", "hostname", "hostnames", "subdomain", "externalName", "dnsName", "dnsNames",
		"commonName", "literalSubject", "uris", "targets",
	}, name[strings.LastIndexByte(name, '.')+1:])
}
