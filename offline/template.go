package offline

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
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
		if path, ok := imageOrHost(dec.StackPointer()); ok {
			action, _, _ = strings.Cut(action, "}}")
			return o.failed(fmt.Errorf("%s contains the template action %s: render it first, for example with helm template",
				path, text.Quote("{{"+action+"}}")))
		}
	}
}

// imageOrHost returns the path of a field. It reports whether the field contains an image or a host.
func imageOrHost(pointer jsontext.Pointer) (path string, ok bool) {
	name := ""
	for token := range pointer.Tokens() {
		if _, err := strconv.Atoi(token); err == nil || path == "metadata.annotations" {
			path += "[" + text.Name(token) + "]"
			continue
		}
		name, path = token, strings.TrimPrefix(path+"."+text.Name(token), ".")
	}
	if key, ok := strings.CutPrefix(path, "metadata.annotations["); ok {
		return path, slices.ContainsFunc([]string{"host", "name", "domain", "dns", "alias", "fqdn"}, func(word string) bool {
			return strings.Contains(key, word)
		})
	}
	return path, !strings.HasPrefix(path, "metadata.") && slices.Contains([]string{
		"image", "reference", "host", "hosts", "hostname", "hostnames", "subdomain", "externalName", "dnsName", "dnsNames",
		"commonName", "literalSubject", "uris", "targets",
	}, name)
}
