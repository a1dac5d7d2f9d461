package host

import (
	"encoding/json"
	"iter"
	"slices"
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// Value is the value of an annotation, with the parts of its object that grammars need.
type Value struct {
	Text string
	// Hosts yields the hosts in the fields of the object, and whether the controller serves them.
	Hosts iter.Seq2[match.HostPattern, bool]
	// Spend counts the steps of reading the value, and reports whether the reader may continue. Readers call it for each
	// element that they split off, because a text may have hundreds of thousands of elements. If Spend returns false, the
	// result is incomplete.
	Spend func(steps int) bool
}

// stepsOf returns the number of steps to read an element. A step takes as long as about four bytes.
func stepsOf(element string) int { return 1 + len(element)/4 }

// Grammar yields the hosts that the value of an annotation claims, each with its text in the value.
type Grammar func(v Value) iter.Seq2[string, match.HostPattern]

// And returns a grammar that yields the hosts of both grammars.
func (g Grammar) And(other Grammar) Grammar {
	return func(v Value) iter.Seq2[string, match.HostPattern] {
		return func(yield func(string, match.HostPattern) bool) {
			for _, seq := range []iter.Seq2[string, match.HostPattern]{g(v), other(v)} {
				for name, p := range seq {
					if !yield(name, p) {
						return
					}
				}
			}
		}
	}
}

// Grammars returns the grammars that policy/internal/claim/data/host-annotations.txt uses, by name.
func Grammars() map[string]Grammar {
	return map[string]Grammar{
		"dns":         recordList,
		"certificate": listed(OneLabel),
		"commonname":  titles,
		"nginx":       nginxAlias,
		"www":         wwwRedirect,
		"uris":        uriHosts,
		"addresses":   addressHosts,
		"any":         anyHost,
		"alb":         albConditions,
		"eskip":       eskipHosts,
		"nginxconf":   nginxConfiguration,
		"url":         urlHost,
		"pathmatcher": pathMatcher,
		"gardener":    gardenerNames,
		"target":      wildcardRecords,
	}
}

// listed returns the grammar of a comma-separated list of names. read parses one name.
func listed(read func(name string) match.HostPattern) Grammar {
	return func(v Value) iter.Seq2[string, match.HostPattern] {
		return func(yield func(string, match.HostPattern) bool) {
			for name := range v.elements {
				if !yield(name, read(name)) {
					return
				}
			}
		}
	}
}

// elements yields the elements of a comma-separated list. It trims white space and skips empty elements.
func (v Value) elements(yield func(string) bool) {
	for name := range strings.SplitSeq(v.Text, ",") {
		if !v.Spend(stepsOf(name)) {
			return
		}
		if name = strings.TrimSpace(name); name != "" && !yield(name) {
			return
		}
	}
}

// isHostName reports whether a text is a name that DNS records, certificates and servers use unchanged. They accept
// more than valid host names, for example an underscore and names that consist only of digits. A name with two dots at
// the end is not accepted, because external-dns removes both dots.
func isHostName(s string) bool {
	s = strings.TrimSuffix(s, ".")
	if s == "" || len(s) > match.MaxHost {
		return false
	}
	before := byte('.')
	for i := range len(s) {
		c := s[i]
		switch {
		case c == '.' && before == '.', !isHostByte(c):
			return false
		}
		before = c
	}
	return before != '.'
}

func isHostByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' || c == '.' || c == '_'
}

// nginxAlias is the grammar of the ingress-nginx annotation server-alias, whose elements become arguments of
// server_name. *.example covers any number of labels. .example covers the same names and example itself. A regular
// expression and www.example.* claim every host.
func nginxAlias(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name := range v.elements {
			if below, ok := strings.CutPrefix(name, "."); ok && isHostName(below) {
				if !yield(name, AnyDepth(below)) || !yield(name, AnyDepth("*."+below)) {
					return
				}
				continue
			}
			if !yield(name, AnyDepth(name)) {
				return
			}
		}
	}
}

// wwwRedirect is the grammar of the annotation from-to-www-redirect. If a rule has the host example, ingress-nginx also
// serves www.example. If a rule has the host www.example, ingress-nginx also serves example.
func wwwRedirect(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		if on, err := strconv.ParseBool(v.Text); err != nil || !on { // the controller uses ParseBool, so 1 and T are true
			return
		}
		for h, served := range v.Hosts {
			if !v.Spend(1) {
				return
			}
			if h.Depth != match.HostItself || !served {
				continue
			}
			other, www := strings.CutPrefix(h.Name, "www.")
			if !www {
				other = "www." + h.Name
			}
			if len(other) <= match.MaxHost && !yield(other, match.ParseHost(other)) {
				return
			}
		}
	}
}

// wildcardRecords is the grammar of the external-dns annotation target. external-dns publishes the hosts in the rules
// and in spec.tls (source/ingress.go). Their records point to the load balancer, unless the author of the object sets
// another target by this annotation. In DNS, *.example covers any number of labels, and the record also answers for
// _acme-challenge.example.
func wildcardRecords(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for h := range v.Hosts {
			if v.Text == "" || !v.Spend(1) {
				return
			}
			if h.Depth == match.OneLabelBelow && !yield("*."+h.Name, AnyDepth("*."+h.Name)) {
				return
			}
		}
	}
}

