package main

import (
	"encoding"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/schema"
)

// textSamples returns values of all kinds. A type that accepts a sample other than its words is not an enumeration.
func textSamples() []string {
	return []string{
		"a", "app", "app=web-*", "team-*", "*", "a.example.com", "*.a.example.com", "**.example.com",
		"*.{namespace}.example.com", "443", "8000-8999", "10.0.0.0/8", "2001:db8::/32", "203.0.113.7", "/admin", "[a-z]+",
		"docker.io", "ghcr.io/acme/app:1", "*.gcr.io", "mirror.example/{registry}", "example.com/key", "2027-01-31",
		"2027-01-31T12:00:00Z", "24h", "Text of words.", "off", "warn", "deny", "required", "safe", "mirrors", "Exact",
		"Prefix", "All", "ClusterIP", "HTTPRoute", "Low",
	}
}

// word matches the words in an error.
var word = regexp.MustCompile(`[A-Za-z]+`)

// textSchema returns the schema of the texts that a type accepts. It gets the words of an enumeration from the error
// about an unknown word, which lists the known words.
func textSchema(typ reflect.Type) *schema.Schema {
	s := &schema.Schema{Type: "string", Pattern: textPattern(typ)}
	var words []string
	if err := parse(typ, "\x00"); err != nil {
		if _, list, ok := strings.Cut(err.Error(), "write "); ok {
			for _, w := range word.FindAllString(list, -1) {
				if parse(typ, w) == nil && !slices.Contains(words, w) {
					words = append(words, w)
				}
			}
		}
	}
	accepted := func(sample string) bool { return !slices.Contains(words, sample) && parse(typ, sample) == nil }
	switch {
	case len(words) > 0 && !slices.ContainsFunc(textSamples(), accepted):
		s.Enum = words
	case s.Pattern == "" && parse(typ, "") != nil:
		s.MinLength = 1
	}
	return s
}

// parse returns the error of a text as a value of the type.
func parse(typ reflect.Type, text string) error {
	return reflect.New(typ).Interface().(encoding.TextUnmarshaler).UnmarshalText([]byte(text))
}

// textPattern returns a regular expression that matches all texts of a type. It returns "" if a schema cannot describe
// these texts.
func textPattern(typ reflect.Type) string {
	switch typ.Name() {
	case "entryName":
		return `^[a-z0-9.-]{1,63}$`
	case "setName":
		return `^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$`
	case "Moment":
		return `^[0-9]{4}-[0-9]{2}-[0-9]{2}(T.+)?$`
	case "portRange":
		return `^[0-9]+(-[0-9]+)?$`
	case "CIDR":
		return `^[0-9A-Fa-f:.]+(/[0-9]+)?$`
	case "HostPattern", "HostTemplate":
		return `^[^/: ]+$`
	case "annotationKey":
		return `^[^*]+$`
	case "pullSecret":
		return `^[a-z0-9.-]+$`
	}
	return ""
}
