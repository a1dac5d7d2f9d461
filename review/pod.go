package review

import (
	"cmp"
	"slices"

	"github.com/evergate/evergate/policy"
)

func (r *reader) pod(p *policy.Pod) {
	for field := range r.fields(objectFields) {
		switch field {
		case "metadata":
			r.meta(&p.Meta, podMetaFields)
		case "spec":
			p.Images = r.podSpec()
		}
	}
}

var podFields = fieldsOf("volumes", "initContainers", "containers", "ephemeralContainers", "-restartPolicy",
	"-terminationGracePeriodSeconds", "-dnsPolicy", "-nodeSelector", "-serviceAccountName", "-serviceAccount", "-securityContext",
	"-affinity", "-schedulerName", "-tolerations", "-priority", "-enableServiceLinks", "-preemptionPolicy")

// podSpec returns the images of a Pod, whatever the order of its fields.
func (r *reader) podSpec() []policy.Image {
	var room lists[policy.Image]
	images := room.begin()
	for field := range r.fields(podFields) {
		switch field {
		case "containers":
			images = r.containers(images, policy.Containers)
		case "initContainers":
			images = r.containers(images, policy.InitContainers)
		case "ephemeralContainers":
			images = r.containers(images, policy.EphemeralContainers)
		case "volumes":
			images = r.volumes(images)
		}
	}
	slices.SortStableFunc(images, func(a, b policy.Image) int { return cmp.Compare(a.Place, b.Place) })
	return room.end(images)
}

var containerFields = fieldsOf("name", "image", "-command", "-args", "-ports", "-envFrom", "-env", "-resources", "-volumeMounts",
	"-livenessProbe", "-readinessProbe", "-startupProbe", "-terminationMessagePath", "-terminationMessagePolicy", "-imagePullPolicy",
	"-securityContext")

func (r *reader) containers(images []policy.Image, place policy.Place) []policy.Image {
	for i := range r.items {
		image := policy.Image{Place: place, Index: i}
		for field := range r.fields(containerFields) {
			switch field {
			case "name":
				image.Name = r.string()
			case "image":
				image.Ref = r.string()
			}
		}
		images = append(doubled(images), image)
	}
	return images
}

var volumeFields = fieldsOf("name", "-secret", "-configMap", "-projected", "image")

func (r *reader) volumes(images []policy.Image) []policy.Image {
	for i := range r.items {
		image := policy.Image{Place: policy.Volumes, Index: i}
		var ref *string
		for field := range r.fields(volumeFields) {
			switch field {
			case "name":
				image.Name = r.string()
			case "image":
				ref = optional(r, (*reader).imageSource)
			}
		}
		if ref != nil {
			image.Ref = *ref
			images = append(doubled(images), image)
		}
	}
	return images
}

var imageFields = fieldsOf("reference", "-pullPolicy")

// imageSource reads the part of a volume that makes it an image volume.
func (r *reader) imageSource(ref *string) {
	for field := range r.fields(imageFields) {
		if field == "reference" {
			*ref = r.string()
		}
	}
}
