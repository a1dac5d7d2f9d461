package mirrors

import (
	"errors"
	"iter"
	"slices"

	"github.com/evergate/evergate/offline"
)

type container struct {
	Image string `json:"image"`
}

type podTemplate struct {
	Spec struct {
		Containers          []container `json:"containers"`
		InitContainers      []container `json:"initContainers"`
		EphemeralContainers []container `json:"ephemeralContainers"`
		Volumes             []struct {
			Image struct {
				Reference string `json:"reference"`
			} `json:"image"`
		} `json:"volumes"`
	} `json:"spec"`
}

// Images returns the images in Pods and in the Pod templates of workloads, each once, in alphabetical order. It ignores
// other objects.
func Images(objects iter.Seq2[offline.Object, error]) (all []string, err error) {
	for o, err := range objects {
		if _, skipped := errors.AsType[*offline.SkippedError](err); skipped {
			continue
		}
		var pod podTemplate
		var workload struct {
			Spec struct {
				Template    podTemplate `json:"template"`
				JobTemplate struct {
					Spec struct {
						Template podTemplate `json:"template"`
					} `json:"spec"`
				} `json:"jobTemplate"`
			} `json:"spec"`
		}
		switch {
		case err != nil:
		case o.Kind == "Pod":
			err = o.Unmarshal(&pod)
		case slices.Contains([]string{"Deployment", "StatefulSet", "DaemonSet", "ReplicaSet", "Job", "CronJob"}, o.Kind):
			err = o.Unmarshal(&workload)
		}
		if err != nil {
			return nil, err
		}
		for _, t := range []podTemplate{pod, workload.Spec.Template, workload.Spec.JobTemplate.Spec.Template} {
			for _, c := range slices.Concat(t.Spec.InitContainers, t.Spec.Containers, t.Spec.EphemeralContainers) {
				all = append(all, c.Image)
			}
			for _, v := range t.Spec.Volumes {
				all = append(all, v.Image.Reference)
			}
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Compact(all), func(s string) bool { return s == "" }), nil
}
