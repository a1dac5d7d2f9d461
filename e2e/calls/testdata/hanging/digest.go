package images

import (
	"strings"

	"github.com/evergate/evergate/policy/internal/rule"
)

// digestRequired never returns from the evaluation of an image of hang.example. The test of a hung review builds a
// server with it.
type digestRequired struct{}

func (digestRequired) id() string { return "images.digest" }

func (digestRequired) passes(img *podImage, _ *rule.Subject) bool {
	if strings.HasPrefix(img.Ref, "hang.example/") {
		select {}
	}
	return true
}

func (digestRequired) fault(*podImage, *rule.Subject) string { return "" }
