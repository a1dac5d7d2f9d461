package policy

// allowedImages is images.allowed without from: an image passes when one of the patterns covers it. With [] nothing
// passes. What is not an image reference does not pass.
type allowedImages struct {
	allowed imageSet
	pass    string // what would pass
}

func newAllowedImages(patterns []imagePattern) allowedImages {
	c := allowedImages{newImageSet(patterns), "no image is"}
	if len(patterns) > 0 {
		names := make([]string, len(patterns))
		for i, p := range patterns {
			names[i] = p.String()
		}
		c.pass = "allowed are " + listing(names)
	}
	return c
}

func (c allowedImages) id() string { return "images.allowed" }

func (c allowedImages) fault(img *judgedImage, _ *subject) string {
	if img.err != nil {
		return img.malformed("is not allowed")
	}
	if _, ok := c.allowed.find(img.ref); ok {
		return ""
	}
	return "is not allowed; " + c.pass
}
