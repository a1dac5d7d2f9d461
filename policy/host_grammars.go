package policy

import (
	"encoding/json"
	"iter"
	"strconv"
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// hostGrammar yields the hosts that the value of an annotation names, and how each is written there. rules are the
// claims of the object's other places.
type hostGrammar func(value string, rules []hostClaim) iter.Seq2[string, match.HostPattern]

// and returns the grammar of a value that names hosts by either grammar.
func (g hostGrammar) and(other hostGrammar) hostGrammar {
	return func(value string, rules []hostClaim) iter.Seq2[string, match.HostPattern] {
		return func(yield func(string, match.HostPattern) bool) {
			for _, seq := range []iter.Seq2[string, match.HostPattern]{g(value, rules), other(value, rules)} {
				for name, p := range seq {
					if !yield(name, p) {
						return
					}
				}
			}
		}
	}
}

// hostGrammars are the grammars that data/host-annotations.txt names.
var hostGrammars = map[string]hostGrammar{
	"dns":         recordList,
	"certificate": listed(oneLabel),
	"commonname":  commonNames,
	"nginx":       nginxAlias,
	"www":         wwwRedirect,
	"uris":        uriHosts,
	"any":         anyHost,
	"alb":         albConditions,
	"eskip":       eskipHosts,
	"url":         urlHost,
	"pathmatcher": pathMatcher,
	"gardener":    gardenerNames,
}

// listed is the grammar of names with commas between them. read says what one of them stands for.
func listed(read func(name string) match.HostPattern) hostGrammar {
	return func(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
		return func(yield func(string, match.HostPattern) bool) {
			for name := range elements(value) {
				if !yield(name, read(name)) {
					return
				}
			}
		}
	}
}

// recordList is the grammar of names of DNS records with commas between them: see recordNames.
func recordList(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name := range elements(value) {
			for p := range recordNames(name) {
				if !yield(name, p) {
					return
				}
			}
		}
	}
}

// recordNames yields the hosts that the name of a DNS record reaches. *.example is any number of labels.
//
// A label that begins with _ is not the name of a host (RFC 8552). Its record is about the name behind it:
// _acme-challenge.example proves to a certificate authority that its owner may have certificates for example and for
// *.example, and _dmarc, _domainkey and the names of SRV, TLSA and URI records direct clients of example. So such a
// name reaches the name behind its last label of this kind and all names below that one.
func recordNames(name string) iter.Seq[match.HostPattern] {
	return func(yield func(match.HostPattern) bool) {
		p := anyDepth(name)
		about, special := aboutName(p.Name)
		switch {
		case !special:
			yield(p)
		case about == "":
			yield(match.EveryHost())
		default:
			_ = yield(match.HostPattern{Name: about}) &&
				yield(match.HostPattern{Name: about, Depth: match.LabelsBelow})
		}
	}
}

// aboutName returns what is behind the last label that begins with _, and whether there is such a label.
func aboutName(name string) (about string, special bool) {
	if i := strings.LastIndex(name, "._"); i >= 0 {
		return match.ParentHost(name[i+1:]), true
	}
	if strings.HasPrefix(name, "_") {
		return match.ParentHost(name), true
	}
	return "", false
}

// elements yields the elements of a list, without the blanks around them and without empty ones.
func elements(value string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for name := range strings.SplitSeq(value, ",") {
			if name = strings.TrimSpace(name); name != "" && !yield(name) {
				return
			}
		}
	}
}

// oneLabel reads a name as a certificate means it: *.example is one label.
func oneLabel(name string) match.HostPattern {
	rest, wild := strings.CutPrefix(name, "*.")
	if !isHostName(rest) {
		return match.EveryHost()
	}
	p := match.ParseHost(rest)
	if wild {
		p.Depth = match.OneLabelBelow
	}
	return p
}

// anyDepth reads a name as DNS means it: *.example is any number of labels (RFC 4592).
func anyDepth(name string) match.HostPattern {
	p := oneLabel(name)
	if p.Depth == match.OneLabelBelow {
		p.Depth = match.LabelsBelow
	}
	return p
}

// isHostName reports whether a text is a name that records, certificates and servers take as it is. They take more than
// host names may have: _, and digits alone. Two dots at the end are no name: external-dns removes both.
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

