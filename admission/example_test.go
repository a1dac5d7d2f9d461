package admission_test

import (
	"fmt"
	"strings"
	"time"

	"github.com/evergate/evergate/admission"
	"github.com/evergate/evergate/policy"
)

// A review goes to the row of the table that has its path. The policy decides, and the decision becomes the response.
func Example() {
	p, err := policy.Load(policy.File{Name: "policy.yaml", Data: []byte(`
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
services:
- {name: no-public-entry, mode: enforce, types: {allowed: [ClusterIP]}}
`)})
	if err != nil {
		fmt.Println(err)
		return
	}
	body := []byte(`{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
  "uid": "8c6f0a", "operation": "CREATE", "namespace": "team-a", "name": "web",
  "resource": {"group": "", "version": "v1", "resource": "services"},
  "object": {"metadata": {"name": "web"}, "spec": {"type": "NodePort"}}}}`)

	for _, w := range admission.Webhooks() {
		if w.Path != "/validate/services" {
			continue
		}
		noSet, noStages := "", func(string) {}
		d, err := w.Decide(p, noSet, body, time.Now(), &policy.Effort{}, noStages)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(d.UID, d.Operation, d.Namespace, d.Name)
		sentence, _, _ := strings.Cut(d.Response().Message, " [policy ") // without the hash of the policy
		fmt.Println(sentence)
	}
	// Output:
	// 8c6f0a CREATE team-a web
	// no-public-entry/types.allowed: spec.type: "NodePort" is not allowed; allowed: ClusterIP
}
