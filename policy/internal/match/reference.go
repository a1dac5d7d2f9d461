package match

import (
	"cmp"
	"fmt"
	"iter"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// Reference is an image reference as container runtimes read it. Two references that are written with a registry can be
// compared with ==.
type Reference struct {
	Name   string // registry and path, never omitted, the registry in its normal spelling: docker.io/library/nginx
	Suffix string // tag and digest exactly as written: ":1.25", "@sha256:…", both or neither
	Short  bool   // written without a registry: nginx, team/app
}

const (
	// maxReference is the maximum length of a reference in bytes. Every reference that can be pulled is shorter: a host
	// name has at most 253 bytes, a port 6, a path 255, a tag 129 and a digest 136, each with its separator. Longer texts
	// are rejected without parsing.
	maxReference = 1024
	maxPath      = 255 // the limit of the grammar
	maxTag       = 128 // the limit of the grammar
)

// ParseReference parses an image reference as users write it. kubelet, containerd and CRI-O parse images with the
// grammar of github.com/distribution/reference. ParseReference accepts the same texts, except IDs of images and
// registries in an unusual spelling (see normalRegistry). FuzzReference compares the two. The grammar itself consists
// of regular expressions, which take up to 0.18 µs per byte, so an object of 0.25 MiB would keep a core busy for 45 ms.
// The text of the error is safe to show: it is printable and has a bounded length.
//
// shortNames is the registry of short names in the form of Reference.Name. If it is empty, it is docker.io, as in the
// grammar.
func ParseReference(s, shortNames string) (Reference, error) {
	if len(s) > maxReference {
		return Reference{}, fmt.Errorf("it has %d bytes, and no image reference has more than %d", len(s), maxReference)
	}
	end := nameEnd(s)
	name, suffix := s[:end], s[end:]
	first, rest, found := strings.Cut(name, "/")
	short := !found || !isRegistry(first) && LowerASCII(first) == first
	written, path := first, rest
	if short {
		written, path = cmp.Or(shortNames, DockerHub), name
	}
	registry, err := normalRegistry(written)
	wellFormed := err == nil && len(path) <= maxPath && isWords(path, "/_") && isVersion(suffix)
	if !wellFormed || !found && isImageID(s) {
		return Reference{}, whyMalformed(s, path, err)
	}
	if registry == "index.docker.io" {
		registry = DockerHub
	}
	official := registry == DockerHub && strings.IndexByte(path, '/') < 0 // it may be written without library/
	limit := maxPath
	switch {
	case official:
		limit -= len("library/")
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
	return Reference{name, suffix, short}, nil
}

// ImageSteps is the number of steps that one check of an image takes. The check looks up each segment of the image's
// name.
const ImageSteps = 4

// ReferenceSteps returns how many steps it takes to parse s as a reference.
func ReferenceSteps(s string) int { return 3 + min(len(s), maxReference)/16 }

// nameEnd returns the index at which the name in a reference ends and a tag or digest begins.
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

// isWords reports whether s consists of words of lower case letters and digits with a separator between them. A
// separator is a dot, one or more hyphens, or a character in more: a slash, or one or two underscores. The path of an
// image may have both.
func isWords(s, more string) bool {
	before, run := byte('/'), 1 // the preceding separator, and how often it is repeated
	for i := range len(s) {
		switch c := s[i]; {
		case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
			run = 0
		case run == 0 && (c == '.' || c == '-' || strings.IndexByte(more, c) >= 0):
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
	return tag != "" && len(tag) <= maxTag && tag[0] != '.' && tag[0] != '-' && IsAlphanumeric(tag, "_.-")
}

// isDigest reports whether s is a digest with an algorithm that runtimes support.
func isDigest(s string) bool {
	algorithm, hex, _ := strings.Cut(s, ":")
	n := digestDigits(algorithm)
	return n > 0 && len(hex) == n && strings.Trim(hex, "0123456789abcdef") == ""
}

// digestDigits returns the number of hexadecimal digits of a digest, or 0 if the algorithm is not supported.
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

// isImageID reports whether s is exactly 64 hexadecimal digits, which the grammar does not accept as a name, or whether
// some runtimes read s as the ID of an image on the node, and others as a name and a tag.
//
// kubelet reads sha256:12ab as docker.io/library/sha256 with the tag 12ab and passes it to the runtime as it is
// written. containerd first searches for an image with that name. Then it searches for an image on the node whose ID is
// or begins with this text, because its store matches prefixes of any length (LocalResolve in
// internal/cri/server/images/service.go and Store.Get, "the id can be truncated", in internal/cri/store/image/image.go,
// both in v2.1.4, and checkShortMatch in the digestset of go-digest). A Pod could then run an image that another
// namespace has pulled, whichever names the policy allows. Upper case digits are not an ID today, but no useful tag
// consists of them, so they are not accepted either.
func isImageID(s string) bool {
	algorithm, hex, found := strings.Cut(s, ":")
	if !found {
		return len(s) == digestDigits("sha256") && strings.Trim(s, "0123456789abcdef") == ""
	}
	return hex != "" && digestDigits(algorithm) > 0 && strings.Trim(hex, "0123456789abcdefABCDEF") == ""
}

// String returns the full reference: docker.io/library/nginx:1.25.
func (r Reference) String() string { return r.Name + r.Suffix }

// Registry returns the host of the registry, with its port if it has one.
func (r Reference) Registry() string {
	registry, _, _ := strings.Cut(r.Name, "/")
	return registry
}

// Tag returns the tag without its colon, or an empty string if the reference does not have a tag.
func (r Reference) Tag() string {
	tag, _, _ := strings.Cut(r.Suffix, "@")
	return strings.TrimPrefix(tag, ":")
}

// Digest returns the digest without its @, or an empty string if the reference does not have a digest.
func (r Reference) Digest() string {
	_, digest, _ := strings.Cut(r.Suffix, "@")
	return digest
}

// Version returns the part that decides which image of the repository is pulled. This is the digest if there is one,
// even if a tag precedes it, and otherwise the tag. The result includes the separator. It is empty if the reference has
// neither.
func (r Reference) Version() string {
	if i := strings.IndexByte(r.Suffix, '@'); i >= 0 {
		return r.Suffix[i:]
	}
	return r.Suffix
}

// names yields the names that a policy may use for the repository of a reference.
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

// OnDockerHub returns the docker.io name of an image that is written with another host of Docker Hub. other is false if
// the image is not written with such a host. These hosts serve the images of docker.io today, but runtimes use
// different credentials and mirrors for them, so the two names are different references. Only index.docker.io is
// docker.io to every runtime, so ParseReference replaces it.
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

// shownImage is the maximum number of bytes of an image that a message shows. The images in a registry are shorter.
const shownImage = 256

// QuoteImage returns an image as it was written, for use in a sentence: in quotes, on one line and with a bounded
// length.
func QuoteImage(image string) string { return text.QuoteUpTo(shownImage, image) }
