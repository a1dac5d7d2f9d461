package offline

import (
	"errors"
	"fmt"
	"strings"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// Judge decides about objects one by one, as Review does, for callers that make a report of their own.
type Judge struct {
	Options
	kinds map[string]kind // by name
}

// NewJudge returns what judges by the policy of o.
func NewJudge(o Options) *Judge { return &Judge{o, kindsByName(o.Policy)} }

// Decide returns what the policy decides about an object that is applied; nil where objects of its kind are not judged.
// The error says where the object stands, and why it cannot be judged.
func (j *Judge) Decide(object Object) (*admission.Answer, error) {
	k, err := j.kindOf(object)
	if err != nil || k.judge == nil {
		return nil, err
	}
	return j.apply(object, k)
}

// Result returns a decision about an object as reports have it.
func (j *Judge) Result(object Object, a *admission.Answer) Result {
	return newResult(object, a, j.AsExisting, j.Explain)
}

func (j *Judge) question() admission.Question {
	return admission.Question{
		Policy: j.Policy, Existing: j.AsExisting, Explain: j.Explain, Recorded: j.Recorded, Sets: j.Sets, Now: j.Now,
	}
}

// apply judges what kube-apiserver would send to the webhook if the object were applied.
func (j *Judge) apply(object Object, k kind) (*admission.Answer, error) {
	answer, err := j.ask(object, k)
	if err == nil && k.makesPods() && len(answer.TemplateImages) == 0 && !strings.Contains(object.group(), ".") {
		err = errors.New("it has no template with an image, so that there is no Pod to judge")
	}
	if err != nil {
		return nil, &inputError{Origin: object.Origin, Err: fmt.Errorf("%s: %w", object, err)}
	}
	return answer, nil
}

func (j *Judge) ask(object Object, k kind) (*admission.Answer, error) {
	if object.Namespace == "" {
		object.Namespace = j.Namespace
	}
	a := policy.Attributes{
		Operation: policy.Create, Namespace: object.Namespace, Name: object.Name, User: j.User, Groups: j.Groups,
	}
	old, found := j.Old.find(object)
	switch {
	case found:
		a.Operation = policy.Update
	case j.Operation == policy.Update:
		return nil, errors.New("to judge an update, --old must hold the object as it was: it has none of this " +
			"kind, namespace and name")
	}
	return k.judge.Object(j.question(), a, object.JSON, old.JSON)
}
