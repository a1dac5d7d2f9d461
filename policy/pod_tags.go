package policy

// deniedTags is images.deniedTags: no image passes whose tag one of the patterns covers. An image with neither tag nor
// digest means latest. A tag is judged also when a digest stands behind it; an image with only a digest has none and
// passes, and so does what is not an image reference.
type deniedTags struct{ denied []glob }

func (c deniedTags) id() string { return "images.deniedTags" }

func (c deniedTags) fault(img *judgedImage, _ *subject) string {
	if img.err != nil {
		return ""
	}
	tag, says := img.ref.tag(), "has the tag "+img.ref.tag()
	if img.ref.suffix == "" {
		tag, says = "latest", "has neither tag nor digest, which means latest"
	}
	by, denied := matchAny(c.denied, tag)
	switch {
	case tag == "" || !denied:
		return ""
	case string(by) == tag:
		return says + ", and that is denied"
	default:
		return says + ", and that is denied by " + string(by)
	}
}
