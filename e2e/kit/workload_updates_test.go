package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/kubernetes"
)

const updatesPolicy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io}
pods:
- {name: no-quay, mode: enforce, workloads: enforce, images: {denied: [quay.io]}}
`

// TestWorkloadsFromBefore checks that a template that a new rule would deny does not prevent updates that leave it
// unchanged, and that templates are never changed, whatever happens to the images of their Pods. These are I9 and I10
// for workloads.
func TestWorkloadsFromBefore(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	const old = "quay.io/evil/x:1"
	for _, w := range workloadKinds() {
		object := w.object("w", old)
		set(object, json.RawMessage(containers(old, "nginx:1")), w.containers()...)
		must(t, post(w.path("team"), object)(t.Context(), c.admin))
	}
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed"))
	c.serve(t, build(t), policyFile(t, updatesPolicy))
	await(t, "the webhooks are active", func(ctx context.Context) bool {
		for _, w := range workloadKinds() {
			if post(w.path("team")+"?dryRun=All", w.object("awaited", old))(ctx, c.admin) == nil {
				return false
			}
		}
		return true
	})
	for _, w := range workloadKinds() {
		t.Run(w.kind, func(t *testing.T) {
			for _, u := range w.updatesFromBefore(old) {
				err := u.do(t.Context(), c.admin)
				if u.want == "" && err != nil {
					t.Errorf("%s: %v", u.name, err)
				} else if u.want != "" {
					checkDenial(t, err, w.hook, u.want)
				}
			}
		})
	}
}

// objectUpdate is an update of an existing object, and the start of the message if it is denied, or empty if it is
// allowed.
type objectUpdate struct {
	name string
	do   write
	want string
}

// updatesFromBefore returns updates of an existing object whose image is denied, in this order.
func (w workload) updatesFromBefore(old string) []objectUpdate {
	denied := "no-quay/images.denied: " + strings.Join(w.containers(), ".") + `[1].image: "quay.io/worse/x:1" is denied`
	asByRestart := w.at(`{"metadata": {"annotations": {"restartedAt": "now"}}}`)
	another := w.patch(w.images(old, "quay.io/worse/x:1"))
	updates := []objectUpdate{
		{"a label", w.patch(`{"metadata": {"labels": {"a": "b"}}}`), ""},
		{"a finalizer", w.patch(`{"metadata": {"finalizers": ["a.example/b"]}}`), ""},
		{"another field", w.patch(w.change), ""},
	}
	if !w.fixed {
		updates = append(updates,
			objectUpdate{"as by kubectl rollout restart", w.patch(asByRestart), ""},
			objectUpdate{"its templates are as they were written", w.hasImages(old, "nginx:1"), ""},
			objectUpdate{"another image that is denied", another, denied},
			objectUpdate{"another image that is not", w.patch(w.images(old, "nginx:2")), ""},
			objectUpdate{"the images change places", w.patch(w.images("nginx:2", old)), ""},
			objectUpdate{"its templates are as they were written", w.hasImages("nginx:2", old), ""},
		)
	} else {
		updates = append(updates, objectUpdate{"its template is as it was written", w.hasImages(old, "nginx:1"), ""})
	}
	updates = append(updates, objectUpdate{"deletion, which the finalizer holds up", w.delete(), ""})
	if !w.fixed {
		updates = append(updates,
			objectUpdate{"another image that is denied, of what is being deleted", another, denied})
	}
	return append(updates, objectUpdate{"the finalizer goes", w.patch(`{"metadata": {"finalizers": null}}`), ""})
}

// containers returns the path of the containers in the template.
func (w workload) containers() []string {
	return slices.Concat(w.template, []string{"spec", "containers"})
}

// images returns a patch that replaces the containers.
func (w workload) images(images ...string) string {
	patch := map[string]any{}
	set(patch, json.RawMessage(containers(images...)), w.containers()...)
	return encoded(patch)
}

// containers returns a list of containers with images.
func containers(images ...string) string {
	var list []map[string]string
	for i, image := range images {
		list = append(list, map[string]string{"name": fmt.Sprintf("c%d", i), "image": image})
	}
	return encoded(list)
}

// hasImages reads the object again and compares the images in its template.
func (w workload) hasImages(want ...string) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		body, err := api.CoreV1().RESTClient().Get().RequestURI(w.path("team") + "/w").DoRaw(ctx)
		if err != nil {
			return err
		}
		var at any = decoded(string(body))
		for _, field := range w.containers() {
			at = at.(map[string]any)[field]
		}
		var images []string
		for _, container := range at.([]any) {
			images = append(images, container.(map[string]any)["image"].(string))
		}
		if !slices.Equal(want, images) {
			return fmt.Errorf("the images are %q, want %q", images, want)
		}
		return nil
	}
}
