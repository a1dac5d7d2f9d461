package match

import (
	"iter"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// Reference is an image reference as container runtimes read it. Two references can be compared with ==.
type Reference struct {
	Name   string // registry and path, neither left out, the registry in its one spelling: docker.io/library/nginx
	Suffix string // tag and digest exactly as written: ":1.25", "@sha256:…", both or neither
}

const (
	// maxReference is longer than any reference that can be pulled, in bytes: a host name has at most 253, a port 6, a
	// path 255, a tag 129 and a digest 136, each with its separator. Longer texts are refused without parsing.
	maxReference = 1024
	maxPath      = 255 // the grammar's
	maxTag       = 128 // the grammar's
)

// ParseReference parses an image as users write it. It accepts what the grammar of github.com/distribution/reference
// accepts, by which kubelet, containerd and CRI-O parse images, except impossible ports and IDs of images.
// FuzzReference compares the two. The grammar itself is regular expressions, which take up to 0.18 µs a byte: an object
// of 0.25 MiB would keep a core busy for 45 ms. The text of the error is safe to show: printable and of bounded length.
func ParseReference(s string) (Reference, error) {
	if len(s) > maxReference {
		return Reference{}, tooLong(len(s))
	}
	end := nameEnd(s)
	name, suffix := s[:end], s[end:]
	written, path, official := splitName(name)
	registry, err := normalRegistry(written)
	wellFormed := err == nil && len(path) <= maxPath && isPath(path) && isVersion(suffix)
	if !wellFormed || official && (isIdentifier(s) || isImageID(s)) {
		return Reference{}, whyMalformed(s, path, err)
	}
	const library = "library/"
	if registry == "index.docker.io" {
		registry = DockerHub
	}
	official = official || registry == DockerHub && strings.IndexByte(path, '/') < 0
	limit := maxPath
	switch {
	case official:
		limit -= len(library)
	case strings.IndexByte(registry, '_') >= 0:
		limit -= len(registry) + 1 // in the grammar it is the first segment of the path
	}
	switch {
	case len(path) > limit:
		return Reference{}, errPathTooLong
	case official:
		name = "docker.io/library/" + path
	case len(name) != len(registry)+1+len(path) || !strings.HasPrefix(name, registry):
		name = registry + "/" + path
	}
	return Reference{name, suffix}, nil
}

// ReferenceSteps returns how many steps it takes to parse a reference.
func ReferenceSteps(s string) int { return 3 + min(len(s), maxReference)/16 }

// splitName splits a name into registry and path. An official image of Docker Hub is written without its registry and
// without library/.
func splitName(name string) (registry, path string, official bool) {
	first, rest, found := strings.Cut(name, "/")
	switch {
	case !found:
		return DockerHub, name, true
	case isRegistry(first), hasUpper(first):
		return first, rest, false
	default:
		return DockerHub, name, false
	}
}

// nameEnd returns where the name ends in a reference, and a tag or digest begins.
func nameEnd(s string) int {
	last := strings.LastIndexByte(s, '/') + 1 // a colon further left belongs to a port
	if strings.HasPrefix(s[last:], "[") {
		last += strings.IndexByte(s[last:], ']') + 1 // or to an IPv6 address
	}
	for i := last; i < len(s); i++ {
		if s[i] == ':' || s[i] == '@' {
			return i
		}
	}
	return len(s)
}

// isPath reports whether s is a path: segments of lower case letters and digits, in which one dot, one or two
// underscores, or any number of hyphens may stand between two of them.
func isPath(s string) bool { return isWords(s, true, true) }

// isWords reports whether s consists of words of lower case letters and digits, with a separator between two of them: a
// dot, hyphens, and, where allowed, a slash or underscores.
func isWords(s string, slash, underscore bool) bool {
	before, run := byte('/'), 1 // the preceding separator, and how often it is repeated
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			run = 0
		case run == 0 && (c == '.' || c == '-' || slash && c == '/' || underscore && c == '_'):
			before, run = c, 1
		case run > 0 && c == before && (c == '-' || c == '_' && run == 1):
			run++
		default:
			return false
		}
	}
	return run == 0
}

// isVersion reports whether s is a tag, a digest, both, or empty.
func isVersion(s string) bool {
	tag, digest, pinned := strings.Cut(s, "@")
	if pinned && !isDigest(digest) {
		return false
	}
	if tag == "" {
		return true
	}
	tag = tag[len(":"):]
	return tag != "" && len(tag) <= maxTag && tag[0] != '.' && tag[0] != '-' && !strings.ContainsFunc(tag, isNotTagRune)
}

func isNotTagRune(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-'
}

