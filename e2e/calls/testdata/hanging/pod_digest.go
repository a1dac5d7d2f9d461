package policy

import "strings"

// digestRequired never returns from judging an image of hang.example: what the test of a hung review is built with.
type digestRequired struct{}

func (digestRequired) id() string { return "images.digest" }

func (digestRequired) fault(img *judgedImage, _ *subject) string {
	if strings.HasPrefix(img.Ref, "hang.example/") {
		select {}
	}
	return ""
}
