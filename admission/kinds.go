package admission

import (
	"strings"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review"
)

// kind is a kind of objects that is judged, or several that are judged alike: its row in the table of kinds.
type kind[T any] struct {
	objects review.Objects[T]
	// objectsOf returns the objects where the policy says more kinds; nil where it does not.
	objectsOf func(*policy.Policy) review.Objects[T]
	// makesPods says that controllers create Pods from the objects, so that of those that exist the Pods are judged.
	makesPods bool
	// blocks are those of a policy whose entries judge the kind.
	blocks []string
	// mutating and validating are the paths of its webhooks.
	mutating, validating []string
	// subresources are those that are judged too: see Webhook.SubresourcesOf.
	subresources []string
	// mutate decides what is changed in an object before it is judged; nil for a kind that is never changed.
	mutate decideFunc[T]
	// mutated returns an object as it is after that; patch is mutate, and makes the patch that changes it so.
	mutated func(obj *T, d *Decision) *T
	patch   decideFunc[T]
	// recorded returns an object as its record says that it was before it was changed, as far as some policies confirm
	// that, and how many entries of the record they do not confirm; nil for kinds without records.
	recorded func(obj *T, a policy.Attributes, by ...*policy.Policy) (*T, int)
	judge    func(p *policy.Policy, a policy.Attributes, obj, old *T, e *policy.Effort) ([]policy.Finding, error)
	// validateBy is judge where a decision has more than findings; otherwise it is nil.
	validateBy decideFunc[T]
	// explain says of each rule whether it looks at an object.
	explain func(p *policy.Policy, a policy.Attributes, obj *T) []policy.RuleTrace
	// strictest returns the strictest mode among the entries that judge the kind.
	strictest func(policy.Modes) policy.Mode
	// templateImages returns what happens to the images of the Pods that are made from an object; nil for kinds of which
	// none are.
	templateImages func(p *policy.Policy, a policy.Attributes, obj *T) ([]policy.TemplateImage, error)
	// selfProbe is the field of an object, as JSON, that the self-probe's policy rewrites where it mutates, and denies
	// where it validates; selfProbePolicy is the part of that policy, as YAML.
	selfProbe, selfProbePolicy string
}

// row is a kind[T] of whatever T.
type row interface {
	webhooks() []Webhook
	offline(p *policy.Policy) []Kind
	probePolicy() string
}

// rows is the table of kinds. Webhooks, Kinds and SelfProbePolicy are made of it.
func rows() []row {
	return []row{
		pods(), workloads(), ingresses(), services(), routes(), openShiftRoutes(), gateways(), grants(), certificates(),
		dnsEndpoints(),
	}
}

func pods() kind[policy.Pod] {
	return kind[policy.Pod]{
		objects: review.Pods(), blocks: []string{"pods"}, subresources: []string{"ephemeralcontainers"},
		// The second chance to rewrite a Pod differs from the first only in when the API server calls it.
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

// objectsIn returns the objects of the kind by a policy.
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
		// The status of Services has a webhook that always fails open.
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
		selfProbe: `"spec": {"host": "denied.selfprobe.invalid"}`, // by the policy of routes
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

// Webhook is a path that kube-apiserver calls. There is one for each webhook of the kit, so that each is scoped, traced
// and counted apart, and has connections of its own in the API server.
type Webhook struct {
	Path string
	// Kinds are those of the objects that are reviewed. The self-probe sends one of the first.
	Kinds []review.Kind
	// Subresources are reviewed too: see SubresourcesOf.
	Subresources []string
	// Blocks are those of a policy whose entries the webhook applies: mirrors, ingresses, owners.
	Blocks  []string
	Mutates bool
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
type Judge func(p *policy.Policy, body []byte, now time.Time, e *policy.Effort, stage Stage) (*Decision, error)

// Webhooks returns the webhooks of all kinds, and the one that judges policies.
func Webhooks() []Webhook {
	var all []Webhook
	for _, r := range rows() {
		all = append(all, r.webhooks()...)
	}
	return append(all, policyGuard("/validate/policy"))
}

// SelfProbePolicy returns the policy by which the objects of Webhook.SelfProbe are rewritten and denied, as YAML.
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

// SubresourcesOf returns the subresources of a kind that are reviewed too. A kind of another group than the first one
// has none: it is a custom resource, the status of which can carry neither annotations nor labels.
func (w *Webhook) SubresourcesOf(k review.Kind) []string {
	return subresourcesOf(k, w.Kinds, w.Subresources)
}

func subresourcesOf(k review.Kind, kinds []review.Kind, subresources []string) []string {
	if k.Resource.Group != kinds[0].Resource.Group {
		return nil
	}
	return subresources
}

// Resource returns the resource of the webhook that has a name, and the first one where none has it.
func (w *Webhook) Resource(name string) review.Resource {
	for _, k := range w.Kinds {
		if k.Resource.Name == name {
			return k.Resource
		}
	}
	return w.Kinds[0].Resource
}

// validate decides by the findings of a policy about an object.
func (k kind[T]) validate(p *policy.Policy, r *review.Request[T], e *policy.Effort, d *Decision) (err error) {
	if k.validateBy != nil {
		return k.validateBy(p, r, e, d)
	}
	d.Findings, err = k.judge(p, r.Attributes, r.Object, r.Old, e)
	return err
}
