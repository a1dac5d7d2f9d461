package policy

import (
	"testing"

	"github.com/evergate/evergate/policy/object"
	"github.com/google/go-cmp/cmp"
)

// kubelet looks up an image with the pull policy Never on the node by its name, so the image is not rewritten.
func TestNeverPulled(t *testing.T) {
	p := mustLoad(t, `
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub, imagePullSecret: login, exclude: {images: [docker.io/acme/excluded]}}
- {name: quay, mode: warn, sources: [quay.io], mirror: m.example/quay}
pods:
- {name: evil, mode: enforce, images: {denied: [docker.io/evil]}}
`)
	pod := &object.Pod{Images: []object.Image{
		{Place: object.Containers, Name: "a", Ref: "docker.io/acme/preloaded:1.2", PullPolicy: object.PullNever},
		{Place: object.Containers, Index: 1, Name: "b", Ref: "quay.io/acme/preloaded", PullPolicy: object.PullNever},
		{Place: object.Containers, Index: 2, Name: "c", Ref: "ghcr.io/acme/preloaded", PullPolicy: object.PullNever},
		{Place: object.Containers, Index: 3, Name: "d", Ref: "m.example/hub/acme/x", PullPolicy: object.PullNever},
		{Place: object.Containers, Index: 4, Name: "e", Ref: "acme/excluded", PullPolicy: object.PullNever},
		{Place: object.Volumes, Name: "v", Ref: "acme/model", PullPolicy: object.PullNever},
		{Place: object.Volumes, Index: 1, Name: "w", Ref: "acme/:", PullPolicy: object.PullNever},
	}}
	rw := must(p.RewritePod(createPod, pod, nil, nil))
	var got []string
	for i := range rw.Images {
		got = append(got, rw.Images[i].Why())
	}
	const never = "not rewritten by mirrors entry hub: its pull policy is Never, and kubelet looks for the image on the node by this name"
	want := []string{
		never,
		"not rewritten by mirrors entry quay: its pull policy is Never, and kubelet looks for the image on the node by this name",
		"no source covers ghcr.io/acme/preloaded",
		"already at mirror hub",
		"excluded by mirrors entry hub: exclude.images has docker.io/acme/excluded",
		never,
		"not an image reference: invalid reference format",
	}
	if diff := cmp.Diff(want, got); diff != "" || rw.Changes() || rw.PullSecrets.Added != nil {
		t.Error(diff, rw.PullSecrets)
	}
	pod.Images[0].Ref = "evil/x"
	if got := must(Pods.Evaluate(p, createPod, pod, nil, nil)); len(got) != 2 { // and the malformed one
		t.Errorf("an image that is denied as it is written: %v", sentences(got))
	}
}

// from: mirrors applies to such an image like to any other image, by its name.
func TestNeverPulledFromMirrors(t *testing.T) {
	p := mustLoad(t, `
mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub, exclude: {images: [docker.io/acme/excluded]}}]
pods: [{name: r, mode: enforce, images: {from: mirrors, allowed: [docker.io/acme/allowed]}}]
`)
	for image, passes := range map[string]bool{
		"acme/preloaded": false, "ghcr.io/x": false, "acme/allowed:1": true, "acme/excluded": true, "m.example/hub/x": true,
	} {
		pod := &object.Pod{Images: []object.Image{{Name: "a", Ref: image, PullPolicy: object.PullNever}}}
		if got := must(Pods.Evaluate(p, createPod, pod, nil, nil)); len(got) == 0 != passes {
			t.Errorf("%s: %v", image, sentences(got))
		}
	}
	const want = `"acme/preloaded" is not pulled from a mirror, and not rewritten, because its pull policy is Never; ` +
		"load it on the nodes as m.example/hub/acme/preloaded and write that, or have the policy allow it"
	got := must(Pods.Evaluate(p, createPod, &object.Pod{Images: []object.Image{{Ref: "acme/preloaded", PullPolicy: object.PullNever}}}, nil, nil))
	equal(t, want, got[0].Reason)
}
