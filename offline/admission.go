package offline

import (
	"fmt"
	"slices"

	"github.com/go-json-experiment/json"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy/object"
)

// admissionReview decides a review that was recorded from kube-apiserver.
func (r *reviewer) admissionReview(obj Object) error {
	if obj.Kind != "AdmissionReview" {
		return obj.Errorf("%s is a manifest, not a review: leave out --admission-review", obj)
	}
	var about struct {
		Group    string `json:"group"`
		Resource string `json:"resource"`
	}
	value, err := field(obj.JSON, "request", "resource")
	if err == nil {
		err = json.Unmarshal(value, &about)
	}
	if err != nil || about.Resource == "" {
		return obj.Errorf("the review has no request.resource: give a review that kube-apiserver has sent")
	}
	kinds := admission.KindsIn(r.Options.Policy)
	i := slices.IndexFunc(kinds, func(k admission.Kind) bool {
		return k.Resource.Group == about.Group && k.Resource.Name == about.Resource
	})
	if i < 0 {
		obj.Name = about.Resource
		r.skip(obj, "not validated")
		return nil
	}
	a, err := kinds[i].Review(r.question(obj), obj.JSON)
	if err != nil {
		return &inputError{Origin: obj.Origin, Err: fmt.Errorf("the review cannot be decided: %w", err)}
	}
	obj.Kind, obj.Namespace, obj.Name = kinds[i].Name, a.Namespace, a.Name
	if pod, ok := a.Object.(*object.Pod); ok && obj.Name == "" && pod != nil {
		obj.Name = pod.GenerateName // the API server appends the random suffix after admission
	}
	if !a.IsValidated() {
		r.skip(obj, string(a.Operation)+" is not validated")
		return nil
	}
	r.add(obj, a)
	return nil
}
