package policy

import "github.com/evergate/evergate/policy/internal/match"

// deniedTags is images.deniedTags: no image passes whose tag one of the patterns covers. An image with neither tag nor
// digest means latest. A tag is judged also when a digest stands behind it; an image with only a digest has none and
// passes. What is not an image reference does not: its tag is for the runtime to say.
type deniedTags struct{ denied []match.Glob }

func (c deniedTags) id() string { return "images.deniedTags" }

func (c deniedTags) steps(img *judgedImage) int { return stepsOf(len(c.denied), img.ref.Tag()) }

func (c deniedTags) passes(img *judgedImage, _ *subject) bool {
	_, _, denied := c.by(img)
	return img.err == nil && !denied
}

func (c deniedTags) fault(img *judgedImage, _ *subject) string {
	if img.err != nil {
		return img.malformed("counts as having a denied tag")
	}
	tag, by, _ := c.by(img)
	says := "has the tag " + tag
	if img.ref.Suffix == "" {
		says = "has neither tag nor digest, which means latest"
	}
	if string(by) == tag {
		return says + ", and that is denied"
	}
	return says + ", and that is denied by " + string(by)
}

// by returns the tag that an image means, and the pattern that denies it.
func (c deniedTags) by(img *judgedImage) (tag string, by match.Glob, denied bool) {
	tag = img.ref.Tag()
	if img.ref.Suffix == "" {
		tag = "latest"
	}
	by, denied = match.FirstGlob(c.denied, tag)
	return tag, by, denied && tag != ""
}
