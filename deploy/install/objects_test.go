package install

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
			text: "apiVersion: v1\nkind: Service\nspec: {ports: [{name: a}, {name: 1}]}\n",
			err:  "stdin:1: Service: spec.ports.name: cannot decode number as string",
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
			text: "apiVersion: v1\nkind: ResourceQuota\nspec: {hard: {cpu: 1, memory: 512 MB}}\n",
			err: "stdin:1: ResourceQuota: quantities must match the regular expression " +
				"'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'",
		},
		{
			name: "a time",
			text: "apiVersion: v1\nkind: Namespace\nmetadata: {name: a, creationTimestamp: today}\n",
			err: `stdin:1: Namespace a: parsing time "today" as "2006-01-02T15:04:05Z07:00": ` +
				`cannot parse "today" as "2006"`,
		},
		{
			name: "a duration, and base64",
			text: "apiVersion: cert-manager.io/v1\nkind: Certificate\nspec: {duration: 90d}\n---\n" +
				"apiVersion: v1\nkind: Secret\nmetadata: {name: a}\ndata: {tls.crt: PEM!}\n",
			err: `stdin:1: Certificate: time: unknown unit "d" in duration "90d"` + "\n" +
				`stdin:5: document 2: Secret a: illegal base64 data at input byte 3`,
		},
		{
			name: "another version",
			text: "apiVersion: admissionregistration.k8s.io/v1beta1\nkind: MutatingWebhookConfiguration\n",
			err: `stdin:1: MutatingWebhookConfiguration in admissionregistration.k8s.io/v1beta1 is not supported: ` +
				`use apiVersion: admissionregistration.k8s.io/v1`,
		},
		{
			name: "each error is reported",
			text: "kind: Pod\n---\napiVersion: v1\nkind: Service\nspec: {image: a}\n---\napiVersion: v1\nkind: " +
				"Namespace\nmetadata: {name: a}\n",
			err: "stdin:1: Pod has no apiVersion: write it next to kind, for example apiVersion: v1\n" +
				`stdin:3: document 2: Service: unknown field "spec.image"`,
			objects: 1,
		},
		{
			name: "an overlay that is not rendered",
			text: "apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\nresources: [a]\n",
			err: "stdin:1: preflight does not render a Kustomization: run kubectl kustomize DIRECTORY | " +
				"evergate preflight -f -",
		},
		{name: "nothing", err: "stdin: no object in it"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			objects, err := Read(offline.Read([]string{offline.Stdin}, strings.NewReader(tt.text)))
			got := ""
			if err != nil {
				got = err.Error()
			}
			if diff := cmp.Diff(tt.err, got); diff != "" {
				t.Error(diff)
			}
			if objects.Count() != tt.objects {
				t.Errorf("%d objects, want %d", objects.Count(), tt.objects)
			}
		})
	}
}
