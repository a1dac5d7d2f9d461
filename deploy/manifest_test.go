package deploy

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/offline"
)

func TestRead(t *testing.T) {
	for _, tt := range []struct {
		name, text, err string
		objects         int
	}{
		{
			name:    "documents and Lists; other kinds, and kinds of other groups, are passed over",
			objects: 2,
			text: `
apiVersion: v1
kind: Namespace
metadata: {name: a}
---
apiVersion: v1
kind: List
items:
- {apiVersion: v1, kind: Service, metadata: {name: a}}
- {apiVersion: serving.knative.dev/v1, kind: Service, metadata: {name: a}, spec: {template: {}}}
- {apiVersion: v1, kind: PersistentVolumeClaim, metadata: {name: a}}
`,
		},
		{
			name: "a field that Kubernetes does not know",
			text: "---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: evergate}\nspec: {replica: 3}\n",
			err:  "stdin:2: Deployment evergate: unknown field \"spec.replica\"",
		},
		{
			name: "a field of another case, in a List",
			text: `{"apiVersion": "v1", "kind": "List", "items": [
{"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": "evergate"}, "spec": {"Replicas": 3, "selectors": {}}}]}`,
			err: `stdin:2: item 1: Deployment evergate: unknown field "spec.Replicas"; unknown field "spec.selectors"`,
		},
		{
			name:    "a field that is newer than the types, in a cluster",
			text:    `{"apiVersion": "v1", "kind": "Node", "metadata": {"name": "a", "uid": "b"}, "spec": {"newer": true}}`,
			objects: 1,
		},
		{
			name: "another type",
			text: "apiVersion: v1\nkind: Service\nmetadata: {name: evergate}\nspec: {ports: 443}\n",
			err:  "stdin:1: Service evergate: spec.ports: cannot decode number as []v1.ServicePort",
		},
		{
			name: "an element of a list",
			text: "apiVersion: v1\nkind: Pod\nspec: {containers: [{name: a}, {name: b, image: 1}]}\n",
			err:  "stdin:1: Pod: spec.containers[1].image: cannot decode number as string",
		},
		{
			name: "a list in place of an object",
			text: "apiVersion: apps/v1\nkind: Deployment\nspec: {selector: [{matchLabels: {}}]}\n",
			err:  "stdin:1: Deployment: spec.selector: cannot decode array as v1.LabelSelector",
		},
		{
			name: "a number that is too large",
			text: "apiVersion: apps/v1\nkind: Deployment\nspec: {replicas: 99999999999}\n",
			err:  "stdin:1: Deployment: spec.replicas: cannot decode number 99999999999 as int32",
		},
		{
			name: "a quantity",
			text: "apiVersion: v1\nkind: Pod\nspec: {containers: [{resources: {limits: {cpu: 1, memory: 512 MB}}}]}\n",
			err: "stdin:1: Pod: spec.containers[0].resources.limits.memory: quantities must match the regular expression " +
				"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
		},
		{
			name: "a time",
			text: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, creationTimestamp: today}\n",
			err: `stdin:1: Namespace a: metadata.creationTimestamp: parsing time "today" as "2006-01-02T15:04:05Z07:00": ` +
				`cannot parse "today" as "2006"`,
		},
		{
			name: "a duration, and base64",
			text: "apiVersion: cert-manager.io/v1\nkind: Certificate\nspec: {duration: 90d}\n---\n" +
				"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {tls.crt: PEM!}\n",
			err: `stdin:1: Certificate: spec.duration: time: unknown unit "d" in duration "90d"` + "\n" +
				`stdin:5: Secret a: data.tls.crt: illegal base64 data at input byte 3`,
		},
		{
			name: "another version",
			text: "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingWebhookConfiguration\n",
			err: `stdin:1: MutatingWebhookConfiguration in admissionregistration.k8s.io/v1beta1 is not supported: ` +
				`write apiVersion: admissionregistration.k8s.io/v1`,
		},
		{
			name: "each error is reported",
			text: "kind: Pod\n---\napiVersion: v1\nkind: Pod\nspec: {image: a}\n---\napiVersion: v1\nkind: " +
				"Namespace\nmetadata: {name: a}\n",
			err: "stdin:1: Pod has no apiVersion: write it next to kind, for example apiVersion: v1\n" +
				`stdin:3: Pod: unknown field "spec.image"`,
			objects: 1,
		},
		{
			name: "values of webhooks that the API server rejects, each once",
			text: `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: evergate}
webhooks:
- {name: a.evergate.dev, failurePolicy: Ignore, matchPolicy: Equivalent, namespaceSelector: {matchLabels: {a: b}}}
- {name: b.evergate.dev, failurePolicy: fail, matchPolicy: equivalent}
- name: c.evergate.dev
  failurePolicy: fail
  namespaceSelector: {matchExpressions: [{key: a, operator: NotIn, values: ["Team_*"]}]}
  objectSelector: {matchExpressions: [{key: a, operator: NotIn}]}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingWebhookConfiguration
metadata: {name: evergate}
webhooks:
- {name: a.evergate.dev, reinvocationPolicy: Always}
- {name: b.evergate.dev, clientConfig: {url: "http://evergate.corp.example/mutate/pods"}}
- {name: c.evergate.dev, clientConfig: {url: "https://a:b@evergate.corp.example/mutate/pods"}}
- {name: d.evergate.dev, clientConfig: {url: "https://evergate.corp.example", service: {namespace: a, name: b}}}
`,
			err: `stdin:2: ValidatingWebhookConfiguration evergate: ` +
				`webhooks[1].failurePolicy is "fail": write Fail or Ignore; ` +
				`webhooks[1].matchPolicy is "equivalent": write Equivalent or Exact; ` +
				`webhooks[2].namespaceSelector cannot be read: values[0][a]: Invalid value: "Team_*": a valid label must be an ` +
				"empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end w…; " +
				"webhooks[2].objectSelector cannot be read: values: Invalid value: null: for 'in', 'notin' operators, values " +
				"set can't be empty\n" +
				`stdin:13: MutatingWebhookConfiguration evergate: ` +
				`webhooks[0].reinvocationPolicy is "Always": write Never or IfNeeded; ` +
				`webhooks[1].clientConfig.url is "http://evergate.corp.example/mutate/pods": write https://HOST/PATH; ` +
				`webhooks[2].clientConfig.url is "https://a:b@evergate.corp.example/mutate/pods": write https://HOST/PATH; ` +
				"webhooks[3].clientConfig has both url and service: remove url",
		},
		{
			name: "an overlay that is not rendered",
			text: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a]\n",
			err:  "stdin:1: a Kustomization is not rendered here: write kubectl kustomize DIRECTORY | evergate preflight -f -",
		},
		{name: "nothing", err: "stdin: no object in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			inv, err := Read(offline.Read([]string{offline.Stdin}, strings.NewReader(tt.text)))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.err, got); diff != "" {
				t.Error(diff)
			}
			if inv.count() != tt.objects {
				t.Errorf("%d objects, want %d", inv.count(), tt.objects)
			}
		})
	}
}

