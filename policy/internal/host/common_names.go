package host

import (
	"strings"

	"github.com/evergate/evergate/policy/internal/match"
)

// maxCommonNames is the maximum number of common names in a subject. Clients use only one: the first or the last.
const maxCommonNames = 100

// CommonNames returns the common names of a distinguished name (RFC 4514) such as CN=a.example,O=Example. It reads
// the name as cert-manager v1.21.2 does (pkg/util/pki/subject.go), but accepts less than the RFC. ok is false if
// another reader could understand the name differently: if it contains quotes, an escaped or encoded common name, or an
// unknown attribute type. ok is also false for more than maxCommonNames, and if spend returns false. See Value.
func CommonNames(subject string, spend func(steps int) bool) (names []string, ok bool) {
	if strings.Contains(subject, `"`) {
		return nil, false
	}
	for rest := strings.TrimRight(subject, " "); rest != ""; {
		end := endOfAttribute(rest)
		attribute := rest[:end]
		rest = rest[min(end+1, len(rest)):]
		if !spend(stepsOf(attribute)) {
			return nil, false
		}
		name, value, isAttribute := strings.Cut(attribute, "=")
		isCommonName, isKnown := attributeType(strings.Trim(name, " "))
		value = strings.Trim(value, " ")
		switch {
		case !isAttribute, !isKnown, len(names) == maxCommonNames:
			return nil, false
		case isCommonName && (strings.Contains(value, `\`) || strings.HasPrefix(value, "#")):
			return nil, false
		case isCommonName:
			names = append(names, value)
		}
	}
	return names, true
}

// endOfAttribute returns the index at which the first attribute of a subject ends, which is the first separator that is
// not escaped.
func endOfAttribute(s string) int {
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case ',', '+', ';':
			return i
		}
	}
	return len(s)
}

// attributeType reports whether an attribute type is the common name, and whether the type is known, by its name or its
// number. Clients do not search for hosts in other types.
func attributeType(name string) (isCommonName, isKnown bool) {
	const longest = 128 // bytes, longer than the number of every type in use; a longer text may be huge
	if len(name) > longest {
		return false, false
	}
	switch strings.ToUpper(name) {
	case "CN", "2.5.4.3":
		return true, true
	case "C", "O", "OU", "SERIALNUMBER", "L", "ST", "STREET", "DC", "UID":
		return false, true
	}
	return false, isObjectIdentifier(name)
}

// isObjectIdentifier reports whether a text consists of numbers separated by dots, without leading zeros.
func isObjectIdentifier(s string) bool {
	for number := range strings.SplitSeq(s, ".") {
		if number == "" || len(number) > 1 && number[0] == '0' || strings.Trim(number, "0123456789") != "" {
			return false
		}
	}
	return strings.Contains(s, ".")
}

// CommonName reads a common name. A title such as Example Root does not claim a host. It consists of letters, digits,
// blanks and some signs, but has no dot, so clients do not accept it as a host name. Any other text that is not a host
// name may mean every host.
func CommonName(s string) (match.HostPattern, bool) {
	p := OneLabel(s)
	if !p.IsEvery() {
		return p, true
	}
	inTitle := func(c rune) bool {
		return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || strings.ContainsRune(" -_:/@()&", c)
	}
	return p, strings.ContainsFunc(s, func(c rune) bool { return !inTitle(c) })
}
