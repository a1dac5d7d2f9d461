package incidents

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/evergate/evergate/e2e/internal/cluster"
)

// I15: annotations were written through the subresource status, which no webhook matched.

func TestI15(t *testing.T) {
	try(t, incident{
		id: "I15", what: "a tenant writes a denied annotation through ingresses/status",
		guard:   "status is matched if annotations or labels differ",
		happen:  throughStatus,
		lacking: "status is not matched",
		without: func(t *testing.T, l *lab) {
			l.Install(t, cluster.Product{Patches: []string{`- target: {kind: ValidatingWebhookConfiguration, name: evergate}
  patch: |-
    - {op: test, path: /webhooks/1/name, value: ingresses.validate.evergate.dev}
    - {op: replace, path: /webhooks/1/rules/0/resources, value: [ingresses]}`}})
			// The API server notices the change by watching.
			pause(t.Context(), 2*time.Second)
		},
	})
}

const statusWriter = `
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: everything, namespace: ` + team + `}
rules: [{apiGroups: ["*"], resources: ["*"], verbs: ["*"]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: RoleBinding
metadata: {name: everything, namespace: ` + team + `}
roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: everything}
subjects: [{apiGroup: rbac.authorization.k8s.io, kind: User, name: status-writer}]
`

func throughStatus(t *testing.T, l *lab, _ bool) outcome {
	l.Kubectl(t, statusWriter, "apply", "-f", "-")
	l.undo(t, "-n", team, "delete", "role,rolebinding", "everything", "--ignore-not-found")
	l.undo(t, "-n", team, "delete", "ingress", "snippet", "--ignore-not-found")
	tenant := l.as(t, "status-writer").NetworkingV1().Ingresses(team)
	l.await(t, "the tenant's Ingress", time.Minute, func(ctx context.Context) error {
		_, err := tenant.Create(ctx, ingress("snippet", "a.apps.example"), metav1.CreateOptions{})
		return err
	})
	annotation := []byte(`{"metadata": {"annotations": {"nginx.ingress.kubernetes.io/configuration-snippet": "x"}}}`)
	address := []byte(`{"status": {"loadBalancer": {"ingress": [{"ip": "192.0.2.1"}]}}}`)
	var o outcome
	if _, err := tenant.Patch(t.Context(), "snippet", types.MergePatchType, address, metav1.PatchOptions{},
		"status"); err != nil {
		o.breaks("an address in the status: %v", err)
	}
	_, err := tenant.Patch(t.Context(), "snippet", types.MergePatchType, annotation, metav1.PatchOptions{}, "status")
	if err == nil || !strings.Contains(err.Error(), "denied the request: no-snippets/annotations.denied: ") {
		o.breaks("an annotation through the status: %v", err)
		return o
	}
	o.figure("denied", "%v", err)
	return o
}
