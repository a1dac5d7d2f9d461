package calls

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/evergate/evergate/e2e/internal/client"
	"github.com/evergate/evergate/e2e/internal/hostile"
)

// nastyBodies returns reviews whose content costs most memory for each byte, because it is quoted, split or escaped.
func nastyBodies(size int) map[string][]byte {
	long := func(text string) string { return strings.Repeat(text, size/len(text)) }
	return map[string][]byte{
		"an image of 0x7f": reviewOf("pods", fmt.Sprintf(
			`{"metadata": {}, "spec": {"containers": [{"name": "web", "image": "%s"}]}}`, long("\x7f"))),
		"a container's name of <": reviewOf("pods", fmt.Sprintf(
			`{"metadata": {}, "spec": {"containers": [{"name": "%s", "image": "nginx"}]}}`, long("<"))),
		"a key of 0x7f": reviewOf("pods", fmt.Sprintf(
			`{"metadata": {"annotations": {"%s": ""}}, "spec": {"containers": [{"name": "web", "image": "nginx"}]}}`,
			long("\x7f"))),
		"commas": reviewOf("services", fmt.Sprintf(
			`{"metadata": {"annotations": {"service.beta.kubernetes.io/load-balancer-source-ranges": "%s"}}, "spec": {"type": `+
				`"LoadBalancer"}}`,
			long(","))),
		"a name of dots": reviewOf("services", fmt.Sprintf(`{"metadata": {}, "spec": {"type": "ExternalName", `+
			`"externalName": "%s"}}`,
			long("."))),
		"many containers": reviewOf("pods", fmt.Sprintf(`{"metadata": {}, "spec": {"containers": [%s{"name": "a", "image": `+
			`"b"}]}}`,
			long(`{"name": "a", "image": "b"},`))),
		"many addresses": reviewOf("services", fmt.Sprintf(`{"metadata": {}, "spec": {"externalIPs": [%s"8.8.8.8"]}}`,
			long(`"8.8.8.8",`))),
	}
}

// servicesPolicy contains the rules that read the costly fields of a Service.
const servicesPolicy = `
services:
- name: addresses
  mode: enforce
  loadBalancerSourceRanges: {allowed: [10.0.0.0/8]}
  externalIPs: {allowed: [10.0.0.0/8]}
  externalNames: {allowed: ["*.corp.example"]}
`

// reviewOf returns the review of a created object, as JSON.
func reviewOf(resource, object string) []byte {
	review := podOf(0)
	before, _, _ := bytes.Cut(review, []byte(`"object": {`))
	kind := map[string]string{"pods": "Pod", "services": "Service"}[resource]
	head := bytes.ReplaceAll(before, []byte(`"pods"`), []byte(`"`+resource+`"`))
	head = bytes.ReplaceAll(head, []byte(`"kind": "Pod"`), []byte(`"kind": "`+kind+`"`))
	return append(head, fmt.Sprintf(`"object": {"apiVersion": "v1", "kind": "%s", %s, "oldObject": null, "dryRun": `+
		`false}}`,
		kind, object[1:])...)
}

// TestHostileBodies sends many concurrent reviews with the costliest contents. Each of them is answered.
func TestHostileBodies(t *testing.T) {
	for name, body := range nastyBodies(2900 << 10) {
		t.Run(name, func(t *testing.T) {
			if !json.Valid(body) {
				t.Fatal("this is not JSON")
			}
			path := "/validate/pods"
			if bytes.Contains(body[:200], []byte("Service")) {
				path = "/validate/services"
			}
			t.Setenv("GOMEMLIMIT", fmt.Sprint(memoryLimit))
			c := newCluster(t, product(t), "--max-connection-age=1ms")
			must(t, c.policy.Write(map[string][]byte{"policy.yaml": []byte(policy + servicesPolicy)}))
			peak := c.besiege(t, c.client(client.ClusterIP), func(ctx context.Context, s *siege) {
				for _, path := range []string{path, strings.Replace(path, "validate/pods", "mutate/pods", 1)} {
					s.each(24, answered, func() string { return s.ask(ctx, hostile.Post(path, len(body)), body) })
				}
			})
			if peak > memoryBound {
				t.Errorf("the process used %d MiB, its limit is %d MiB", peak>>20, memoryBound>>20)
			}
		})
	}
}

// nasty sends all of them at the same time and ignores the results.
func nasty(ctx context.Context, s *siege) {
	for _, body := range nastyBodies(2900 << 10) {
		path := "/validate/pods"
		if bytes.Contains(body[:200], []byte("Service")) {
			path = "/validate/services"
		}
		hostile.Each(8, 8, func() string { return s.ask(ctx, hostile.Post(path, len(body)), body) })
	}
}
