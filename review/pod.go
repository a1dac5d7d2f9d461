package review

import (
	"cmp"
	"slices"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy/object"
)

func readPod(r *jsonscan.Reader, p *object.Pod) {
	for name := range r.Fields {
		switch string(name) {
		case "metadata":
			readMeta(r, &p.Meta)
		case "spec":
			readPodSpec(r, p)
		}
	}
}

// readPodSpec reads a Pod's images and pull secrets.
func readPodSpec(r *jsonscan.Reader, p *object.Pod) {
	for name := range r.Fields {
		readPodSpecField(r, p, name)
	}
	sortImages(p)
}

// readPodSpecField reads a field of a PodSpec and skips other fields.
func readPodSpecField(r *jsonscan.Reader, p *object.Pod, name []byte) {
	switch string(name) {
	case "containers":
		p.Images = readImages(r, p.Images, object.Containers)
	case "initContainers":
		p.Images = readImages(r, p.Images, object.InitContainers)
	case "ephemeralContainers":
		p.Images = readImages(r, p.Images, object.EphemeralContainers)
	case "volumes":
		p.Images = readImages(r, p.Images, object.Volumes)
	case "securityContext":
		if ref := readNested(r, "seccompProfile", "oci", "ref"); ref != "" {
			p.Images = append(p.Images, object.Image{Place: object.PodProfile, Ref: ref})
		}
	case "imagePullSecrets":
		p.ImagePullSecrets = readPullSecrets(r)
	}
}

// sortImages sorts a Pod's images by object.Place, whatever the order of its fields.
func sortImages(p *object.Pod) {
	slices.SortStableFunc(p.Images, func(a, b object.Image) int { return cmp.Compare(a.Place, b.Place) })
}

// readPullSecrets returns the names in a list of references. It returns nil for null, and an empty slice for an empty
// list.
func readPullSecrets(r *jsonscan.Reader) []string {
	if r.Null() {
		return nil
	}
	names := []string{}
	for range r.Items {
		names = append(names, readNested(r, "name")) // the API server accepts a reference without a name
	}
	return names
}

// readImages reads the images in a list of containers or volumes. Most volumes do not have an image.
func readImages(r *jsonscan.Reader, images []object.Image, place object.Place) []object.Image {
	isVolume := place == object.Volumes
	for i := range r.Items {
		image, found, ref := object.Image{Place: place, Index: i}, !isVolume, ""
		for name := range r.Fields {
			switch {
			case string(name) == "name":
				image.Name = r.String()
			case string(name) == "image" && isVolume:
				found = readImageVolume(r, &image)
			case string(name) == "image":
				image.Ref = r.String()
			case string(name) == "imagePullPolicy" && !isVolume:
				image.PullPolicy = r.String()
			case string(name) == "securityContext" && !isVolume:
				ref = readNested(r, "seccompProfile", "oci", "ref")
			}
		}
		if found {
			images = append(jsonscan.Grown(images), image)
		}
		if ref != "" {
			images = append(images, object.Image{Place: object.ContainerProfiles + place, Index: i, Name: image.Name, Ref: ref})
		}
	}
	return images
}

// readImageVolume reads the source of an image volume and reports whether it is set. null counts as absent.
func readImageVolume(r *jsonscan.Reader, image *object.Image) bool {
	if r.Null() {
		return false
	}
	for name := range r.Fields {
		switch string(name) {
		case "reference":
			image.Ref = r.String()
		case "pullPolicy":
			image.PullPolicy = r.String()
		}
	}
	return true
}

// readNested returns the string at a path of fields. It is empty if a field of the path is absent.
func readNested(r *jsonscan.Reader, path ...string) (s string) {
	if len(path) == 0 {
		return r.String()
	}
	for name := range r.Fields {
		if string(name) == path[0] {
			s = readNested(r, path[1:]...)
		}
	}
	return s
}
