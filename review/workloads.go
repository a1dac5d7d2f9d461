package review

import (
	"slices"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// Workloads returns the kinds whose objects controllers create Pods from. These are Kubernetes' workloads, and each
// version of the custom resources in the templates block of a policy. Supported clusters do not serve older versions of
// Kubernetes' workloads.
func Workloads(templates ...policy.Template) Objects[object.Workload] {
	kinds := []Kind{
		{"Deployment", Resource{"apps", "v1", "deployments"}, nil},
		{"StatefulSet", Resource{"apps", "v1", "statefulsets"}, nil},
		{"DaemonSet", Resource{"apps", "v1", "daemonsets"}, nil},
		{"ReplicaSet", Resource{"apps", "v1", "replicasets"}, nil},
		{"ReplicationController", Resource{"", "v1", "replicationcontrollers"}, nil},
		{"Job", Resource{"batch", "v1", "jobs"}, nil},
		{"CronJob", Resource{"batch", "v1", "cronjobs"}, nil},
		{"PodTemplate", Resource{"", "v1", "podtemplates"}, nil},
	}
	for _, t := range templates {
		for _, version := range t.Versions {
			kinds = append(kinds, Kind{t.Kind, Resource{t.Group, version, t.Resource}, nil})
		}
	}
	return Objects[object.Workload]{Kinds: kinds, readerOf: func(of Resource) reader[object.Workload] {
		if paths, images := pathsOf(of, templates); paths != nil {
			return func(r *jsonscan.Reader, w *object.Workload) { readWorkload(r, w, paths, images) }
		}
		return nil
	}}
}

// pathsOf returns the paths of the templates in an object of a resource, followed by the paths of single images. images
// is the index of the first of these. pathsOf returns nil if the resource does not have any paths.
func pathsOf(of Resource, templates []policy.Template) (paths []policy.TemplatePath, images int) {
	i := slices.IndexFunc(templates, func(t policy.Template) bool { return t.Group == of.Group && t.Resource == of.Name })
	switch {
	case i >= 0:
		return slices.Concat(templates[i].Paths, templates[i].Images), len(templates[i].Paths)
	case of.Name == "podtemplates":
		return []policy.TemplatePath{{"template"}}, 1
	case of.Name == "cronjobs":
		return []policy.TemplatePath{{"spec", "jobTemplate", "spec", "template"}}, 1
	case of.Name != "":
		return []policy.TemplatePath{{"spec", "template"}}, 1
	}
	return nil, 0
}

func readWorkload(r *jsonscan.Reader, w *object.Workload, paths []policy.TemplatePath, images int) {
	t := templateReader{Reader: r, paths: paths, images: images, found: func(pod object.Pod, path string) {
		w.Templates = append(jsonscan.Grown(w.Templates), object.PodTemplate{Pod: pod, Path: path})
	}}
	at := t.start()
	for name := range r.Fields {
		if string(name) == "metadata" {
			readMeta(r, &w.Meta)
		} else {
			t.field(at, name)
		}
	}
}
