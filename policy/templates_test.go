package policy

import (
	"fmt"
	"strings"
	"testing"
)

const someTemplates = `
templates:
- group: ray.io
  versions: [v1, v1alpha1]
  kind: RayJob
  resource: rayjobs
  paths: [spec.rayClusterSpec.headGroupSpec.template, "spec.rayClusterSpec.workerGroupSpecs.*.template"]
---
apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
templates:
- {group: argoproj.io, versions: [v1alpha1], kind: Rollout, resource: rollouts, paths: [spec.template]}
`

// Entries in several documents add up, in the order of their names. Rule sets read them too.
func TestTemplates(t *testing.T) {
	p := mustLoad(t, someTemplates+`
pods: [{name: r, mode: warn, match: {set: edge}, images: {denied: [a.example]}}]`)
	want := []Template{
		{Group: "ray.io", Versions: []string{"v1", "v1alpha1"}, Kind: "RayJob", Resource: "rayjobs", Paths: []TemplatePath{
			{"spec", "rayClusterSpec", "headGroupSpec", "template"},
			{"spec", "rayClusterSpec", "workerGroupSpecs", "*", "template"},
		}},
		{
			Group: "argoproj.io", Versions: []string{"v1alpha1"}, Kind: "Rollout", Resource: "rollouts",
			Paths: []TemplatePath{{"spec", "template"}},
		},
	}
	equal(t, want, p.Templates())
	equal(t, want, p.In("edge", "pods").Templates(), "of a set")
	if p.Entries() != 1 {
		t.Errorf("%d entries, of which one applies to objects", p.Entries())
	}
}

// A policy with only templates is empty, and a policy with templates but without rules in pods gets a warning.
func TestTemplatesAlone(t *testing.T) {
	if !mustLoad(t, someTemplates).Emptied() {
		t.Error("not empty")
	}
	const want = "policy.yaml:5:3: templates[0]: no pods entry is active, so no template is validated"
	for text, warned := range map[string]bool{
		"": true,
		"pods: [{name: r, mode: off, images: {denied: [a.example]}}]":                       true,
		"pods: [{name: r, mode: warn, images: {denied: [a.example]}}]":                      false,
		"pods: [{name: r, mode: audit, match: {set: edge}, images: {denied: [a.example]}}]": false,
	} {
		got := strings.Join(mustLoad(t, someTemplates+text).Warnings(), "\n")
		if (got == want) != warned || !warned && got != "" {
			t.Errorf("%s: %q", text, got)
		}
	}
}

// A path of an image that no version of a known kind has gets a warning. The images of other kinds are unknown.
func TestTemplateImages(t *testing.T) {
	const pods = "pods: [{name: r, mode: warn, images: {denied: [a.example]}}]\n"
	for images, want := range map[string]string{
		"Task.tekton.dev: spec.steps.*.image":                              "",
		"Task.tekton.dev: spec.*.*.image":                                  "",
		"Task.x.example: spec.step.image":                                  "",
		"Workflow.argoproj.io: spec.templateDefaults.*.image":              "",
		"VirtualMachine.kubevirt.io: spec.template.spec.volumes.*.*.image": "",
		"Task.tekton.dev: spec.step.*.image": "policy.yaml:5:3: templates[0]: images has spec.step.*.image, and no known version of " +
			"Task.tekton.dev has an image there; its images are spec.steps.*.image, spec.sidecars.*.image, " +
			"spec.stepTemplate.image, spec.volumes.*.image.reference",
		"VirtualMachineInstance.kubevirt.io: spec.volumes.*.image": "policy.yaml:5:3: templates[0]: images has spec.volumes.*.image, and " +
			"no known version of VirtualMachineInstance.kubevirt.io has an image there; its images are " +
			"spec.volumes.*.containerDisk.image, spec.domain.firmware.kernelBoot.container.image",
	} {
		kind, path, _ := strings.Cut(images, ": ")
		kind, group, _ := strings.Cut(kind, ".")
		text := fmt.Sprintf("\ntemplates:\n- {group: %s, versions: [v1], kind: %s, resource: r, images: [%q]}\n", group, kind, path)
		if got := strings.Join(mustLoad(t, text+pods).Warnings(), "\n"); got != want {
			t.Errorf("%s: %s", images, got)
		}
	}
}

// The limits of the block.
func TestTemplatesLimits(t *testing.T) {
	entries := func(n int) string {
		var b strings.Builder
		b.WriteString("templates:\n")
		for i := range n {
			fmt.Fprintf(&b, "- {group: g.example, versions: [v1], kind: K%d, resource: r%[1]d, paths: [a.b.c.d.e.f.g.h.i.j]}\n", i)
		}
		return b.String()
	}
	if got := len(mustLoad(t, entries(100)).Templates()); got != 100 {
		t.Errorf("%d of %d", got, 100)
	}
	_, err := Load(policyFile("policy.yaml", entries(101)))
	const want = "policy.yaml:104:3: templates[100]: templates has 101 entries; at most 100 are read"
	if err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
}

// A kind begins with an upper case letter.
func TestTemplateKinds(t *testing.T) {
	for first := rune(' '); first <= '~'; first++ {
		text := fmt.Sprintf("templates: [{group: g.example, versions: [v1], kind: '%sx', resource: r, paths: [spec.template]}]",
			strings.ReplaceAll(string(first), "'", "''"))
		if _, err := Load(policyFile("p", text)); (err == nil) != ('A' <= first && first <= 'Z') {
			t.Errorf("%q: %v", first, err)
		}
	}
}
