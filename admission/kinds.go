package admission

import (
	"strings"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/review"
)

// kind is a row in the table of kinds: a kind of objects that Evergate evaluates, or several kinds that it evaluates
// in the same way.
type kind[T any] struct {
	// of is the kind in policies.
	of      policy.Kind[T]
	objects review.Objects[T]
	// objectsOf returns the objects if the policy adds more kinds. It is nil if the policy cannot add any.
	objectsOf func(*policy.Policy) review.Objects[T]
	// mutating and validating are the paths of its webhooks.
	mutating, validating []string
	// subresources are the subresources that are evaluated too: see Webhook.SubresourcesOf.
	subresources []string
	// mutate decides how an object is changed before it is evaluated. It is nil for kinds that are never changed.
	mutate decideFunc[T]
	// mutated returns the changed object. patch does the same as mutate and also creates the patch.
	mutated func(obj *T, d *Decision) *T
	patch   decideFunc[T]
	// recorded returns an object as it was before it was changed, from its record and as far as one of the policies
	// confirms the record. It also returns the number of entries that no policy confirms. It is nil for kinds without
	// records.
	recorded func(obj *T, a object.Attributes, by ...*policy.Policy) (*T, int)
	// validateBy replaces of.Evaluate for kinds whose decisions have more than findings. Otherwise it is nil.
	validateBy decideFunc[T]
	// templateImages returns the outcomes of images in the Pods that controllers create from an object. It is nil for
	// kinds from which no Pods are created.
	templateImages func(p *policy.Policy, a object.Attributes, obj *T) ([]policy.TemplateImage, error)
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

// rows returns the table of kinds. Webhooks, Kinds and SelfProbePolicy use it.
func rows() []row { return append(rowsOfPods(), rowsOfOthers()...) }

// rowsOfPods returns the rows of Pods and of the objects from which Pods are created.
func rowsOfPods() []row {
	return []row{
		kind[object.Pod]{
			of: policy.Pods, objects: review.Pods(), subresources: []string{"ephemeralcontainers"},
			// The retry webhook differs from the first webhook only in when the API server calls it.
			mutating: []string{"/mutate/pods", "/mutate/pods/again"}, validating: []string{"/validate/pods"},
			mutate: rewritePod, mutated: rewritten, patch: patchPod, recorded: policy.Recorded,
			selfProbe: `"spec": {"containers": [{"name": "app", "image": "source.selfprobe.invalid/app:1"}]}`,
			selfProbePolicy: `
mirrors:
- {name: selfprobe-mirror, mode: enforce, sources: [source.selfprobe.invalid], mirror: mirror.selfprobe.invalid}
pods:
- {name: selfprobe-pods, mode: enforce, workloads: "off", images: {from: mirrors}}
- {name: selfprobe-workloads, mode: enforce, workloads: enforce, images: {denied: [workload.selfprobe.invalid]}}`,
		},
		kind[object.Workload]{
			of: policy.Workloads, objects: review.Workloads(), validating: []string{"/validate/workloads"},
			objectsOf:  func(p *policy.Policy) review.Objects[object.Workload] { return review.Workloads(p.Templates()...) },
			validateBy: reviewWorkload, templateImages: (*policy.Policy).RewriteTemplates,
			selfProbe: `"spec": {"template": {"spec": {"containers": [
{"name": "app", "image": "workload.selfprobe.invalid/app:1"}]}}}`,
		},
	}
}

// rowsOfOthers returns the rows of the other kinds.
func rowsOfOthers() []row {
	return []row{
		kind[object.Ingress]{
			of: policy.Ingresses, objects: review.Ingresses(), subresources: []string{"status"},
			validating: []string{"/validate/ingresses"},
			selfProbe:  `"spec": {"rules": [{"host": "denied.selfprobe.invalid"}]}`,
			selfProbePolicy: `
ingresses: [{name: selfprobe-ingresses, mode: enforce, hosts: {allowed: [allowed.selfprobe.invalid]}}]`,
		},
		kind[object.Service]{
			of: policy.Services, objects: review.Services(), subresources: []string{"status"},
			// The status of Services has a webhook that always fails open.
			validating: []string{"/validate/services", "/validate/services/status"},
			selfProbe:  `"spec": {"type": "NodePort"}`,
			selfProbePolicy: `
services: [{name: selfprobe-services, mode: enforce, types: {allowed: [ClusterIP]}}]`,
		},
		kind[object.Route]{
			of: policy.Routes, objects: review.Routes(), validating: []string{"/validate/routes"},
			selfProbe: `"spec": {"hostnames": ["denied.selfprobe.invalid"]}`,
			selfProbePolicy: `
routes: [{name: selfprobe-routes, mode: enforce, hosts: {allowed: [allowed.selfprobe.invalid]}}]`,
		},
		kind[object.OpenShiftRoute]{
			of: policy.OpenShiftRoutes, objects: review.OpenShiftRoutes(), subresources: []string{"status"},
			validating: []string{"/validate/openshiftroutes"},
			selfProbe:  `"spec": {"host": "denied.selfprobe.invalid"}`, // by the policy of routes
		},
		kind[object.Gateway]{
			of: policy.Gateways, objects: review.Gateways(), validating: []string{"/validate/gateways"},
			selfProbe: `"spec": {"gatewayClassName": "denied.selfprobe.invalid"}`,
			selfProbePolicy: `
gateways: [{name: selfprobe-gateways, mode: enforce, classNames: {allowed: [allowed.selfprobe.invalid]}}]`,
		},
		kind[object.Grant]{
			of: policy.Grants, objects: review.Grants(), validating: []string{"/validate/grants"},
			selfProbe: `"spec": {"to": [{"kind": "Secret"}]}`,
			selfProbePolicy: `
grants: [{name: selfprobe-grants, mode: enforce, to: {names: required}}]`,
		},
		kind[object.Certificate]{
			of: policy.Certificates, objects: review.Certificates(), validating: []string{"/validate/certificates"},
			selfProbe: `"spec": {"dnsNames": ["denied.selfprobe.invalid"]}`,
			selfProbePolicy: `
certificates: [{name: selfprobe-certificates, mode: enforce, hosts: {allowed: [allowed.selfprobe.invalid]}}]`,
		},
		kind[object.DNSEndpoint]{
			of: policy.DNSEndpoints, objects: review.DNSEndpoints(), validating: []string{"/validate/dnsendpoints"},
			selfProbe: `"spec": {"endpoints": [{"dnsName": "denied.selfprobe.invalid"}]}`,
			selfProbePolicy: `
dnsEndpoints: [{name: selfprobe-dns-endpoints, mode: enforce, hosts: {allowed: [allowed.selfprobe.invalid]}}]`,
		},
	}
}

// objectsIn returns the objects of the kind, including the kinds that a policy adds.
func (k kind[T]) objectsIn(p *policy.Policy) review.Objects[T] {
	if k.objectsOf != nil {
		return k.objectsOf(p)
	}
	return k.objects
}

// Webhook is a path that kube-apiserver calls. Each webhook in the manifests has a separate path, and therefore a
// separate scope, separate traces and metrics, and separate connections from the API server.
type Webhook struct {
	Path string
	// Kinds are the kinds of the reviewed objects. The self-probe sends an object of the first kind.
	Kinds []review.Kind
	// Subresources are reviewed too: see SubresourcesOf.
	Subresources []string
	// Blocks are the blocks of a policy whose entries the webhook applies, such as mirrors, ingresses and owners.
	Blocks  []string
	Mutates bool
	// Guards is true for policy reviews, which need a separate concurrency limiter and body memory limiter.
	Guards bool
	// SelfProbe is a field of an object, as JSON. With the self-probe's policy, the right response is a patch if the
	// webhook mutates, and otherwise a denial.
	SelfProbe string
	Evaluate  EvaluateFunc
	// Strictest returns the strictest mode among the policy entries that apply to the webhook.
	Strictest func(policy.Modes) policy.Mode
}

// EvaluateFunc decodes the review in body and decides it by a policy. Its error is a *review.Error if the client made a
// mistake, or a *review.ContentError if the object cannot be evaluated. The latter includes objects that need more than
// the effort allows.
type EvaluateFunc func(p *policy.Policy, body []byte, now time.Time, e *policy.Effort, stage Stage) (*Decision, error)

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
		w := applying(k.webhook(path, k.patch), policy.Mirrors)
		w.Mutates = true
		all = append(all, w)
	}
	for _, path := range k.validating {
		all = append(all, applying(k.webhook(path, k.validate), k.of))
	}
	return all
}

// applying returns the webhook as it applies the entries for a kind.
func applying[T any](w Webhook, of policy.Kind[T]) Webhook {
	w.Blocks, w.Strictest = of.Blocks(), func(m policy.Modes) policy.Mode { return m[of] }
	return w
}

// webhook returns the webhook at a path.
func (k kind[T]) webhook(path string, decide decideFunc[T]) Webhook {
	return Webhook{
		Path: path, Kinds: k.objects.Kinds, Subresources: k.subresources, SelfProbe: k.selfProbe,
		Evaluate: k.evaluateBy(decide),
	}
}

// SubresourcesOf returns the subresources of a kind that are reviewed too. A kind of another group than the first kind
// does not have any, because it is a custom resource, and its status cannot contain annotations or labels.
func (w *Webhook) SubresourcesOf(k review.Kind) []string {
	return subresourcesOf(k, w.Kinds, w.Subresources)
}

func subresourcesOf(k review.Kind, kinds []review.Kind, subresources []string) []string {
	if k.Resource.Group != kinds[0].Resource.Group {
		return nil
	}
	return subresources
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
	d.Findings, err = k.of.Evaluate(p, r.Attributes, r.Object, r.Old, e)
	return err
}
