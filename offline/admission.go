package offline

import (
	"fmt"

	"github.com/go-json-experiment/json"
)

// groupResource names what a review is about.
type groupResource struct {
	Group    string `json:"group"`
	Resource string `json:"resource"`
}

// reviewed holds the kinds of which reviews are judged.
var reviewed = map[groupResource]string{
	{"", "pods"}:                       "Pod",
	{"", "services"}:                   "Service",
	{"networking.k8s.io", "ingresses"}: "Ingress",
}

// admissionReview judges a request as kube-apiserver has sent it.
func (o *Options) admissionReview(object Object, c *collector) error {
	if object.Kind != "AdmissionReview" {
		return object.errorf("%s is a manifest, not a review: leave out --admission-review", object)
	}
	var about groupResource
	value, err := field(object.JSON, "request", "resource")
	if err == nil {
		err = json.Unmarshal(value, &about)
	}
	if err != nil || about.Resource == "" {
		return object.errorf("the review has no request.resource: it must be one that kube-apiserver has sent")
	}
	k, ok := kinds[reviewed[about]]
	if !ok {
		object.Name = about.Resource
		c.skip(object, "not judged")
		return nil
	}
	v, err := k.judge.review(o, object.JSON)
	if err != nil {
		return &InputError{object.Origin, fmt.Errorf("the review cannot be judged: %w", err)}
	}
	object.Kind, object.Namespace, object.Name = reviewed[about], v.attributes.Namespace, v.attributes.Name
	if object.Name == "" && v.pod != nil {
		object.Name = v.pod.GenerateName // the API server completes it after admission
	}
	if !v.judged() {
		c.skip(object, string(v.attributes.Operation)+" is not judged")
		return nil
	}
	c.add(object, k, v)
	return nil
}
