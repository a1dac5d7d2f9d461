package mirrors

import (
	"errors"
	"iter"
	"slices"
	"strings"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/review"
)

// Images returns the images in Pods and in the Pod templates of workloads, each once, in their order. It ignores other
// objects.
func Images(objects iter.Seq2[offline.Object, error]) (all []string, err error) {
	seen := map[string]bool{}
	for object, err := range objects {
		if _, skipped := errors.AsType[*offline.SkippedError](err); skipped {
			continue
		}
		if err != nil {
			return nil, err
		}
		images, err := imagesOf(object)
		if err != nil {
			return nil, err
		}
		for _, image := range images {
			if !seen[image] {
				seen[image] = true
				all = append(all, image)
			}
		}
	}
	return all, nil
}

// imagesOf returns the images in an object.
func imagesOf(o offline.Object) (all []string, err error) {
	if o.Kind == "Pod" && o.APIVersion == "v1" {
		pod, err := review.Pods().Parse(o.JSON)
		if err != nil {
			return nil, o.Errorf("%v", err)
		}
		for _, image := range pod.Images {
			all = append(all, image.Ref)
		}
		return all, nil
	}
	kinds := review.Workloads().Kinds
	i := slices.IndexFunc(kinds, func(k review.Kind) bool {
		return k.Name == o.Kind && o.APIVersion == strings.TrimPrefix(k.Resource.Group+"/"+k.Resource.Version, "/")
	})
	if i < 0 {
		return nil, nil
	}
	workload, err := review.Workloads().ParseAs(kinds[i].Resource, o.JSON)
	if err != nil {
		return nil, o.Errorf("%v", err)
	}
	for _, template := range workload.Templates {
		for _, image := range template.Pod.Images {
			all = append(all, image.Ref)
		}
	}
	return all, nil
}
