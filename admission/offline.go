package admission

import (
	"errors"
	"slices"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// Kind is a kind of objects that is judged, for callers that want the decisions of all its webhooks together.
type Kind struct {
	review.Kind
	// MakesPods says that controllers create Pods from the objects, so that of those that exist the Pods are judged.
	MakesPods bool
	// Subresources are those of Resource that are judged too.
	Subresources []string
	// Object reads an object, as JSON, that is created, or updated where old is not nil. The policy says how the custom
	// resources of its templates are read; for other kinds any will do.
	Object func(p *policy.Policy, a policy.Attributes, object, old []byte) (Object, error)
	// Review decides a review as an API server has sent it.
	Review func(ask Question, body []byte) (*Answer, error)
}

// Object is an object that has been read. Several questions may be asked about it.
type Object interface {
	Decide(ask Question) (*Answer, error)
}

// object is the request in which an object is judged.
type object[T any] struct {
	kind     kind[T]
	request  review.Request[T]
	recorded *T // nil until it is asked for
	stale    int
}

// Decide implements Object.
func (o *object[T]) Decide(ask Question) (*Answer, error) {
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

// Question is how to judge an object.
type Question struct {
	Policy *policy.Policy
	// Existing is for an object that exists: it is judged as it is, and not rewritten first.
	Existing bool
	Explain  bool // fill in Rules
	// Recorded is for a Pod that was rewritten: it is judged by the images that its record has, which tenants may write.
	Recorded bool
	// RecordedBy are further policies that confirm the entries of a record, beside Policy. An object is asked about with
	// the same ones each time.
	RecordedBy []*policy.Policy
	// Now is the time to judge at, by which exceptions end. At the zero time none has ended.
	Now time.Time
	// Sets are those whose rules judge the object too, beside the rules that are in none.
	Sets []string
}

// Answer is what the webhooks of a kind decide together about an object.
type Answer struct {
	Decision
	Rules  []policy.RuleTrace // what each rule has to do with the object; only with Explain
	Object any                // as it was sent, such as a *policy.Pod
	// TemplateImages are what happens to the images of the Pods that are made from the object.
	TemplateImages []policy.TemplateImage
	// StaleRecords is how many entries of the record of a Pod were ignored, since they are not about its images.
	StaleRecords int
}

// Judged reports whether a policy applies to the operation.
func (a *Answer) Judged() bool { return judged(a.Operation) }

// Kinds returns the kinds whose objects are judged, whatever the policy.
func Kinds() []Kind { return KindsIn(new(policy.Policy)) }

// KindsIn returns the kinds whose objects are judged, with the custom resources of templates in a policy: once for each
// of their versions.
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
		Kind: of, MakesPods: k.makesPods,
		Subresources: subresourcesOf(of, k.objects.Kinds, k.subresources),
		Object: func(p *policy.Policy, a policy.Attributes, json, old []byte) (Object, error) {
			a.Resource, a.Group = of.Resource.Name, of.Resource.Group
			objects := k.objectsIn(p)
			o := &object[T]{kind: k, request: review.Request[T]{Attributes: a}}
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

// all mutates the object, and then judges the result.
func (k kind[T]) all(ask Question, r *review.Request[T]) (*Answer, error) {
	r.Now = ask.Now
	a := &Answer{Decision: Decision{Attributes: r.Attributes, Policy: ask.Policy.Hash()}, Object: r.Object}
	if r.Object == nil || !judged(r.Operation) {
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
	findings, err := k.evaluate(ask.Policy, r.Attributes, final, r.Old, nil)
	if ask.Existing {
		a.Findings = nil // of rewriting, which does not take place
	}
	a.Findings = append(findings, a.Findings...)
	if ask.Explain {
		a.Rules = k.explain(ask.Policy, r.Attributes, final)
	}
	if err == nil {
		err = k.allSets(ask, r, final, a)
	}
	return a, err
}

// allSets judges the object by the rules of sets, each as its webhook does. Of the sets that are not asked for it
// explains that they are not.
func (k kind[T]) allSets(ask Question, r *review.Request[T], final *T, a *Answer) error {
	blocks := k.of.Blocks()
	for _, set := range ask.Policy.Sets() {
		in := ask.Policy.In(set, blocks...)
		if in == nil {
			continue
		}
		wanted := slices.Contains(ask.Sets, set)
		if wanted {
			findings, err := k.evaluate(in, r.Attributes, final, r.Old, nil)
			if err != nil {
				return err
			}
			a.Findings = append(a.Findings, findings...)
		}
		if !ask.Explain {
			continue
		}
		for _, trace := range k.explain(in, r.Attributes, final) {
			trace.Why = "in set " + set + ": " + trace.Why
			if !wanted {
				trace.Why, trace.Applies, trace.Findings = "in set "+set+", which is not evaluated: add --set "+set, false, 0
			}
			a.Rules = append(a.Rules, trace)
		}
	}
	return nil
}