// nginxAlias is the grammar of server-alias of ingress-nginx: words of server_name. *.example is any number of labels,
// .example is that and example itself; a regular expression and www.example.* are every host.
func nginxAlias(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name := range elements(value) {
			if below, ok := strings.CutPrefix(name, "."); ok && isHostName(below) {
				if !yield(name, anyDepth(below)) || !yield(name, anyDepth("*."+below)) {
					return
				}
				continue
			}
			if !yield(name, anyDepth(name)) {
				return
			}
		}
	}
}

// wwwRedirect is the grammar of from-to-www-redirect: ingress-nginx answers for www.example where a rule has the host
// example, and for example where it has www.example.
func wwwRedirect(value string, rules []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		if on, err := strconv.ParseBool(value); err != nil || !on { // as the controller parses it: 1 and T are true
			return
		}
		for i := range rules {
			h := &rules[i]
			if h.at.in().class != mainField || h.Depth != match.HostItself {
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

// uriHosts is the grammar of URIs with commas between them, each of which may have a host.
func uriHosts(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for uri := range elements(value) {
			if p, ok := uriName(uri); ok && !yield(uri, p) {
				return
			}
		}
	}
}

// anyHost is the grammar of a text that may stand for every host, such as a regular expression.
func anyHost(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		if strings.TrimSpace(value) != "" {
			yield(value, match.EveryHost())
		}
	}
}

// urlHost is the grammar of one URL, or of a host with or without a port. *.example is any number of labels.
func urlHost(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		value = strings.TrimSpace(value)
		if value == "" {
			return
		}
		_, rest, found := strings.Cut(value, "://")
		if !found {
			rest = value
		}
		host, _, _ := strings.Cut(rest, "/")
		host, _, _ = strings.Cut(host, ":")
		yield(value, anyDepth(host))
	}
}

// pathMatcher is the grammar of router.pathmatcher of Traefik, which writes the value and the path into the expression
// of a rule: Host(`a.example`) && PathPrefix(`/`). Other text than one of its words can be any expression.
func pathMatcher(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		switch value {
		case "", "Path", "PathPrefix", "PathRegexp":
		default:
			yield(value, match.EveryHost())
		}
	}
}

// gardenerNames is the grammar of dnsnames of Gardener: names of DNS records. * and all are the hosts of the object's
// other places.
func gardenerNames(value string, rules []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name, p := range recordList(value, rules) {
			if name != "*" && name != "all" && !yield(name, p) {
				return
			}
		}
	}
}

// eskipHosts is the grammar of routes and predicates of Skipper: with a predicate about hosts (Host, HostAny,
// ForwardedHost) they are every host.
func eskipHosts(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		if strings.Contains(unquotedEskip(value), "Host") {
			yield(value, match.EveryHost())
		}
	}
}

// unquotedEskip returns eskip with its texts in double quotes empty: Header("X-Host", "a") has no predicate about
// hosts. It is the whole value where quotes may mean something else: with a regular expression or a comment (/) or a
// backquote outside of them, or without the last quote.
func unquotedEskip(value string) string {
	var b strings.Builder
	quoted := false
	for i := 0; i < len(value); i++ {
		switch c := value[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
			b.WriteByte(c) // so that what stands before a text and after it is no word
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

// commonNames is the grammar of the common name of a certificate, which may be free text: see commonName.
func commonNames(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		for name := range elements(value) {
			if p, ok := commonName(name); ok && !yield(name, p) {
				return
			}
		}
	}
}

// maxConditions is how many bytes of conditions are parsed; AWS takes five values a rule. Longer ones are every host.
const maxConditions = 16 << 10

// albConditions is the grammar of conditions of the AWS load balancer controller: a JSON list, of which host-header has
// globs, in which * also stands for dots, and regular expressions, which are every host: the dots of one that looks
// like a name stand for any character.
func albConditions(value string, _ []hostClaim) iter.Seq2[string, match.HostPattern] {
	return func(yield func(string, match.HostPattern) bool) {
		var conditions []struct {
			Field            string `json:"field"`
			HostHeaderConfig struct {
				Values      []string `json:"values"`
				RegexValues []string `json:"regexValues"`
			} `json:"hostHeaderConfig"`
		}
		if len(value) > maxConditions || json.Unmarshal([]byte(value), &conditions) != nil {
			yield(value, match.EveryHost())
			return
		}
		for _, c := range conditions {
			if c.Field != "host-header" {
				continue
			}
			for _, glob := range c.HostHeaderConfig.Values {
				if !yield(glob, anyDepth(glob)) {
					return
				}
			}
			for _, regex := range c.HostHeaderConfig.RegexValues {
				if !yield(regex, match.EveryHost()) {
					return
				}
			}
		}
	}
}