// TestNothing checks that input without Evergate is an error.
func TestNothing(t *testing.T) {
	m := manifests(documents[map[string]any](t, "base.yaml"))
	m = m.apply(t, []change{{Remove: "MutatingWebhookConfiguration/evergate"},
		{Remove: "ValidatingWebhookConfiguration/evergate"}, {Remove: "Deployment/evergate"}})
	report, err := Check(m.inventory(t), Options{Now: now})
	want := "the input does not contain Evergate: no webhook configuration has the label " +
		"app.kubernetes.io/name=evergate, and no webhook is called *.evergate.dev"
	if report != nil || err == nil || err.Error() != want {
		t.Errorf("%v, %v", report, err)
	}
}

// TestSparse checks that no check fails if any object is missing from the input.
func TestSparse(t *testing.T) {
	all := manifests(documents[map[string]any](t, "base.yaml"))
	for i := range all {
		var with, without manifests // the webhooks and object i; all except object i
		for j, o := range all {
			if i == j || strings.HasSuffix(o["kind"].(string), "WebhookConfiguration") {
				with = append(with, o)
			}
			if i != j {
				without = append(without, o)
			}
		}
		for _, m := range []manifests{with, without} {
			if _, err := Check(m.inventory(t), Options{Now: now}); err != nil {
				t.Fatal(err)
			}
		}
	}
}
