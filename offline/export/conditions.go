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

// The API server does not call a webhook if one of its matchConditions is false. This condition is always false.
const (
	NativeCondition  = "not-validated-natively"
	NativeExpression = "false"
)

// NeverCalled returns the name of a condition that is never true, or an empty string if the webhook may be called.
func NeverCalled(conditions []admissionv1.MatchCondition) string {
	for _, m := range conditions {
		if strings.TrimSpace(m.Expression) == NativeExpression {
			return m.Name
		}
	}
	return ""
}

// Webhook is a webhook of the base manifests that native policies can replace.
type Webhook struct {
	Name, Path string
	Mutates    bool

	block      string                       // the policy block that native policies replace
	beside     []string                     // other blocks whose entries the webhook applies
	conditions []admissionv1.MatchCondition // in the base manifests
}

// Webhooks returns the webhooks of the base manifests that native policies can replace.
func Webhooks() []Webhook {
	pods, object := podConditions(), []admissionv1.MatchCondition{notTheClusterItself(), validatedFieldsChange()}
	// The webhooks that rewrite also report findings of rules for Pods in the original images.
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

// notFromAMirror is the condition of the retry webhook. The wiring overlay replaces its seventh line.
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

// PolicyPrefix returns the prefix of the names of the native policies that replace the webhook.
func (w *Webhook) PolicyPrefix() string { return "evergate-" + w.block }

// WebhookUse is a webhook, and the reason why it has to be called in addition to the native policies.
type WebhookUse struct {
	Webhook
	// Called is the reason. It is empty if native policies replace the webhook completely.
	Called string
}

// WebhookUses returns the webhooks, and whether they have to be called if the exported objects are active. A webhook
// does not have to be called if it has at least one entry and all its entries are native and enforced. Entries in
// mode warn and audit exist to be counted, and only the webhook counts.
func WebhookUses(doc policy.Document, o Options) []WebhookUse {
	// OpenShift Routes have their own webhook, which is always called.
	omissions := slices.DeleteFunc(Export(doc, o).Omissions, func(r Omission) bool { return r.Why == openShiftRoutes })
	entries := current(doc.Entries, o.Now)
	var uses []WebhookUse
	for _, w := range Webhooks() {
		uses = append(uses, WebhookUse{w, w.called(entries, o, omissions)})
	}
	return uses
}

// called returns the reason why a webhook has to be called.
func (w *Webhook) called(entries []*entry, o Options, omissions []Omission) string {
	target := VAP
	if w.block == "mirrors" {
		target = MAP
	}
	if !slices.Contains(o.Targets, target) && !slices.Contains(o.Targets, Static) {
		return "the target " + string(target) + " is not exported"
	}
	native := 0
	for _, e := range entries {
		if e.Mode == policy.Off || e.Block != w.block && !slices.Contains(w.beside, e.Block) || onlyOpenShift(&e.Entry) {
			continue
		}
		if why := onlyByWebhook(&e.Entry, omissions); why != "" {
			return why
		}
		if e.Block == w.block {
			native++
		}
	}
	if native == 0 {
		return "no entry of " + w.block + " is active"
	}
	return ""
}

// onlyOpenShift reports whether an entry applies only to OpenShift Routes. No other webhook applies such an entry.
func onlyOpenShift(e *policy.Entry) bool {
	kinds := texts(e.Fields["kinds"])
	return e.Block == "routes" && len(kinds) == 1 && kinds[0] == "Route"
}

// onlyByWebhook returns the reason why an entry needs the webhook.
func onlyByWebhook(e *policy.Entry, omissions []Omission) string {
	of := nameOf(e)
	for i := range omissions {
		if field, why, ok := omissions[i].Of(e); ok {
			return of + " is not completely native: " + cmp.Or(field, "the entry") + ": " + why
		}
	}
	switch {
	case e.Block == "owners":
		return of + " is not native"
	case e.Mode != policy.Enforce:
		return of + " is in mode " + e.Mode.String() + ", and only the webhook counts its findings"
	}
	return ""
}

// ConditionPatches returns kustomize patches for the webhook configurations of the base manifests. With them, the API
// server does not call the webhooks that native policies replace. A comment lists each webhook that is still called.
// A kustomize patch replaces all conditions of a webhook, so the patches include the conditions of the base
// manifests.
func ConditionPatches(uses []WebhookUse, hash string) ([]byte, error) {
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Patches for an overlay whose backstop was exported from policy %s.
# Native policies replace the webhooks below, so the API server does not call them.
# docs/native.md describes the differences.
# Remove a webhook from this file to keep calling it.
`, hash)
	for _, u := range uses {
		if u.Called != "" {
			fmt.Fprintf(&b, "# %s is called: %s\n", u.Name, strings.ReplaceAll(u.Called, "\n", " "))
		}
	}
	for _, mutates := range []bool{false, true} {
		kind := "ValidatingWebhookConfiguration"
		if mutates {
			kind = "MutatingWebhookConfiguration"
		}
		var webhooks []any
		for _, u := range uses {
			if u.Mutates == mutates && u.Called == "" {
				webhooks = append(webhooks, map[string]any{"name": u.Name, "matchConditions": append(slices.Clone(u.conditions),
					admissionv1.MatchCondition{Name: NativeCondition, Expression: NativeExpression})})
			}
		}
		if len(webhooks) == 0 {
			continue
		}
		manifest, err := yaml.Marshal(map[string]any{"apiVersion": admissionv1.SchemeGroupVersion.String(), "kind": kind,
			"metadata": map[string]string{"name": "evergate"}, "webhooks": webhooks})
		if err != nil {
			return nil, err
		}
		b.WriteString("---\n")
		b.Write(manifest)
	}
	return b.Bytes(), nil
}
