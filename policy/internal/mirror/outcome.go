package mirror

import (
	"cmp"

	"github.com/evergate/evergate/policy/internal/match"
	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/object"
)

// ImageOutcome is what happens to one image, and why.
type ImageOutcome struct {
	Image   object.Image
	Outcome Outcome
	Name    string    // the image as policies name it: set when Outcome is NoMirror
	Entry   string    // the mirrors entry that decides; empty if no entry does
	Mode    rule.Mode // mode of that entry
	To      string    // the image that replaces it: set when Outcome is Rewritten or WouldRewrite
	// PullSecret is the imagePullSecret of the entry. It is set when To is set, and empty if the entry has no pull
	// secret.
	PullSecret string
	Detail     string // the parser's error, the pattern that excludes the image or the rule that denies it; may be empty
}

// Outcome is what happens to an image.
type Outcome uint8

// The outcomes of an image.
const (
	NoMirror     Outcome = iota // no source covers it
	Rewritten                   // an entry in mode enforce rewrites it
	WouldRewrite                // an entry in mode warn or audit covers it: reported only
	AtMirror                    // it is already at a mirror
	Excluded                    // the entry that covers it excludes it
	Unchanged                   // the update does not change this image
	Malformed                   // the image or its rewritten form is not a valid image reference
	Denied                      // a rule in mode enforce denies the original image, so it is not rewritten
	Ignored                     // a subresource that cannot change an image
	NeverPulled                 // imagePullPolicy is Never: kubelet looks the image up on the node by its name
	Placeholder                 // the image is filled in later, by a controller or by another webhook
	// Outcomes is the number of outcomes.
	Outcomes
)

// String returns the outcome in one to three words: "would be rewritten".
func (o Outcome) String() string {
	return [...]string{
		NoMirror:     "no mirror",
		Rewritten:    "rewritten",
		WouldRewrite: "would be rewritten",
		AtMirror:     "at a mirror",
		Excluded:     "excluded",
		Unchanged:    "unchanged",
		Malformed:    "malformed",
		Denied:       "denied",
		Ignored:      "ignored",
		NeverPulled:  "never pulled",
		Placeholder:  "placeholder",
	}[o]
}

// Why returns the outcome and its reason in one sentence, without the image and without a full stop.
func (o *ImageOutcome) Why() string {
	switch o.Outcome {
	case Rewritten:
		return "pulled from " + o.To + o.withSecret() + " by mirrors entry " + o.Entry
	case WouldRewrite:
		return "would be pulled from " + o.To + o.withSecret() + " if mirrors entry " + o.Entry + " were in mode enforce; " +
			"it is in mode " + o.Mode.String()
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
	case NeverPulled:
		return "not rewritten by mirrors entry " + o.Entry + ": its pull policy is Never, and kubelet looks for the image " +
			"on the node by this name"
	case Placeholder:
		return "not evaluated: the image is filled in before the Pod is stored, and evaluated then"
	case Ignored:
		return "not evaluated: the request cannot change it"
	default:
		return o.whyNoMirror()
	}
}

func (o *ImageOutcome) withSecret() string {
	if o.PullSecret == "" {
		return ""
	}
	return " with pull secret " + o.PullSecret
}

func (o *ImageOutcome) whyNoMirror() string {
	name := cmp.Or(o.Name, match.QuoteImage(o.Image.Ref))
	if o.Detail != "" {
		return "no source covers " + name + " here: " + o.Detail
	}
	return "no source covers " + name
}
