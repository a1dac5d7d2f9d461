package deploy

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// containsAll reports whether a map has all pairs of another map. It is false if the other map is empty.
func containsAll(set, subset map[string]string) bool {
	for key, value := range subset {
		if got, ok := set[key]; !ok || got != value {
			return false
		}
	}
	return len(subset) > 0
}

// anything reports whether a selector selects everything, because it is nil or has no requirements.
func anything(s *metav1.LabelSelector) bool {
	return s == nil || len(s.MatchLabels)+len(s.MatchExpressions) == 0
}

// selects reports whether a webhook's selector selects objects with these labels. A selector that cannot be parsed,
// which the API server rejects, selects everything.
func selects(s *metav1.LabelSelector, set map[string]string) bool {
	if anything(s) {
		return true
	}
	parsed, err := metav1.LabelSelectorAsSelector(s)
	return err != nil || parsed.Matches(labels.Set(set))
}

// canSelect reports whether any labels let a selector select a namespace with this name. Any user who may label the
// namespace can set all labels except kubernetes.io/metadata.name, so only requirements on this label exclude it for
// good.
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
