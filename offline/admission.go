package offline

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// admissionReview decides a review that was recorded from kube-apiserver.
func (r *reviewer) admissionReview(object Object) error {
	if object.Kind != "AdmissionReview" {
		return object.Errorf("%s is a manifest, not a review: leave out --admission-review", object)
	}
	var about struct {
		Group    string `json:"group"`
		Resource string `json:"resource"`
	}
	value, err := field(object.JSON, "request", "resource")
	if err == nil {
		err = json.Unmarshal(value, &about)
	}
	if err != nil || about.Resource == "" {
		return object.Errorf("the review has no request.resource: give a review that kube-apiserver has sent")
	}
	kinds := admission.KindsIn(r.Options.Policy)
	i := slices.IndexFunc(kinds, func(k admission.Kind) bool {
		return k.Resource.Group == about.Group && k.Resource.Name == about.Resource
	})
	if i < 0 {
		object.Name = about.Resource
		r.skip(object, "not validated")
		return nil
	}
	a, err := kinds[i].Review(r.question(object), object.JSON)
	if err != nil {
		return &inputError{Origin: object.Origin, Err: fmt.Errorf("the review cannot be decided: %w", err)}
	}
	object.Kind, object.Namespace, object.Name = kinds[i].Name, a.Namespace, a.Name
	if pod, ok := a.Object.(*policy.Pod); ok && object.Name == "" && pod != nil {
		object.Name = pod.GenerateName // the API server appends the random suffix after admission
	}
	if !a.IsValidated() {
		r.skip(object, string(a.Operation)+" is not validated")
		return nil
	}
	r.add(object, a)
	return nil
}
