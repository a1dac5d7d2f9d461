package offline

import (
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// verdict is what a policy says of one request.
type verdict struct {
	attributes policy.Attributes
	images     []policy.ImageOutcome
	findings   []policy.Finding
	rules      []policy.RuleTrace
	pod        *policy.Pod // that was judged, if it was one
}

// judged says whether the operation is one that a policy has a say in.
func (v verdict) judged() bool {
	return v.attributes.Operation == policy.Create || v.attributes.Operation == policy.Update
}

// judge asks a policy about the objects of one type.
type judge interface {
	// manifest asks what the webhook would be asked if object were applied; old is what it replaces, or nil.
	manifest(o *Options, a policy.Attributes, object, old []byte) (verdict, error)
	// review asks what the webhook was asked.
	review(o *Options, body []byte) (verdict, error)
}

// subject is all that is particular to the objects of type T.
type subject[T any] struct {
	resource string
	parse    func(object []byte) (*T, error)
	decode   func(review []byte) (*review.Request[T], error)
	ask      func(o *Options, r *review.Request[T], v *verdict) error
}

var (
	pods      judge = subject[policy.Pod]{"pods", review.ParsePod, review.DecodePod, askPod}
	ingresses judge = subject[policy.Ingress]{"ingresses", review.ParseIngress, review.DecodeIngress, askIngress}
	services  judge = subject[policy.Service]{"services", review.ParseService, review.DecodeService, askService}
)

func (s subject[T]) manifest(o *Options, a policy.Attributes, object, old []byte) (verdict, error) {
	a.Resource = s.resource
	r := &review.Request[T]{Attributes: a}
	var err error
	if r.Object, err = s.parse(object); err != nil {
		return verdict{}, err
	}
	if old != nil {
		if r.Old, err = s.parse(old); err != nil {
			return verdict{}, err
		}
	}
	return s.judge(o, r)
}

func (s subject[T]) review(o *Options, body []byte) (verdict, error) {
	r, err := s.decode(body)
	if err != nil {
		return verdict{}, err
	}
	return s.judge(o, r)
}

func (s subject[T]) judge(o *Options, r *review.Request[T]) (v verdict, err error) {
	v.attributes = r.Attributes
	if r.Object != nil && v.judged() {
		err = s.ask(o, r, &v)
	}
	return v, err
}

// askPod rewrites a Pod and judges what comes of it, as the two hooks of a cluster do one after the other. A Pod that
// exists runs what it says: nothing is rewritten before it is judged.
func askPod(o *Options, r *review.Request[policy.Pod], v *verdict) error {
	rewriting, err := o.Policy.RewritePod(r.Attributes, r.Object, r.Old, nil)
	if err != nil {
		return err
	}
	v.images = rewriting.Images
	final := r.Object
	if !o.AsExisting {
		final = rewritten(final, v.images)
	}
	v.pod = r.Object
	v.findings, err = o.Policy.JudgePod(r.Attributes, final, r.Old, nil)
	if !o.AsExisting {
		v.findings = append(v.findings, rewriting.Findings...)
	}
	if o.Explain {
		v.rules = o.Policy.ExplainPod(r.Attributes, final)
	}
	return err
}

func askIngress(o *Options, r *review.Request[policy.Ingress], v *verdict) (err error) {
	v.findings, err = o.Policy.JudgeIngress(r.Attributes, r.Object, r.Old, nil)
	if o.Explain {
		v.rules = o.Policy.ExplainIngress(r.Attributes, r.Object)
	}
	return err
}

func askService(o *Options, r *review.Request[policy.Service], v *verdict) (err error) {
	v.findings, err = o.Policy.JudgeService(r.Attributes, r.Object, r.Old, nil)
	if o.Explain {
		v.rules = o.Policy.ExplainService(r.Attributes, r.Object)
	}
	return err
}

// rewritten is the Pod with the images that it will be given.
func rewritten(pod *policy.Pod, outcomes []policy.ImageOutcome) *policy.Pod {
	final := *pod
	final.Images = make([]policy.Image, len(pod.Images))
	copy(final.Images, pod.Images)
	for i, outcome := range outcomes {
		if outcome.Outcome == policy.Rewritten {
			final.Images[i].Ref = outcome.To
		}
	}
	return &final
}