// anyHost is the grammar of a text that may match every host, such as a regular expression.
func anyHost(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		if strings.TrimSpace(v.Text) != "" {
			yield(v.Text, match.EveryHost())
		}
	}
}

// nginxConfiguration is the grammar of configuration text that a controller writes into a server or a location of
// nginx. The text can serve other hosts if it ends that block, sets the names or ports of the server, includes a file
// or runs code. A text with a brace or with such a directive claims every host.
func nginxConfiguration(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		words := []string{"{", "}", "server_name", "listen", "include", "_by_lua", "js_", "perl"}
		hasWord := func(word string) bool { return strings.Contains(v.Text, word) }
		if v.Spend(stepsOf(v.Text)) && slices.ContainsFunc(words, hasWord) {
			yield(v.Text, match.EveryHost())
		}
	}
}

// pathMatcher is the grammar of the Traefik annotation router.pathmatcher. Traefik writes the value and the path into
// the expression of a rule, for example Host(`a.example`) && PathPrefix(`/`). A value that is not a known matcher can
// be any expression, so it claims every host.
func pathMatcher(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		switch v.Text {
		case "", "Path", "PathPrefix", "PathRegexp":
		default:
			yield(v.Text, match.EveryHost())
		}
	}
}

// gardenerNames is the grammar of the Gardener annotation dnsnames, a list of DNS record names. The words * and all
// mean the hosts in the object's other fields, so they do not add claims.
func gardenerNames(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name, p := range recordList(v) {
			if name != "*" && name != "all" && !yield(name, p) {
				return
			}
		}
	}
}

// eskipHosts is the grammar of the Skipper annotations for routes and predicates. A value with a predicate about hosts
// (Host, HostAny, ForwardedHost) claims every host.
func eskipHosts(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		if v.Spend(stepsOf(v.Text)) && strings.Contains(unquotedEskip(v.Text), "Host") {
			yield(v.Text, match.EveryHost())
		}
	}
}

// unquotedEskip returns eskip text with empty strings in place of its double-quoted strings, because Header("X-Host",
// "a") is not a predicate about hosts. It returns the whole value if the quotes may have another meaning. This is so if
// there is a regular expression or a comment (both contain /) or a backquote outside the quotes, or if the last quote
// is missing.
func unquotedEskip(value string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			b.WriteByte(c) // keeps the text before and after the string apart
		case quoted:
		case c == '/' || c == '`':
			return value
		default:
			b.WriteByte(c)
		}
	}
	if quoted {
		return value
	}
	return b.String()
}

// titles is the grammar of the common name of a certificate, which may be free text. See CommonName.
func titles(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name := range v.elements {
			if p, ok := CommonName(name); ok && !yield(name, p) {
				return
			}
		}
	}
}

// maxConditions is the maximum size of conditions in bytes. AWS accepts five values per rule. A longer text is not
// parsed and claims every host.
const maxConditions = 16 << 10

// albConditions is the grammar of the conditions annotation, which is a JSON list. The load balancer controllers of AWS
// (hostHeaderConfig) and Alibaba Cloud (hostConfig) read the same key. The annotation adds hosts to the hosts of a
// rule. The added hosts are globs, in which * also matches dots. A regular expression claims every host, even if it
// looks like a name, because a dot in it matches any character.
func albConditions(v Value) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		type hosts struct {
			Values      []string `json:"values"`
			RegexValues []string `json:"regexValues"`
		}
		var conditions []struct {
			HostHeaderConfig, HostConfig hosts
		}
		// A byte of JSON takes about 45 ns.
		if len(v.Text) > maxConditions || !v.Spend(len(v.Text)) || json.Unmarshal([]byte(v.Text), &conditions) != nil {
			yield(v.Text, match.EveryHost())
			return
		}
		for _, c := range conditions {
			for _, glob := range slices.Concat(c.HostHeaderConfig.Values, c.HostConfig.Values) {
				if !yield(glob, AnyDepth(glob)) {
					return
				}
			}
			for _, regex := range slices.Concat(c.HostHeaderConfig.RegexValues, c.HostConfig.RegexValues) {
				if !yield(regex, match.EveryHost()) {
					return
				}
			}
		}
	}
}

// LooksLikeNames reports whether a text is a list of host names, separated by commas. Each name must have a dot, and
// its last label must consist of at least two letters or begin with xn--.
func LooksLikeNames(s string) bool {
	found := false
	v := Value{Text: s, Spend: func(int) bool { return true }}
	for name := range v.elements {
		name = strings.TrimSuffix(strings.TrimPrefix(name, "*."), ".")
		dot := strings.LastIndexByte(name, '.')
		top := name[dot+1:]
		isLetter := func(c rune) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }
		if dot < 0 || !isHostName(name) || len(top) < 2 ||
			strings.ContainsFunc(top, func(c rune) bool { return !isLetter(c) }) && !strings.HasPrefix(top, "xn--") {
			return false
		}
		found = true
	}
	return found
}
