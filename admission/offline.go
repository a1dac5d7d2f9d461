package admission

import (
	"errors"
	"slices"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

// Kind is a kind of objects that is evaluated, for callers that need the decisions of all its webhooks together.
type Kind struct {
	review.Kind
	// MakesPods is true if controllers create Pods from the objects. In an audit of existing objects, the Pods are then
	// evaluated instead.
	MakesPods bool
	// Subresources are the subresources of Resource that are evaluated too.
	Subresources []string
	// Object parses an object from JSON. The object is created, or updated if old is not nil. The policy determines how
	// custom resources with templates are read. For other kinds, any policy will do.
	Object func(p *policy.Policy, a object.Attributes, object, old []byte) (Object, error)
	// Review decides a review that an API server has sent.
	Review func(ask Question, body []byte) (*Answer, error)
}

// Object is a parsed object. It can be decided several times, with different questions.
type Object interface {
	Decide(ask Question) (*Answer, error)
}

// parsedObject is the request in which an object is evaluated.
type parsedObject[T any] struct {
	kind     kind[T]
	request  review.Request[T]
	recorded *T // nil until it is needed
	stale    int
}

// Decide implements Object.
func (o *parsedObject[T]) Decide(ask Question) (*Answer, error) {
	r := o.request
	if !ask.Recorded || o.kind.recorded == nil {
		return o.kind.all(ask, &r)
	}
	if o.recorded == nil {
		by := append(slices.Clip(ask.RecordedBy), ask.Policy)
		r.Now = ask.Now
		o.recorded, o.stale = o.kind.recorded(r.Object, r.Attributes, by...)
	}
	r.Object = o.recorded
	a, err := o.kind.all(ask, &r)
	if err == nil {
		a.Object, a.StaleRecords = o.request.Object, o.stale
	}
	return a, err
}

// Question contains the options for evaluating an object.
type Question struct {
	Policy *policy.Policy
	// Existing is for an object that exists already. It is evaluated without being rewritten first.
	Existing bool
	Explain  bool // fill in Rules
	// Recorded is for a Pod that was rewritten: it is evaluated with the images in its record, which tenants can change.
	Recorded bool
	// RecordedBy contains further policies, in addition to Policy, that confirm the entries of a record. It must be the
	// same in all questions about an object.
	RecordedBy []*policy.Policy
	// Now is the time of the evaluation. Exceptions that expired before Now do not apply. With the zero time, no
	// exception has expired.
	Now time.Time
	// Sets contains the rule sets to evaluate in addition to the rules outside any set.
	Sets []string
}

// Answer is the combined decision of all webhooks of a kind about an object.
type Answer struct {
	Decision
	Rules  []policy.RuleTrace // why each rule applies or not; only if Explain is set
	Object any                // the object as it was sent, such as a *object.Pod
	// TemplateImages contains the future images of the created Pods.
	TemplateImages []policy.TemplateImage
	// StaleRecords is the number of entries in a Pod's record that were ignored because they do not match its images.
	StaleRecords int
}

// IsValidated reports whether a policy applies to the operation.
func (a *Answer) IsValidated() bool { return isValidated(a.Operation) }

// Kinds returns the kinds whose objects are evaluated with any policy.
func Kinds() []Kind { return KindsIn(new(policy.Policy)) }

// KindsIn returns the kinds whose objects are evaluated with a policy. They include the custom resources in its
// templates block, once for each version.
func KindsIn(p *policy.Policy) []Kind {
	var all []Kind
	for _, r := range rows() {
		all = append(all, r.offline(p)...)
	}
	return all
}

func (k kind[T]) offline(p *policy.Policy) []Kind {
	var all []Kind
	for _, of := range k.objectsIn(p).Kinds {
		all = append(all, k.offlineOf(of))
	}
	return all
}

func (k kind[T]) offlineOf(of review.Kind) Kind {
	return Kind{
		Kind: of, MakesPods: k.templateImages != nil,
		Subresources: subresourcesOf(of, k.objects.Kinds, k.subresources),
		Object: func(p *policy.Policy, a object.Attributes, json, old []byte) (Object, error) {
			a.Resource, a.Group = of.Resource.Name, of.Resource.Group
			objects := k.objectsIn(p)
			o := &parsedObject[T]{kind: k, request: review.Request[T]{Head: review.Head{Attributes: a}}}
			var err error
			if o.request.Object, err = objects.ParseAs(of.Resource, json); err != nil {
				return nil, err
			}
			if old != nil {
				// As in a review, an update of an object that cannot be read is evaluated like a creation.
				o.request.Old, err = objects.ParseAs(of.Resource, old)
				if _, unread := errors.AsType[*review.ContentError](err); err != nil && !unread {
					return nil, err
				}
			}
			return o, nil
		},
		Review: func(ask Question, body []byte) (*Answer, error) {
			r, err := k.objectsIn(ask.Policy).Decode(body)
			if err != nil {
				return nil, err
			}
			return k.all(ask, r)
		},
	}
}

// all mutates the object and then evaluates the result.
func (k kind[T]) all(ask Question, r *review.Request[T]) (*Answer, error) {
	r.Now = ask.Now
	a := &Answer{Decision: Decision{Head: r.Head, Policy: ask.Policy.Hash()}, Object: r.Object}
	if r.Object == nil || !isValidated(r.Operation) {
		return a, nil
	}
	final := r.Object
	if k.mutate != nil {
		if err := k.mutate(ask.Policy, r, nil, &a.Decision); err != nil {
			return nil, err
		}
		if !ask.Existing {
			final = k.mutated(final, &a.Decision)
		}
	}
	if k.templateImages != nil {
		var err error
		if a.TemplateImages, err = k.templateImages(ask.Policy, r.Attributes, final); err != nil {
			return nil, err
		}
	}
	findings, err := k.of.Evaluate(ask.Policy, r.Attributes, final, r.Old, nil)
	if ask.Existing {
		a.Findings = nil // findings about rewriting, which does not take place
	}
	a.Findings = append(findings, a.Findings...)
	if ask.Explain {
		a.Rules = k.of.Explain(ask.Policy, r.Attributes, final)
	}
	if err == nil {
		err = k.allSets(ask, r, final, a)
	}
	return a, err
}

// allSets evaluates the object against the rules of the requested rule sets, each as its webhook does. For the other
// sets, it only explains that they are not evaluated.
func (k kind[T]) allSets(ask Question, r *review.Request[T], final *T, a *Answer) error {
	blocks := k.of.Blocks()
	for _, set := range ask.Policy.Sets() {
		in := ask.Policy.In(set, blocks...)
		if in == nil {
			continue
		}
		wanted := slices.Contains(ask.Sets, set)
		if wanted {
			findings, err := k.of.Evaluate(in, r.Attributes, final, r.Old, nil)
			if err != nil {
				return err
			}
			a.Findings = append(a.Findings, findings...)
		}
		if !ask.Explain {
			continue
		}
		for _, trace := range k.of.Explain(in, r.Attributes, final) {
			trace.Why = "in rule set " + set + ": " + trace.Why
			if !wanted {
				trace.Why, trace.Applies, trace.Findings = "in rule set "+set+", which is not evaluated: add --set "+set, false, 0
			}
			a.Rules = append(a.Rules, trace)
		}
	}
	return nil
}