// isDigest reports whether s is a digest by one of the algorithms that runtimes support.
func isDigest(s string) bool {
	algorithm, hex, _ := strings.Cut(s, ":")
	n := digestDigits(algorithm)
	return n > 0 && len(hex) == n && strings.Trim(hex, "0123456789abcdef") == ""
}

// digestDigits returns how many hexadecimal digits a digest has; 0 for an unsupported algorithm.
func digestDigits(algorithm string) int {
	switch algorithm {
	case "sha256":
		return 64
	case "sha384":
		return 96
	case "sha512":
		return 128
	}
	return 0
}

// isIdentifier reports whether s is 64 hexadecimal digits alone, which the grammar does not accept as a name.
func isIdentifier(s string) bool {
	return len(s) == digestDigits("sha256") && strings.Trim(s, "0123456789abcdef") == ""
}

// isImageID reports whether s is read as the ID of an image on the node by a runtime, and as a name and a tag by
// others.
//
// kubelet reads sha256:12ab as docker.io/library/sha256 with the tag 12ab and hands it to the runtime as it is written.
// containerd looks among the images of that name, and then takes it for the ID of one that lies on the node, or for the
// beginning of one: its store matches prefixes of any length (LocalResolve in internal/cri/server/images/service.go and
// Store.Get, "the id can be truncated", in internal/cri/store/image/image.go, both of v2.1.4, down to checkShortMatch
// of go-digest's digestset). So a Pod would run what another namespace has pulled, whatever the policy says of names.
// Upper case digits are not an ID today, but no useful tag consists of them, so they are refused too.
func isImageID(s string) bool {
	algorithm, hex, found := strings.Cut(s, ":")
	return found && hex != "" && digestDigits(algorithm) > 0 && strings.Trim(hex, "0123456789abcdefABCDEF") == ""
}

// String returns the reference in full: docker.io/library/nginx:1.25.
func (r Reference) String() string { return r.Name + r.Suffix }

// Is reports whether s is the reference in full.
func (r Reference) Is(s string) bool {
	suffix, ok := strings.CutPrefix(s, r.Name)
	return ok && suffix == r.Suffix
}

// Registry returns the host, with its port if it has one.
func (r Reference) Registry() string {
	registry, _, _ := strings.Cut(r.Name, "/")
	return registry
}

// Tag returns the tag without its colon; empty when there is none.
func (r Reference) Tag() string {
	tag, _, _ := strings.Cut(r.Suffix, "@")
	return strings.TrimPrefix(tag, ":")
}

// Digest returns the digest without its @; empty when there is none.
func (r Reference) Digest() string {
	_, digest, _ := strings.Cut(r.Suffix, "@")
	return digest
}

// Version returns what decides which image of the repository is pulled: the digest where there is one, whatever tag
// stands before it, or else the tag, each with its separator; empty when there is neither.
func (r Reference) Version() string {
	if i := strings.IndexByte(r.Suffix, '@'); i >= 0 {
		return r.Suffix[i:]
	}
	return r.Suffix
}

// names yields the names that a policy may have for the repository of a reference.
func (r Reference) names(yield func(string) bool) {
	registry := r.Registry()
	if !yield(r.Name) || !isDockerHub(registry) {
		return
	}
	path := r.Name[len(registry):]
	if registry != DockerHub && !yield(DockerHub+path) {
		return
	}
	if official, ok := strings.CutPrefix(path, "/library/"); ok {
		yield(DockerHub + "/" + official)
	}
}

// OnDockerHub returns the docker.io name of an image that is written for another host of Docker Hub, and whether the
// image is written for such a host. These hosts serve the images of docker.io today, but runtimes have different
// credentials and mirrors for them, so the two names are not one reference. Only index.docker.io is docker.io to every
// runtime: ParseReference replaces it.
func (r Reference) OnDockerHub() (image string, other bool) {
	registry := r.Registry()
	if registry == DockerHub || !isDockerHub(registry) {
		return "", false
	}
	path := r.Name[len(registry)+len("/"):]
	if strings.IndexByte(path, '/') < 0 {
		path = "library/" + path
	}
	return DockerHub + "/" + path + r.Suffix, true
}

// Ancestors yields a name and then every place above it, up to its registry: a.example/b/c, a.example/b, a.example.
func Ancestors(name string) iter.Seq[string] {
	return func(yield func(string) bool) {
		for yield(name) {
			i := strings.LastIndexByte(name, '/')
			if i < 0 {
				return
			}
			name = name[:i]
		}
	}
}

// shownImage is how many bytes of an image a sentence shows: longer than any image that a registry has.
const shownImage = 256

// QuoteImage returns an image as it was written, fit for a sentence: in quotes, on one line, of bounded length.
func QuoteImage(image string) string { return text.QuoteUpTo(shownImage, image) }
