package admission

import (
	"slices"
	"testing"
	"time"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/review/reviewtest"
)

// The future images of a workload's Pods are in the audit log. They do not cause a patch or a warning.
func TestAuditOfWorkloads(t *testing.T) {
	p, err := policy.Load(policy.File{Name: "policy.yaml", Data: []byte(`apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}]
`)})
	if err != nil {
		t.Fatal(err)
	}
	webhooks := Webhooks()
	w := webhooks[slices.IndexFunc(webhooks, func(w Webhook) bool { return w.Path == "/validate/workloads" })]
	body := reviewtest.Create(reviewtest.Deployment(1, 0))
	d := must(w.Decide(p, "", body, time.Time{}, new(policy.Effort), func(string) {}))
	answer := d.Response()
	const want = "spec.template.spec.containers/app-00: docker.io/acme/shop-00:v1.0.0 -> " +
		"mirror.corp.example/docker.io/acme/shop-00:v1.0.0 (hub, enforce)"
	if got := answer.AuditAnnotations["images"]; got != want {
		t.Errorf("images: %s, want %s", got, want)
	}
	if !answer.Allowed || answer.Patch != nil || answer.Warnings != nil {
		t.Errorf("the answer is %+v", answer)
	}
}
