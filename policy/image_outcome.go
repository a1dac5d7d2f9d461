package policy

import "github.com/evergate/evergate/policy/internal/match"

// ImageOutcome says what becomes of one image, and why.
type ImageOutcome struct {
	Image   Image
	Outcome Outcome
	Entry   string // the mirrors entry that decided; empty where none did
	Mode    Mode   // of that entry
	To      string // where it is pulled from instead: set when Outcome is Rewritten or WouldRewrite
	Detail  string // more where there is more to say: the parser's words, the pattern that excluded it, the rule that denies it
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
	Malformed                   // it does not parse as an image reference, or would not once rewritten
	Denied                      // by a rule in mode enforce, as it is written: so it is not rewritten
	Ignored                     // a mirror Pod, or a subresource that cannot change an image
)

var outcomeWords = [...]string{
	NoMirror:     "no mirror",
	Rewritten:    "rewritten",
	WouldRewrite: "would be rewritten",
	AtMirror:     "at a mirror",
	Excluded:     "excluded",
	Unchanged:    "unchanged",
	Malformed:    "malformed",
	Denied:       "denied",
	Ignored:      "ignored",
}

// String names the outcome in a word or two: "would be rewritten".
func (o Outcome) String() string { return outcomeWords[o] }

// Why tells in one sentence, without the image and without a full stop, what becomes of the image and why.
func (o *ImageOutcome) Why() string {
	switch o.Outcome {
	case Rewritten:
		return "pulled from " + o.To + " by mirrors entry " + o.Entry
	case WouldRewrite:
		return "would be pulled from " + o.To + " if mirrors entry " + o.Entry + " were in mode enforce; it is in mode " +
			o.Mode.String()
	case AtMirror:
		return "already at mirror " + o.Entry
	case Excluded:
		return "excluded by mirrors entry " + o.Entry + ": " + o.Detail
	case Unchanged:
		return "unchanged by this update"
	case Malformed:
		if o.Entry != "" {
			return "cannot be rewritten by mirrors entry " + o.Entry + ": " + o.Detail
		}
		return "not an image reference: " + o.Detail
	case Denied:
		return "not rewritten by mirrors entry " + o.Entry + ": " + o.Detail
	case Ignored:
		return "not looked at: it belongs to the mirror Pod of a static Pod, or the request cannot change it"
	default:
		return o.whyNoMirror()
	}
}

func (o *ImageOutcome) whyNoMirror() string {
	name := match.QuoteImage(o.Image.Ref)
	if ref, err := match.ParseReference(o.Image.Ref); err == nil {
		name = ref.Name
	}
	if o.Detail != "" {
		return "no source covers " + name + " here: " + o.Detail
	}
	return "no source covers " + name
}
