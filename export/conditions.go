package export

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/policy"
)

// A webhook is not called for requests of which one of its matchConditions is false. This one is so for all of them.
const (
	NativeCondition  = "not-judged-natively"
	NativeExpression = "false"
)

// Webhook is a webhook of the kit whose work native policies can do.
type Webhook struct {
	Name, Path string
	Mutates    bool

	block      string                       // the entries that native policies stand for
	beside     []string                     // blocks whose entries it applies too
	conditions []admissionv1.MatchCondition // in the kit
}

// Webhooks returns the webhooks of the kit whose work native policies can do.
func Webhooks() []Webhook {
	pods, object := podConditions(), []admissionv1.MatchCondition{notTheClusterItself(), whatIsJudgedChanges()}
	// The webhooks that rewrite also report what rules for Pods find in images as they were written.
	original := []string{"pods"}
	owners := []string{"owners"}
	return []Webhook{
		{"pods.mutate.evergate.dev", "/mutate/pods", true, "mirrors", original, pods},
		{"again.pods.mutate.evergate.dev", "/mutate/pods/again", true, "mirrors", original, append(podConditions(),
			notFromAMirror())},
		{"pods.validate.evergate.dev", "/validate/pods", false, "pods", nil, pods},
		{"ingresses.validate.evergate.dev", "/validate/ingresses", false, "ingresses", owners, object},
		{"services.validate.evergate.dev", "/validate/services", false, "services", owners, object},
		{"routes.validate.evergate.dev", "/validate/routes", false, "routes", owners, object},
		{"gateways.validate.evergate.dev", "/validate/gateways", false, "gateways", owners, object},
		{"loadbalancerstatus.validate.evergate.dev", "/validate/services/status", false, "services", owners,
			[]admissionv1.MatchCondition{notTheClusterItself(), loadBalancerChanges()}},
	}
}

// notFromAMirror is the condition of the second chance. The wiring of the kit replaces its seventh line.
func notFromAMirror() admissionv1.MatchCondition {
	return admissionv1.MatchCondition{Name: "some-image-is-not-from-a-mirror", Expression: `![
  object.spec.containers.map(c, c.?image.orValue("")),
  object.spec.?initContainers.orValue([]).map(c, c.?image.orValue("")),
  object.spec.?ephemeralContainers.orValue([]).map(c, c.?image.orValue("")),
  object.spec.?volumes.orValue([]).map(v, has(v.image), v.image.?reference.orValue("")),
].all(images, images.all(image,
["mirror.corp.example/"]
.exists(mirror, image.startsWith(mirror))))`}
}

func loadBalancerChanges() admissionv1.MatchCondition {
	return admissionv1.MatchCondition{
		Name: "the-load-balancer-changes", Expression: "object.?status.?loadBalancer != oldObject.?status.?loadBalancer",
	}
}

// PolicyPrefix begins the names of the native policies that do the work of the webhook.
func (w *Webhook) PolicyPrefix() string { return "evergate-" + w.block }

// WebhookUse is a webhook, and why it has to be called beside the native policies.
type WebhookUse struct {
	Webhook
	// Called says why it is called; empty where native policies do all that it would.
	Called string
}

// WebhookUses returns which webhooks have to be called where what Export exports is in force. One need not if all of
// its entries are native and enforced, and there is one: entries in mode warn and audit are there to be counted, and
// only the webhook counts.
func WebhookUses(doc policy.Document, o Options) []WebhookUse {
	refused := map[policy.Position]Refusal{}
	for _, r := range Export(doc, o).Refusals {
		// Routes of OpenShift have a webhook of their own, which is always called.
		if _, known := refused[r.Pos]; !known && r.Why != openShiftRoutes {
			refused[r.Pos] = r
		}
	}
	var uses []WebhookUse
	for _, w := range Webhooks() {
		uses = append(uses, WebhookUse{w, w.called(doc, o, refused)})
	}
	return uses
}

// called returns why a webhook has to be called.
func (w *Webhook) called(doc policy.Document, o Options, refused map[policy.Position]Refusal) string {
	target := VAP
	if w.block == "mirrors" {
		target = MAP
	}
	if !slices.Contains(o.Targets, target) && !slices.Contains(o.Targets, Static) {
		return "the target " + string(target) + " is not exported"
	}
	native := 0
	for i := range doc.Entries {
		e := &doc.Entries[i]
		if e.Mode == policy.Off || e.Block != w.block && !slices.Contains(w.beside, e.Block) || onlyOpenShift(e) {
			continue
		}
		if why := onlyByWebhook(e, refused); why != "" {
			return why
		}
		if e.Block == w.block {
			native++
		}
	}
	if native == 0 {
		return "no entry of " + w.block + " is in force"
	}
	return ""
}

// onlyOpenShift reports whether an entry is about Routes of OpenShift alone: no other webhook applies it.
func onlyOpenShift(e *policy.Entry) bool {
	kinds := texts(e.Fields["kinds"])
	return e.Block == "routes" && len(kinds) == 1 && kinds[0] == "Route"
}

// onlyByWebhook returns why an entry needs the webhook.
func onlyByWebhook(e *policy.Entry, refused map[policy.Position]Refusal) string {
	of := e.Block + " " + e.Name
	if r, is := refused[e.Pos]; is {
		return of + " is not native as a whole: " + cmp.Or(r.Field, "it") + ": " + r.Why
	}
	switch {
	case e.Block == "owners":
		return of + " is not native"
	case e.Mode != policy.Enforce:
		return of + " is in mode " + e.Mode.String() + ", and only the webhook counts what it finds"
	}
	return ""
}

// conditionPatch is a patch of a webhook configuration of the kit.
type conditionPatch struct {
	APIVersion string            `json:"apiVersion"`
	Kind       string            `json:"kind"`
	Metadata   map[string]string `json:"metadata"`
	Webhooks   []patchedWebhook  `json:"webhooks"`
}

type patchedWebhook struct {
	Name            string                       `json:"name"`
	MatchConditions []admissionv1.MatchCondition `json:"matchConditions"`
}

// ConditionPatches returns patches for the webhook configurations of the kit by which the webhooks whose work native
// policies do are not called, as kustomize takes them, with a comment for each that still is. A patch of kustomize
// replaces all conditions of a webhook, so that the kit's stand in it too.
func ConditionPatches(uses []WebhookUse, hash string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Patches for an overlay of the kit whose backstop is of the policy %s:
# native policies do what the webhooks below would, so that these are not called. What is lost: docs/native.md.
# Take a webhook out to go on calling it.
`, hash)
	for _, u := range uses {
		if u.Called != "" {
			fmt.Fprintf(&b, "# %s is called: %s\n", u.Name, strings.ReplaceAll(u.Called, "\n", " "))
		}
	}
	for _, mutates := range []bool{false, true} {
		p := conditionPatch{
			APIVersion: admissionv1.SchemeGroupVersion.String(), Kind: "ValidatingWebhookConfiguration",
			Metadata: map[string]string{"name": "evergate"},
		}
		if mutates {
			p.Kind = "MutatingWebhookConfiguration"
		}
		for _, u := range uses {
			if u.Mutates == mutates && u.Called == "" {
				p.Webhooks = append(p.Webhooks, patchedWebhook{u.Name, append(slices.Clone(u.conditions),
					admissionv1.MatchCondition{Name: NativeCondition, Expression: NativeExpression})})
			}
		}
		if len(p.Webhooks) == 0 {
			continue
		}
		manifest, err := yaml.Marshal(p)
		if err != nil {
			return nil, err
		}
		b.WriteString("---\n")
		b.Write(manifest)
	}
	return b.Bytes(), nil
}
