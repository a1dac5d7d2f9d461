package policy

import "github.com/evergate/evergate/policy/internal/strict"

type mirrorEntry struct {
	header
}

type mirrorTable struct{}

func (t *mirrorTable) len() int { return 0 }

func compileMirrors(entries []mirrorEntry) (*mirrorTable, strict.Errors) { return &mirrorTable{}, nil }

// Rewriting says for every image of a Pod what becomes of it.
type Rewriting struct {
	Images []ImageOutcome // one for each element of Pod.Images, in the same order
}

// Changes says whether any image is to be replaced.
func (r Rewriting) Changes() bool {
	for i := range r.Images {
		if r.Images[i].Outcome == Rewritten {
			return true
		}
	}
	return false
}

// ImageOutcome says what becomes of one image, and why.
type ImageOutcome struct {
	Image   Image
	Outcome Outcome
	Entry   string // the mirrors entry that decided; empty where none did
	Mode    Mode   // of that entry
	To      string // where it is pulled from instead: set when Outcome is Rewritten or WouldRewrite
	Detail  string // more about the outcome where there is more to say: the parser's words, the pattern that excluded it
}

// Outcome is what becomes of an image.
type Outcome uint8

// What can become of an image.
const (
	NoMirror     Outcome = iota // no source covers it
	Rewritten                   // by an entry in mode enforce
	WouldRewrite                // by an entry in mode warn or audit: told, not done
	AtMirror                    // it already stands at a mirror
	Excluded                    // the entry that covers it excludes it
	Unchanged                   // an update that does not touch this image
	Malformed                   // it does not parse as an image reference
	Ignored                     // a mirror Pod, or a subresource that cannot change an image
)

// RewritePod says for every image of pod which mirror it is pulled from. old is the Pod before an update, nil
// otherwise: only images that the update changes are rewritten.
func (p *Policy) RewritePod(a Attributes, pod, old *Pod) Rewriting { return Rewriting{} }

// imagePattern covers images by name: a registry, a registry and path prefix, one image.
type imagePattern struct{}

func (p *imagePattern) UnmarshalText(text []byte) error { return nil }
