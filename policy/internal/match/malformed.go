package match

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evergate/evergate/internal/text"
)

// These errors are the reasons why a text is not a reference. If the grammar's implementation has a message, they use
// its words, because kubelet and containerd show them too.
var (
	errFormat      = errors.New("invalid reference format")
	errPathTooLong = errors.New("repository name must not be more than 255 characters")
	errEmpty       = errors.New("it is empty")
	errAlgorithm   = errors.New("unsupported digest algorithm")
	errDigits      = errors.New("invalid checksum digest length")
	errImageID     = errors.New("a node may take it for the ID of any image on the node, or for the start of an ID: " +
		"write a name")
)

// whyMalformed returns the reason why s is not a reference. path is the part of s in the position of the path, and
// registry is the error about the part in the position of the registry, or nil.
func whyMalformed(s, path string, registry error) error {
	if s == "" {
		return errEmpty
	}
	for _, c := range s {
		if c <= ' ' || c > '~' {
			return fmt.Errorf("it has the character %s, which no image reference has", text.QuoteRune(c))
		}
	}
	if path, _, _ = strings.Cut(path, ":"); LowerASCII(path) != path {
		if !strings.Contains(s, "/") {
			path = "library/" + path
		}
		return fmt.Errorf("invalid reference format: repository name (%s) must be lowercase",
			text.Truncate(path, shownImage))
	}
	switch {
	case isImageID(s) && !strings.Contains(s, ":"):
		return fmt.Errorf("invalid repository name (%s), cannot specify 64-byte hexadecimal strings", s)
	case isImageID(s):
		return errImageID
	case registry != nil:
		return registry
	case !isWords(path, "/_"):
		return errFormat
	case len(path) > maxPath:
		return errPathTooLong
	}
	return whyNoVersion(s[nameEnd(s):])
}

// whyNoVersion returns the reason why s is not a tag and digest.
func whyNoVersion(s string) error {
	tag, digest, pinned := strings.Cut(s, "@")
	algorithm, hex, found := strings.Cut(digest, ":")
	const leastDigits = 32 // minimum number of digits of a digest in the grammar
	switch {
	case !pinned, !isVersion(tag), !found, len(hex) < leastDigits, strings.Trim(hex, "0123456789abcdefABCDEF") != "":
		return errFormat
	case digestDigits(algorithm) == 0:
		return errAlgorithm
	case digestDigits(algorithm) != len(hex):
		return errDigits
	}
	return errFormat
}
