package policy

import "github.com/evergate/evergate/policy/internal/match"

// deniedImages is images.denied: no image passes that one of the patterns covers, in whichever way it is written. So a
// pattern with a tag covers that tag also when a digest stands behind it, one of docker.io also the other names of
// Docker Hub, and docker.io/nginx also what it is short for, docker.io/library/nginx. What is not an image reference
// does not pass: where it is pulled from is for the runtime to say.
//
// An image that is written for a mirror is judged by where it is pulled from. One that is about to be rewritten is
// asked about as it was written: see originals.
type deniedImages struct{ denied match.ImageSet }

func (c deniedImages) id() string { return "images.denied" }

func (deniedImages) steps(*judgedImage) int { return 0 }

func (c deniedImages) passes(img *judgedImage, _ *subject) bool {
	_, denied := c.denied.FindUnderAnyName(img.ref)
	return img.err == nil && !denied
}

func (c deniedImages) fault(img *judgedImage, _ *subject) string {
	if img.err != nil {
		return img.malformed("counts as denied")
	}
	p, _ := c.denied.FindUnderAnyName(img.ref)
	return "is denied by " + p.String()
}
