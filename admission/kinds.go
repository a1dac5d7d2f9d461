package admission

import (
	"strings"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// kind is a row in the table of kinds. It describes a kind of objects, or several kinds that are evaluated in the same
// way.
type kind[T any] struct {
	objects review.Objects[T]
	// objectsOf returns the objects if the policy adds more kinds. It is nil if the policy cannot add any.
	objectsOf func(*policy.Policy) review.Objects[T]
	// makesPods is true if controllers create Pods from the objects. In an audit of existing objects, the Pods are then
	// evaluated instead.
	makesPods bool
	// blocks are the blocks of a policy whose entries apply to the kind.
	blocks []string
	// mutating and validating are the paths of its webhooks.
	mutating, validating []string
	// subresources are the subresources that are evaluated too.
	subresources []string
	// mutate decides how an object is changed before it is evaluated. It is nil for kinds that are never changed.
	mutate decideFunc[T]
	// mutated returns the changed object. patch does the same as mutate and also creates the patch.
	mutated func(obj *T, d *Decision) *T
	patch   decideFunc[T]
	// recorded returns an object as it was before it was changed, from its record and as far as one of the policies
	// confirms the record. It also returns the number of entries that none confirms. It is nil for kinds without
	// records.
	recorded func(obj *T, a policy.Attributes, by ...*policy.Policy) (*T, int)
	judge    func(p *policy.Policy, a policy.Attributes, obj, old *T, e *policy.Effort) ([]policy.Finding, error)
	// validateBy replaces judge if a decision consists of more than findings. Otherwise, it is nil.
	validateBy decideFunc[T]
	// explain returns for each rule whether it applies to an object.
	explain func(p *policy.Policy, a policy.Attributes, obj *T) []policy.RuleTrace
	// strictest returns the strictest mode among the entries that apply to the kind.
	strictest func(policy.Modes) policy.Mode
	// templateImages returns the future images of the created Pods. It is nil for other kinds.
	templateImages func(p *policy.Policy, a policy.Attributes, obj *T) ([]policy.TemplateImage, error)
	// selfProbe is a field of an object, as JSON. The self-probe's policy rewrites it in a mutating webhook and denies
	// it in a validating webhook. selfProbePolicy is the part of that policy for this kind, as YAML.
	selfProbe, selfProbePolicy string
}

// row is a kind[T] of any T.
type row interface {
	webhooks() []Webhook
	offline(p *policy.Policy) []Kind
	probePolicy() string
}

// rows returns the table of kinds. Webhooks, Kinds and SelfProbePolicy are derived from it.
func rows() []row {
	return []row{
		pods(), workloads(), ingresses(), services(), routes(), openShiftRoutes(), gateways(), grants(), certificates(),
		dnsEndpoints(),
	}
}

func pods() kind[policy.Pod] {
	return kind[policy.Pod]{
		objects: review.Pods(), blocks: []string{"pods"}, subresources: []string{"ephemeralcontainers"},
		// The retry webhook differs from the first mutating webhook only in when the API server calls it.
		mutating: []string{"/mutate/pods", "/mutate/pods/again"}, validating: []string{"/validate/pods"},
		mutate: rewritePod, mutated: rewritten, patch: patchPod, recorded: (*policy.Pod).Recorded,
		judge: (*policy.Policy).JudgePod, explain: (*policy.Policy).ExplainPod,
		strictest: func(m policy.Modes) policy.Mode { return m.Pods },
		selfProbe: `"spec": {"containers": [{"name": "app", "image": "source.selfprobe.invalid/app:1"}]}`,
		selfProbePolicy: `
mirrors:
- {name: selfprobe-mirror, mode: enforce, sources: [source.selfprobe.invalid], mirror: mirror.selfprobe.invalid}
pods:
- {name: selfprobe-pods, mode: enforce, workloads: "off", images: {from: mirrors}}
- {name: selfprobe-workloads, mode: enforce, workloads: enforce, images: {denied: [workload.selfprobe.invalid]}}`,
	}
}

func workloads() kind[policy.Workload] {
	return kind[policy.Workload]{
		objects: review.Workloads(), makesPods: true, blocks: []string{"pods"}, validating: []string{"/validate/workloads"},
		objectsOf: func(p *policy.Policy) review.Objects[policy.Workload] { return review.Workloads(p.Templates()...) },
		judge:     (*policy.Policy).JudgeWorkload, validateBy: reviewWorkload, explain: (*policy.Policy).ExplainWorkload,
		templateImages: (*policy.Policy).RewriteTemplates,
		strictest:      func(m policy.Modes) policy.Mode { return m.Workloads },
		selfProbe: `"spec": {"template": {"spec": {"containers": [
{"name": "app", "image": "workload.selfprobe.invalid/app:1"}]}}}`,
	}
}

// objectsIn returns the objects of the kind, including the kinds that a policy adds.
func (k kind[T]) objectsIn(p *policy.Policy) review.Objects[T] {
	if k.objectsOf != nil {
		return k.objectsOf(p)
	}
	return k.objects
}

func ingresses() kind[policy.Ingress] {
	return kind[policy.Ingress]{
		objects: review.Ingresses(), blocks: []string{"ingresses", "owners"}, subresources: []string{"status"},
		validating: []string{"/validate/ingresses"},
		judge:      (*policy.Policy).JudgeIngress, explain: (*policy.Policy).ExplainIngress,
		strictest: func(m policy.Modes) policy.Mode { return m.Ingresses },
		selfProbe: `"spec": {"rules": [{"host": "denied.selfprobe.invalid"}]}`,
		selfProbePolicy: `
ingresses: [{name: selfprobe-ingresses, mode: enforce, hosts: {allowed: [allowed.selfprobe.invalid]}}]`,
	}
}

func services() kind[policy.Service] {
	return kind[policy.Service]{
		objects: review.Services(), blocks: []string{"services", "owners"}, subresources: []string{"status"},
		// The webhook for the status of Services always fails open.
		validating: []string{"/validate/services", "/validate/services/status"},
		judge:      (*policy.Policy).JudgeService, explain: (*policy.Policy).ExplainService,
		strictest: func(m policy.Modes) policy.Mode { return m.Services },
		selfProbe: `"spec": {"type": "NodePort"}`,
		selfProbePolicy: `
services: [{name: selfprobe-services, mode: enforce, types: {allowed: [ClusterIP]}}]`,
	}
}

func routes() kind[policy.Route] {
	return kind[policy.Route]{
		objects: review.Routes(), blocks: []string{"routes", "owners"}, validating: []string{"/validate/routes"},
		judge: (*policy.Policy).JudgeRoute, explain: (*policy.Policy).ExplainRoute,
		strictest: func(m policy.Modes) policy.Mode { return m.Routes },
		selfProbe: `"spec": {"hostnames": ["denied.selfprobe.invalid"]}`,
		selfProbePolicy: `
routes: [{name: selfprobe-routes, mode: enforce, hosts: {allowed: [allowed.selfprobe.invalid]}}]`,
	}
}

func openShiftRoutes() kind[policy.OpenShiftRoute] {
	return kind[policy.OpenShiftRoute]{
		objects: review.OpenShiftRoutes(), blocks: []string{"routes", "owners"}, subresources: []string{"status"},
		validating: []string{"/validate/openshiftroutes"},
		judge:      (*policy.Policy).JudgeOpenShiftRoute, explain: (*policy.Policy).ExplainOpenShiftRoute,
		strictest: func(m policy.Modes) policy.Mode { return m.OpenShiftRoutes },
		selfProbe: `"spec": {"host": "denied.selfprobe.invalid"}`, // denied by the policy of routes
	}
}

func gateways() kind[policy.Gateway] {
	return kind[policy.Gateway]{
		objects: review.Gateways(), blocks: []string{"gateways", "owners"},
		validating: []string{"/validate/gateways"},
		judge:      (*policy.Policy).JudgeGateway, explain: (*policy.Policy).ExplainGateway,
		strictest: func(m policy.Modes) policy.Mode { return m.Gateways },
		selfProbe: `"spec": {"gatewayClassName": "denied.selfprobe.invalid"}`,
		selfProbePolicy: `
gateways: [{name: selfprobe-gateways, mode: enforce, classNames: {allowed: [allowed.selfprobe.invalid]}}]`,
	}
}

func grants() kind[policy.Grant] {
	return kind[policy.Grant]{
		objects: review.Grants(), blocks: []string{"grants"},
		validating: []string{"/validate/grants"},
		judge:      (*policy.Policy).JudgeGrant, explain: (*policy.Policy).ExplainGrant,
		strictest: func(m policy.Modes) policy.Mode { return m.Grants },
		selfProbe: `"spec": {"to": [{"kind": "Secret"}]}`,
		selfProbePolicy: `
grants: [{name: selfprobe-grants, mode: enforce, to: {names: required}}]`,
	}
}

func certificates() kind[policy.Certificate] {
	return kind[policy.Certificate]{
		objects: review.Certificates(), blocks: []string{"certificates", "owners"},
		validating: []string{"/validate/certificates"},
		judge:      (*policy.Policy).JudgeCertificate, explain: (*policy.Policy).ExplainCertificate,
		strictest: func(m policy.Modes) policy.Mode { return m.Certificates },
		selfProbe: `"spec": {"dnsNames": ["denied.selfprobe.invalid"]}`,
		selfProbePolicy: `
certificates: [{name: selfprobe-certificates, mode: enforce, hosts: {allowed: [allowed.selfprobe.invalid]}}]`,
	}
}

func dnsEndpoints() kind[policy.DNSEndpoint] {
	return kind[policy.DNSEndpoint]{
		objects: review.DNSEndpoints(), blocks: []string{"dnsEndpoints", "owners"},
		validating: []string{"/validate/dnsendpoints"},
		judge:      (*policy.Policy).JudgeDNSEndpoint, explain: (*policy.Policy).ExplainDNSEndpoint,
		strictest: func(m policy.Modes) policy.Mode { return m.DNSEndpoints },
		selfProbe: `"spec": {"endpoints": [{"dnsName": "denied.selfprobe.invalid"}]}`,
		selfProbePolicy: `
dnsEndpoints: [{name: selfprobe-dns-endpoints, mode: enforce, hosts: {allowed: [allowed.selfprobe.invalid]}}]`,
	}
}

// Webhook is a path that kube-apiserver calls. There is one for each webhook in the manifests. Each webhook can
// therefore have a separate scope, separate traces and metrics, and separate connections in the API server.
type Webhook struct {
	Path string
	// Kinds are the kinds of the reviewed objects. The self-probe sends an object of the first kind.
	Kinds []review.Kind
	// Subresources are the subresources of these kinds that are reviewed too.
	Subresources []string
	// Blocks are the blocks of a policy whose entries the webhook applies, such as mirrors, ingresses and owners.
	Blocks  []string
	Mutates bool
	// Guards is true for policy reviews, which need a separate concurrency limiter and body memory limiter.
	Guards bool
	// SelfProbe is a field of an object, as JSON. With the self-probe's policy, the right response is a patch if the
	// webhook mutates, and otherwise a denial.
	SelfProbe string
	Judge     Judge
	// Strictest returns the strictest mode among the policy entries that apply to the webhook.
	Strictest func(policy.Modes) policy.Mode
}

// Judge decodes the review in body and decides it by a policy. Its error is a *review.Error if the client made a
// mistake, or a *review.ContentError if the object cannot be evaluated. The latter includes objects that need more than
// the effort allows.
type Judge func(p *policy.Policy, body []byte, now time.Time, e *policy.Effort, stage Stage) (*Decision, error)

// Webhooks returns the webhooks of all kinds, and the webhook that validates policies.
func Webhooks() []Webhook {
	var all []Webhook
	for _, r := range rows() {
		all = append(all, r.webhooks()...)
	}
	return append(all, policyGuard("/validate/policy"))
}

// SelfProbePolicy returns a policy, as YAML, that rewrites or denies the objects of Webhook.SelfProbe.
func SelfProbePolicy() string {
	parts := []string{"apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy"}
	for _, r := range rows() {
		parts = append(parts, r.probePolicy())
	}
	return strings.Join(append(parts, "\n"), "")
}

func (k kind[T]) probePolicy() string { return k.selfProbePolicy }

func (k kind[T]) webhooks() []Webhook {
	var all []Webhook
	for _, path := range k.mutating {
		w := k.webhook(path, k.patch)
		w.Mutates, w.Blocks = true, []string{"mirrors"}
		w.Strictest = func(m policy.Modes) policy.Mode { return m.Mirrors }
		all = append(all, w)
	}
	for _, path := range k.validating {
		all = append(all, k.webhook(path, k.validate))
	}
	return all
}

func (k kind[T]) webhook(path string, decide decideFunc[T]) Webhook {
	return Webhook{
		Path: path, Kinds: k.objects.Kinds, Subresources: k.subresources, Blocks: k.blocks, SelfProbe: k.selfProbe,
		Strictest: k.strictest, Judge: k.judgeBy(decide),
	}
}

// Resource returns the webhook's resource with the given name, or its first resource if there is no such resource.
func (w *Webhook) Resource(name string) review.Resource {
	for _, k := range w.Kinds {
		if k.Resource.Name == name {
			return k.Resource
		}
	}
	return w.Kinds[0].Resource
}

// validate evaluates an object against a policy and adds the findings to the decision.
func (k kind[T]) validate(p *policy.Policy, r *review.Request[T], e *policy.Effort, d *Decision) (err error) {
	if k.validateBy != nil {
		return k.validateBy(p, r, e, d)
	}
	d.Findings, err = k.judge(p, r.Attributes, r.Object, r.Old, e)
	return err
}
