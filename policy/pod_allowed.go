package policy

import (
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/match"
)

// allowedImages is images.allowed without from: an image passes when one of the patterns covers it. With [] nothing
// passes. What is not an image reference does not pass.
type allowedImages struct {
	allowed match.ImageSet
	pass    string // what would pass
}

func newAllowedImages(patterns []match.ImagePattern) allowedImages {
	c := allowedImages{match.NewImageSet(patterns), "no image is"}
	if len(patterns) > 0 {
		c.pass = "allowed are " + text.List(stringsOf(patterns))
	}
	return c
}

func (c allowedImages) id() string { return "images.allowed" }

func (allowedImages) steps(*judgedImage) int { return 0 }

func (c allowedImages) passes(img *judgedImage, _ *subject) bool {
	_, ok := c.allowed.Find(img.ref)
	return ok && img.err == nil
}

func (c allowedImages) fault(img *judgedImage, _ *subject) string {
	if img.err != nil {
		return img.malformed("is not allowed")
	}
	return "is not allowed; " + c.pass
}
