package policy

// digestRequired is images.digest: required. An image passes when it is pinned by a digest, with a tag before it or
// without: a tag can be moved to other content, a digest cannot. What is not an image reference does not pass.
//
// The test of a stuck review overlays this file: its methods are those of e2e/calls/testdata/hanging/pod_digest.go.
type digestRequired struct{}

func (digestRequired) id() string { return "images.digest" }

func (digestRequired) steps(*judgedImage) int { return 0 }

func (digestRequired) passes(img *judgedImage, _ *subject) bool { return img.ref.Digest() != "" }

func (digestRequired) fault(img *judgedImage, _ *subject) string {
	if img.err != nil {
		return img.malformed("has no digest")
	}
	return "has no digest; write " + img.Ref + "@sha256:<digest>"
}
