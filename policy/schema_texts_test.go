package policy

import (
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/schema"
	"github.com/evergate/evergate/policy/internal/match"
)

// textSamples are values of all kinds. A text that accepts one of them, except its own words, is not an enumeration.
var textSamples = []string{
	"a", "app", "app=web-*", "team-*", "*", "a.example.com", "*.a.example.com", "**.example.com", "*.{namespace}.example.com",
	"443", "8000-8999", "10.0.0.0/8", "2001:db8::/32", "203.0.113.7", "/admin", "[a-z]+", "docker.io", "ghcr.io/acme/app:1",
	"*.gcr.io", "mirror.example/{registry}", "example.com/key", "2027-01-31", "2027-01-31T12:00:00Z", "24h", "Text of words.",
	"off", "warn", "deny", "required", "safe", "mirrors", "Exact", "Prefix", "All", "ClusterIP", "HTTPRoute", "Low",
}

// textSchema returns the schema of the texts that a type accepts. It parses the error about an unknown word, which
// lists the known words.
func textSchema(typ reflect.Type) *schema.Schema {
	s := &schema.Schema{Type: "string", Pattern: textPatterns()[typ]}
	var words []string
	if err := newText(typ).UnmarshalText([]byte("\x00")); err != nil {
		if _, list, ok := strings.Cut(err.Error(), "write "); ok {
			for _, word := range regexp.MustCompile(`[A-Za-z]+`).FindAllString(list, -1) {
				if newText(typ).UnmarshalText([]byte(word)) == nil && !slices.Contains(words, word) {
					words = append(words, word)
				}
			}
		}
	}
	accepted := func(sample string) bool {
		return !slices.Contains(words, sample) && newText(typ).UnmarshalText([]byte(sample)) == nil
	}
	switch {
	case len(words) > 0 && !slices.ContainsFunc(textSamples, accepted):
		s.Enum = words
	case s.Pattern == "" && newText(typ).UnmarshalText(nil) != nil:
		s.MinLength = 1
	}
	return s
}

// textPatterns are regular expressions for texts that a schema can describe. They accept everything that the type
// accepts.
func textPatterns() map[reflect.Type]string {
	return map[reflect.Type]string{
		reflect.TypeFor[entryName](): `^[a-z0-9.-]{1,63}$`,
		reflect.TypeFor[setName]():   `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`,
		reflect.TypeFor[moment]():    `^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?$`,
		reflect.TypeFor[portRange](): `^[0-9]+(-[0-9]+)?$`,

		reflect.TypeFor[match.CIDR]():         `^[0-9A-Fa-f:.]+(/[0-9]+)?$`,
		reflect.TypeFor[match.HostPattern]():  `^[^/: ]+$`,
		reflect.TypeFor[match.HostTemplate](): `^[^/: ]+$`,
		reflect.TypeFor[annotationKey]():      `^[^*]+$`,
		reflect.TypeFor[pullSecret]():         `^[a-z0-9.-]+$`,
	}
}
