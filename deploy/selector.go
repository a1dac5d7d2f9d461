package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// containsAll reports whether a map has all pairs of another, which has at least one.
func containsAll(set, subset map[string]string) bool {
	for key, value := range subset {
		if got, ok := set[key]; !ok || got != value {
			return false
		}
	}
	return len(subset) > 0
}

// anything reports whether a selector is absent or has no requirement: then it selects everything.
func anything(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// selects reports whether a webhook's selector selects objects with these labels. One that cannot be parsed is refused
// by the API server; here it selects everything.
func selects(s *metav1.LabelSelector, set map[string]string) bool {
	if anything(s) {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || parsed.Matches(labels.Set(set))
}

// canSelect reports whether there are labels with which a namespace of this name is selected. All labels but
// kubernetes.io/metadata.name can be set by any user who may label the namespace, so that only requirements on that one
// keep it out for good.
func canSelect(s *metav1.LabelSelector, namespace string) bool {
	if anything(s) {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	if err != nil {
		return true
	}
	requirements, _ := parsed.Requirements()
	name := labels.Set{corev1.LabelMetadataName: namespace}
	return !slices.ContainsFunc(requirements, func(r labels.Requirement) bool {
		return r.Key() == corev1.LabelMetadataName && !r.Matches(name)
	})
}
