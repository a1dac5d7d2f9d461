package policy

// digestRequired is images.digest: required. An image passes when it is pinned by a digest, with a tag before it or
// without: a tag can be moved to other content, a digest cannot. A text that is not an image reference does not pass.
//
// This file has one check only, since TestHungReview in e2e/calls overlays it with testdata/hanging/pod_digest.go
// (go build -overlay), to build a process whose reviews get stuck. A change of imageCheck has to change both files.
type digestRequired struct{}

func (digestRequired) id() string { return "images.digest" }

func (digestRequired) steps(*podImage) int { return 0 }

func (digestRequired) passes(img *podImage, _ *subject) bool { return img.ref.Digest() != "" }

func (digestRequired) fault(img *podImage, _ *subject) string {
	if img.err != nil {
		return img.malformed("has no digest")
	}
	return "has no digest; write " + img.Ref + "@sha256:<digest>"
}
