package policy

import "strings"

// maxCommonNames is how many common names are read of a subject. Clients look at one: the first or the last.
const maxCommonNames = 100

// commonNamesOf returns the common names of a distinguished name (RFC 4514), as cert-manager v1.21.2 reads it
// (pkg/util/pki/subject.go): CN=a.example,O=Example. It reads less than the RFC has, and says so: ok is false for what
// another reader could take for something else, such as quotes, an escaped or encoded common name, and a type of
// attribute that is not known, and for more than maxCommonNames.
func commonNamesOf(subject string) (names []string, ok bool) {
	if strings.Contains(subject, `"`) {
		return nil, false
	}
	for rest := subject; strings.Trim(rest, " ") != ""; {
		name, value, isAttribute := strings.Cut(rest, "=")
		end := endOfValue(value)
		value, rest = value[:end], value[min(end+1, len(value)):]
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

// endOfValue returns where the value of an attribute ends: at the first separator that is not escaped.
func endOfValue(s string) int {
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

// attributeType reports whether a type of attribute is that of a common name, and whether it is known at all: by its
// name or its number. Clients look for hosts in no other type.
func attributeType(name string) (isCommonName, isKnown bool) {
	switch strings.ToUpper(name) {
	case "CN", "2.5.4.3":
		return true, true
	case "C", "O", "OU", "SERIALNUMBER", "L", "ST", "STREET", "DC", "UID":
		return false, true
	}
	return false, isObjectIdentifier(name)
}

// isObjectIdentifier reports whether a text is numbers with dots between them, each written in one way.
func isObjectIdentifier(s string) bool {
	for number := range strings.SplitSeq(s, ".") {
		if number == "" || len(number) > 1 && number[0] == '0' || strings.Trim(number, "0123456789") != "" {
			return false
		}
	}
	return strings.Contains(s, ".")
}
