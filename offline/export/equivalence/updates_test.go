package equivalence

import (
	"context"
	"fmt"
	"strings"
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	"k8s.io/apiserver/pkg/admission/plugin/policy/mutating/patch"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	celconfig "k8s.io/apiserver/pkg/apis/cel"

	"github.com/evergate/evergate/offline/export"
)

// A Pod that exceeds the API server's budget is denied and not rewritten. No policy admits it.
func TestOverBudget(t *testing.T) {
	t.Parallel()
	few, _, _ := strings.Cut(podPolicies()["readme"], "- {name: hints")
	s := newSubject(t, few, export.Options{Targets: []export.Target{export.VAP, export.MAP}})
	var containers []any
	for i := range 4000 {
		containers = append(containers, map[string]any{
			"name": fmt.Sprintf("c%d", i), "image": "Reg.example:5000/team/" + strings.Repeat("x", 80),
		})
	}
	a := request{namespace: "team-a", user: "jane", object: map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"},
		"spec": map[string]any{"containers": containers},
	}}.attributes(t)
	for i := range s.evaluator.validating {
		p := &s.evaluator.validating[i]
		if !strings.HasSuffix(p.Name, "-enforce") {
			continue
		}
		result := p.Validate(context.Background(), a.GetResource(), versioned(t, a), nil, nil, celconfig.RuntimeCELCostBudget,
			nil)
		if len(result.Decisions) != 1 || result.Decisions[0].Action != validating.ActionDeny ||
			result.Decisions[0].Evaluation != validating.EvalError {
			t.Errorf("%s: %v", p.Name, result.Decisions)
		}
	}
	for i := range s.evaluator.mutating {
		p := &s.evaluator.mutating[i]
		_, err := p.patcher.Patch(p.compiler.CreateContext(context.Background()), patch.Request{
			MatchedResource: a.GetResource(), VersionedAttributes: versioned(t, a), ObjectInterfaces: interfaces(),
		}, celconfig.RuntimeCELCostBudget)
		if err == nil || *p.Spec.FailurePolicy != admissionv1.Fail {
			t.Errorf("%s: %v", p.Name, err)
		}
	}
}

// If a label excluded an object, an update that removes the label introduces the findings. If an update adds the label,
// they existed before.
func TestChangedLabels(t *testing.T) {
	t.Parallel()
	s := newSubject(t, `
services: [{name: s, mode: enforce, exclude: {labels: [free]}, types: {denied: [NodePort]}}]
`, export.Options{Targets: []export.Target{export.VAP}})
	service := func(labels map[string]any) map[string]any {
		return map[string]any{
			"apiVersion": "v1", "kind": "Service", "metadata": map[string]any{"name": "s", "labels": labels},
			"spec": map[string]any{"type": "NodePort"},
		}
	}
	free, other := service(map[string]any{"free": "y"}), service(map[string]any{"a": "b"})
	for _, test := range []struct {
		object, old map[string]any
		denied      int
	}{{other, free, 1}, {free, other, 0}, {free, nil, 0}, {other, service(map[string]any{"c": "d"}), 0}, {other, nil, 1}} {
		s.denied = 0
		s.compare(t, request{object: test.object, old: test.old, namespace: "team-a", user: "jane"})
		if s.denied != test.denied {
			t.Errorf("%v after %v: %d denied", test.object, test.old, s.denied)
		}
	}
}

// The API server calls the rewriting policy again after a webhook has injected a container. The injected image is
// rewritten too, the record keeps the images of the first call, and a third call changes nothing.
func TestReinvocation(t *testing.T) {
	t.Parallel()
	s := newSubject(t, podPolicies()["readme"], export.Options{Targets: []export.Target{export.VAP, export.MAP}})
	pod := map[string]any{
		"apiVersion": "v1", "kind": "Pod", "metadata": map[string]any{"name": "p"},
		"spec": map[string]any{"containers": []any{map[string]any{"name": "app", "image": "nginx:1"}}},
	}
	create := func() request { return request{object: pod, namespace: "team-a", user: "jane"} }
	rewrite := func() {
		s.compareRewriting(t, create())
		rewritten := map[string]any{}
		convert(t, s.evaluator.mutate(t, create().attributes(t)), &rewritten)
		pod = rewritten
		pod["apiVersion"], pod["kind"] = "v1", "Pod"
	}
	rewrite()
	spec, _ := pod["spec"].(map[string]any)
	spec["containers"] = added(spec["containers"], map[string]any{"name": "proxy", "image": "istio/proxyv2:1.30"})
	spec["initContainers"] = []any{map[string]any{"name": "init", "image": "busybox:1"}}
	rewrite()
	once := string(marshal(t, pod))
	rewrite()
	if got := string(marshal(t, pod)); got != once || strings.Count(got, "mirror.corp.example/docker.io/") != 3 ||
		!strings.Contains(got, `\"containers/app\":\"nginx:1\",\"containers/proxy\":\"istio/proxyv2:1.30\"`) {
		t.Errorf("%s\n%s", once, got)
	}
}

// Objects with the number of annotations in docs/native.md are evaluated by checks that read annotations.
func TestManyAnnotations(t *testing.T) {
	t.Parallel()
	const most = 500
	annotations := map[string]any{}
	for i := range most {
		annotations[fmt.Sprintf("team-%d.example.com/some-setting-of-a-controller", i)] = strings.Repeat("value ", 8)
	}
	for kind, test := range map[string]struct {
		policies map[string]string
		object   map[string]any
	}{
		"services": {servicePolicies(), map[string]any{"apiVersion": "v1", "kind": "Service"}},
		"ingresses": {ingressPolicies(), map[string]any{
			"apiVersion": "networking.k8s.io/v1", "kind": "Ingress",
		}},
		"routes": {routePolicies(), map[string]any{"apiVersion": "gateway.networking.k8s.io/v1", "kind": "HTTPRoute"}},
		"gateways": {gatewayPolicies(), map[string]any{
			"apiVersion": "gateway.networking.k8s.io/v1", "kind": "Gateway",
		}},
	} {
		for name, text := range test.policies {
			t.Run(kind+"/"+name, func(t *testing.T) {
				s := newSubject(t, text, export.Options{Targets: []export.Target{export.VAP}})
				test.object["metadata"] = map[string]any{"name": "p", "annotations": annotations}
				test.object["spec"] = map[string]any{}
				s.compare(t, request{object: test.object, namespace: "team-a", user: "jane"})
			})
		}
	}
}
