package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
)

// An image in a template is not evaluated if something fills it in before a Pod is created. The image of the Pod is
// evaluated.
func TestPlaceholders(t *testing.T) {
	p := mustLoad(t, `
mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}]
pods:
- {name: from, mode: enforce, workloads: enforce, images: {from: mirrors, denied: [quay.io/evil], deniedTags: [latest], digest: required}}
- {name: listed, mode: enforce, workloads: enforce, images: {allowed: [quay.io/acme]}}
`)
	mirrors := mustLoad(t, "mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}]\n")
	istio := map[string]string{"inject.istio.io/templates": "gateway"}
	for name, test := range map[string]struct {
		image       string
		annotations map[string]string
		container   string
		placeholder bool
	}{
		"a trigger of OpenShift":   {" ", nil, "", true},
		"absent, or empty":         {"", nil, "", true},
		"more white space":         {"\t \n", nil, "", true},
		"a gateway of Istio":       {"auto", istio, "", true},
		"auto":                     {"auto", nil, "", false},
		"a sidecar of Istio":       {"auto", nil, "istio-proxy", true},
		"another sidecar":          {"auto", nil, "proxy", false},
		"another image of Istio's": {"auto:1", istio, "", false},
		"padded":                   {" nginx", nil, "", false},
		"a control character":      {"\x00", nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			w := workload(template(test.image))
			w.Templates[0].Annotations = test.annotations
			w.Templates[0].Images[0].Name = test.container
			result := must(p.ReviewWorkload(createWorkload, w, nil, nil))
			if placeholder := len(result.Findings) == 0; placeholder != test.placeholder {
				t.Errorf("of the template: %v", said(result.Findings))
			}
			outcome := result.Rewritings[0].Images[0].Outcome
			if placeholder := outcome == Placeholder; placeholder != test.placeholder {
				t.Errorf("outcome %s", outcome)
			}
			for _, image := range must(p.RewriteTemplates(createWorkload, w)) {
				if image.Outcome != outcome {
					t.Errorf("RewriteTemplates has %s", image.Outcome)
				}
			}
			pod := imagePod(test.image)
			pod.Annotations, pod.Images[0].Name = test.annotations, test.container
			if rw := must(mirrors.RewritePod(createPod, pod, nil, nil)); test.placeholder && rw.Changes() {
				t.Errorf("the image of the Pod is rewritten to %s", rw.Images[0].To)
			}
			if got := must(p.EvaluatePod(createPod, pod, nil, nil)); len(got) == 0 {
				t.Error("a Pod with the image passes")
			}
		})
	}
}

// The other images of a template are evaluated, also if an update fills in a placeholder.
func TestPlaceholderBesideImages(t *testing.T) {
	p := mustLoad(t, `pods: [{name: r, mode: enforce, workloads: enforce, images: {denied: [quay.io/evil]}}]`)
	want := []string{`enforce r/images.denied: spec.template.spec.containers[1].image: "quay.io/evil" is denied by quay.io/evil; its Pods will be denied`}
	got := said(must(p.EvaluateWorkload(createWorkload, workload(template(" ", "quay.io/evil")), nil, nil)))
	equal(t, want, got)
	update := createWorkload
	update.Operation = object.Update
	if got := must(p.EvaluateWorkload(update, workload(template("quay.io/evil")), workload(template(" ")), nil)); len(got) != 1 {
		t.Errorf("an update that fills it in: %v", said(got))
	}
}
