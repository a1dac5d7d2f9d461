package admission

import (
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// kind is a kind of objects that is judged: its row in the table of kinds.
type kind[T any] struct {
	name    string // Pod
	objects review.Objects[T]
	// subresources are those that are judged too.
	subresources []string
	// mutate decides what is changed in an object before it is judged; nil for a kind that is never changed.
	mutate decide[T]
	// mutated returns an object as it is after that.
	mutated func(obj *T, d *Decision) *T
	judge   func(p *policy.Policy, a policy.Attributes, obj, old *T, e *policy.Effort) ([]policy.Finding, error)
	// explain says of each rule whether it looks at an object.
	explain func(p *policy.Policy, a policy.Attributes, obj *T) []policy.RuleTrace
	// strictest returns the strictest mode among the entries that judge the kind.
	strictest func(policy.Modes) policy.Mode
	// selfProbe is the field of an object, as JSON, that the self-probe's policy rewrites where it mutates, and denies
	// where it validates.
	selfProbe string
}

func pods() kind[policy.Pod] {
	return kind[policy.Pod]{
		name: "Pod", objects: review.Pods(), subresources: []string{"ephemeralcontainers"},
		mutate: rewritePod, mutated: rewritten,
		judge: (*policy.Policy).JudgePod, explain: (*policy.Policy).ExplainPod,
		strictest: func(m policy.Modes) policy.Mode { return m.Pods },
		selfProbe: `"spec": {"containers": [{"name": "app", "image": "source.selfprobe.invalid/app:1"}]}`,
	}
}

func ingresses() kind[policy.Ingress] {
	return kind[policy.Ingress]{
		name: "Ingress", objects: review.Ingresses(), subresources: []string{"status"},
		judge: (*policy.Policy).JudgeIngress, explain: (*policy.Policy).ExplainIngress,
		strictest: func(m policy.Modes) policy.Mode { return m.Ingresses },
		selfProbe: `"spec": {"rules": [{"host": "denied.selfprobe.invalid"}]}`,
	}
}

func services() kind[policy.Service] {
	return kind[policy.Service]{
		name: "Service", objects: review.Services(), subresources: []string{"status"},
		judge: (*policy.Policy).JudgeService, explain: (*policy.Policy).ExplainService,
		strictest: func(m policy.Modes) policy.Mode { return m.Services },
		selfProbe: `"spec": {"type": "NodePort"}`,
	}
}

// Webhook is a path that kube-apiserver calls. There is one for each webhook of the kit, so that each is scoped, traced
// and counted apart, and has connections of its own in the API server.
type Webhook struct {
	Path     string
	Kind     string          // of the objects that are reviewed: Pod
	Resource review.Resource // likewise
	Mutates  bool
	// Guards marks the reviews of policies, which need a concurrency limiter and a body memory limiter of their own.
	Guards bool
	// SelfProbe is a field of an object, as JSON, that makes the right answer of the self-probe's policy a patch where
	// the webhook mutates, and otherwise a denial.
	SelfProbe string
	Judge     Judge
	// Strictest returns the strictest mode among the entries of a policy that concern the webhook.
	Strictest func(policy.Modes) policy.Mode
}

// Judge decodes the review in a body, and decides it by a policy. Its error is a *review.Error, for what the client did
// wrong, or a *review.ContentError, for what the object contains, which may ask for more than the effort allows.
type Judge func(p *policy.Policy, body []byte, e *policy.Effort, stage Stage) (*Decision, error)

// Webhooks returns the table of paths. The second chance to rewrite a Pod, and the status of Services, which always
// fails open, differ from the paths above them in how the API server is told to call them, and in nothing else.
func Webhooks() []Webhook {
	pods, ingresses, services := pods(), ingresses(), services()
	return []Webhook{
		pods.mutating("/mutate/pods"),
		pods.mutating("/mutate/pods/again"),
		pods.validating("/validate/pods"),
		ingresses.validating("/validate/ingresses"),
		services.validating("/validate/services"),
		services.validating("/validate/services/status"),
		policyGuard("/validate/policy"),
	}
}

func (k kind[T]) mutating(path string) Webhook {
	w := k.webhook(path, k.mutate)
	w.Mutates = true
	w.Strictest = func(m policy.Modes) policy.Mode { return m.Mirrors }
	return w
}

func (k kind[T]) validating(path string) Webhook { return k.webhook(path, k.validate) }

func (k kind[T]) webhook(path string, decide decide[T]) Webhook {
	return Webhook{
		Path: path, Kind: k.name, Resource: k.objects.Resource, SelfProbe: k.selfProbe, Strictest: k.strictest,
		Judge: k.judgeBy(decide),
	}
}

// validate decides by the findings of a policy about an object.
func (k kind[T]) validate(p *policy.Policy, r *review.Request[T], e *policy.Effort, d *Decision) (err error) {
	d.Findings, err = k.judge(p, r.Attributes, r.Object, r.Old, e)
	return err
}
