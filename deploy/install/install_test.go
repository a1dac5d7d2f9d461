package install

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A selector that cannot be parsed selects everything, so a webhook with it is checked.
func TestSelects(t *testing.T) {
	is := func(operator metav1.LabelSelectorOperator) *metav1.LabelSelector {
		return &metav1.LabelSelector{MatchExpressions: []metav1.LabelSelectorRequirement{{
			Key: "a", Operator: operator, Values: []string{"b"},
		}}}
	}
	wants := map[metav1.LabelSelectorOperator]bool{"In": false, "NotIn": true, "Exists": true, "Is": true}
	for operator, want := range wants {
		if got := Selects(is(operator), nil); got != want {
			t.Errorf("%s: %t", operator, got)
		}
	}
	if !Selects(nil, nil) {
		t.Error("nil selects nothing")
	}
}
