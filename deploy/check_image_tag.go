package deploy

import "github.com/distribution/reference"

// imageTag checks that the image has a digest, or a tag other than latest.
func imageTag() check {
	return check{
		id: "image-tag", severity: Error,
		finds: "an image without a tag, or with the tag latest",
		why: "replicas of one Deployment run different versions, depending on when their nodes pulled the image, " +
			"and a rollback does not restore the old version",
		fix: "set a version or a digest, for example with images: [{name: ghcr.io/evergate/evergate, newTag: " +
			"v0.1.0}] in the overlay",
		run: eachServer(func(_ *cluster, s *server, r *reporter) {
			named, err := reference.ParseNormalizedNamed(s.container.Image)
			if err != nil {
				r.error(s.process, "%q is not an image: %v", s.container.Image, err)
				return
			}
			if _, ok := named.(reference.Digested); ok {
				return
			}
			if tagged, ok := reference.TagNameOnly(named).(reference.Tagged); ok && tagged.Tag() == "latest" {
				r.error(s.process, "its image is %s, which does not have a version", s.container.Image)
			}
		}),
	}
}
