package policy

import "strings"

// plainReference reads what nearly every image is: lower case, no separator twice, no digest but sha256. It says of all
// others that it does not know, and then the grammar decides, which takes thirty times as long, by regular expressions.
// FuzzPlainReference holds it to the grammar.
func plainReference(s string) (ref reference, ok bool) {
	end := nameEnd(s)
	name, suffix := s[:end], s[end:]
	const maxPath = 255 - len("library/") // 255 is the grammar's
	registry, path, found := strings.Cut(name, "/")
	switch {
	case !found || !isRegistry(registry):
		path = name
	case registry == "index.docker.io", registry == "docker.io" && !strings.Contains(path, "/"):
		return reference{}, false // both stand for another name
	case !plainRegistry(registry):
		return reference{}, false
	}
	const identifier = 64 // so many hexadecimal digits alone are no name
	if len(s) > maxReference || len(path) > maxPath || len(s) == identifier || !plainWords(path, true) || !plainVersion(suffix) {
		return reference{}, false
	}
	switch {
	case !found:
		name = "docker.io/library/" + name
	case path == name:
		name = "docker.io/" + name
	}
	return reference{name, suffix}, true
}

// plainRegistry says whether s is a host in lower case, with a port or without.
func plainRegistry(s string) bool {
	host, port, found := strings.Cut(s, ":")
	return plainWords(host, false) && (!found || port != "" && strings.Trim(port, "0123456789") == "")
}

// plainWords says whether s consists of words of lower case letters and digits, with one separator between two of them: of
// those of a path, or of a host.
func plainWords(s string, path bool) bool {
	word := false // the byte before belongs to one
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			word = true
		case word && (c == '.' || c == '-' || path && (c == '/' || c == '_')):
			word = false
		default:
			return false
		}
	}
	return word
}

// plainVersion says whether s is a tag, a sha256 digest, both, or empty.
func plainVersion(s string) bool {
	tag, digest, pinned := strings.Cut(s, "@")
	if pinned {
		const digits = 64
		hex, ok := strings.CutPrefix(digest, "sha256:")
		if !ok || len(hex) != digits || strings.Trim(hex, "0123456789abcdef") != "" {
			return false
		}
	}
	if tag == "" {
		return true
	}
	const maxTag = len(":") + 128 // 128 is the grammar's
	return len(tag) > 1 && len(tag) <= maxTag && tag[1] != '.' && tag[1] != '-' && !strings.ContainsFunc(tag[1:], noTagRune)
}

func noTagRune(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-'
}
