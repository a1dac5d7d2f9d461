package images

import "github.com/evergate/evergate/policy/internal/rule"

// digestRequired is images.digest: required. An image passes if it is pinned by a digest, with or without a tag. A tag
// can be moved to other content, but a digest cannot. A text that is not an image reference does not pass.
//
// This file contains only this check. TestHungReview in e2e/calls replaces the file with testdata/hanging/digest.go (go
// build -overlay) to build a process whose reviews hang. A change to imageCheck must change both files.
type digestRequired struct{}

func (digestRequired) id() string { return "images.digest" }

func (digestRequired) passes(img *podImage, _ *rule.Subject) bool { return img.ref.Digest() != "" }

func (digestRequired) fault(img *podImage, _ *rule.Subject) string {
	if img.err != nil {
		return img.malformed("has no digest")
	}
	return "has no digest; write " + img.Ref + "@sha256:<digest>"
}
