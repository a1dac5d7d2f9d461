package kit

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
)

// workload is a kind whose objects create Pods.
type workload struct {
	kind     string
	api      string   // the path of its API group and version
	resource string   // its plural
	hook     string   // the webhook that is called for it
	template []string // the path of its template
	spec     string   // its other required fields and one that can be changed, as JSON; template is added to it
	change   string   // a patch that does not change the template
	scales   bool     // it has the subresource scale
	status   string   // a patch of its status; empty if it has none
	fixed    bool     // the images in its template cannot be changed
}

// workloadKinds returns all workloads for which the manifests have webhooks.
func workloadKinds() []workload {
	inSpec := []string{"spec", "template"}
	const selector = `{"spec": {"selector": {"matchLabels": {"app": "w"}}}}`
	const replicas, oneReplica = `{"spec": {"replicas": 2}}`, `{"status": {"replicas": 1}}`
	return []workload{
		{kind: "Deployment", api: "/apis/apps/v1", resource: "deployments", hook: workloads, template: inSpec,
			spec: selector, change: replicas, scales: true, status: oneReplica},
		{kind: "StatefulSet", api: "/apis/apps/v1", resource: "statefulsets", hook: workloads, template: inSpec,
			spec: `{"spec": {"selector": {"matchLabels": {"app": "w"}}, "serviceName": "w"}}`, change: replicas, scales: true,
			status: oneReplica},
		{kind: "DaemonSet", api: "/apis/apps/v1", resource: "daemonsets", hook: workloads, template: inSpec,
			spec: selector, change: `{"spec": {"minReadySeconds": 5}}`, status: `{"status": {"numberReady": 1}}`},
		{kind: "ReplicaSet", api: "/apis/apps/v1", resource: "replicasets", hook: workloads, template: inSpec,
			spec: selector, change: replicas, scales: true, status: oneReplica},
		{kind: "ReplicationController", api: "/api/v1", resource: "replicationcontrollers", hook: workloads,
			template: inSpec, spec: `{"spec": {"selector": {"app": "w"}}}`, change: replicas, scales: true, status: oneReplica},
		{kind: "Job", api: "/apis/batch/v1", resource: "jobs", hook: workloads, template: inSpec,
			spec: `{"spec": {"suspend": true}}`, change: `{"spec": {"parallelism": 2}}`,
			status: `{"status": {"terminating": 1}}`, fixed: true},
		{kind: "CronJob", api: "/apis/batch/v1", resource: "cronjobs", hook: cronJobs,
			template: []string{"spec", "jobTemplate", "spec", "template"}, spec: `{"spec": {"schedule": "0 0 * * *"}}`,
			change: `{"spec": {"jobTemplate": {"metadata": {"labels": {"a": "b"}}, "spec": {"parallelism": 2}}}}`,
			status: `{"status": {"lastScheduleTime": "2027-01-01T00:00:00Z"}}`},
		{kind: "PodTemplate", api: "/api/v1", resource: "podtemplates", hook: podTemplates, template: []string{"template"},
			spec: `{}`, change: `{"metadata": {"annotations": {"c": "d"}}}`},
	}
}

// TestWorkloadRequests checks, for each kind, that a creation and a change of the template reach the webhook once, and
// that scaling, status, metadata and other fields do not. Writes of the API server's controllers do not reach it
// either, but writes of clients that only look like them do.
func TestWorkloadRequests(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed")) // Ignore there too
	c.kubectl(t, "", "delete", "service", "-n", "evergate-system", "evergate")             // a call fails immediately
	c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	c.createNamespace(t, "plain", nil)
	c.awaitWorkloadWebhooks(t, "team")
	for _, w := range workloadKinds() {
		t.Run(w.kind, func(t *testing.T) {
			c.checkRequests(t, slices.Concat(w.lifeRequests(), w.rejectedRequests(), w.userRequests(t, c)))
		})
	}
}

// awaitWorkloadWebhooks waits until the webhooks for workloads are called. Calls to them fail, and fail open.
func (c *cluster) awaitWorkloadWebhooks(t *testing.T, namespace string) {
	t.Helper()
	await(t, "the webhooks are active", func(ctx context.Context) bool {
		before := c.calls(t)
		for _, w := range workloadKinds() {
			must(t, w.create(namespace, "awaited", "?dryRun=All")(ctx, c.admin))
		}
		return len(difference(before, c.calls(t))) == 3
	})
}

// lifeRequests returns requests about one object from its creation to its deletion, in this order.
func (w workload) lifeRequests() []request {
	yes, no := []string{w.hook}, []string(nil)
	requests := []request{
		{"a dry run", w.create("team", "w", "?dryRun=All"), yes},
		{"in a namespace that has not opted in", w.create("plain", "w", ""), no},
		{"creation", w.create("team", "w", ""), yes},
		{"a label", w.patch(`{"metadata": {"labels": {"a": "b"}}}`), no},
		{"an annotation", w.patch(`{"metadata": {"annotations": {"a": "b"}}}`), no},
		{"a finalizer", w.patch(`{"metadata": {"finalizers": ["a.example/b"]}}`), no},
		{"the finalizer goes", w.patch(`{"metadata": {"finalizers": null}}`), no},
		{"an owner", w.patch(`{"metadata": {"ownerReferences": [` + owner + `]}}`), no},
		{"the owner goes", w.patch(`{"metadata": {"ownerReferences": null}}`), no},
		{"another field", w.patch(w.change), no},
	}
	if w.scales {
		requests = append(requests, request{"scale", w.patchSub("scale", `{"spec": {"replicas": 3}}`), no})
	}
	if w.status != "" {
		requests = append(requests, request{"status", w.patchSub("status", w.status), no})
	}
	if w.fixed {
		return append(requests,
			request{"the image, which validation rejects before", rejected(w.patch(w.image(foreign)), "field is immutable"), no},
			request{"a node selector, which a Job may have while it is suspended", w.patch(
				w.at(`{"spec": {"nodeSelector": {"a": "b"}}}`)), yes},
			request{"the Job begins", w.patch(`{"spec": {"suspend": false}}`), no},
			request{"deletion", w.delete(), no})
	}
	return append(requests,
		request{"the image", w.patch(w.image(foreign)), yes},
		request{"the same image", w.patch(w.image(foreign)), no},
		request{"the image, in a dry run", w.patchSub("?dryRun=All", w.image(mirrored)), yes},
		request{"the image, by server-side apply", w.apply(mirrored), yes},
		request{"the same by server-side apply", w.apply(mirrored), no},
		request{"an annotation of the template, as by kubectl rollout restart", w.patch(
			w.at(`{"metadata": {"annotations": {"kubectl.kubernetes.io/restartedAt": "2027-01-01T00:00:00Z"}}}`)), yes},
		request{"image and status, of which the status is dropped", w.patch(merged(w.image(foreign), w.status)), yes},
		request{"an image through the status, which drops it", w.imageThroughStatus(), no},
		request{"deletion", w.delete(), no})
}

// rejectedRequests returns requests without a template. Validation runs before the webhooks and rejects them.
func (w workload) rejectedRequests() []request {
	without := func(template any) write {
		object := w.object("without", foreign)
		set(object, template, w.template...)
		return rejected(post(w.path("team"), object), "is invalid")
	}
	return []request{
		{"a null template", without(nil), nil},
		{"no template", without(absent{}), nil},
		{"an empty template", without(map[string]any{}), nil},
		{"the parent of the template is null", func() write {
			object := w.object("without", foreign)
			set(object, nil, w.template[0])
			return rejected(post(w.path("team"), object), "is invalid")
		}(), nil},
		{"an object again", w.create("team", "w", ""), []string{w.hook}},
		{"its template becomes null", rejected(w.patch(w.at("null")), "is invalid"), nil},
		{"the parent becomes null", rejected(w.patch(`{"`+w.template[0]+`": null}`), "is invalid"), nil},
		{"its deletion", w.delete(), nil},
	}
}

// userRequests returns requests by users other than the admin.
func (w workload) userRequests(t *testing.T, c *cluster) []request {
	t.Helper()
	by := func(user string, do write) write {
		client := c.as(t, user, "system:masters") // has all permissions
		return func(ctx context.Context, _ kubernetes.Interface) error { return do(ctx, client) }
	}
	const kubeSystem = "system:serviceaccount:kube-system:"
	yes, change := []string{w.hook}, w.image(foreign)
	if w.fixed {
		change = w.at(`{"spec": {"nodeSelector": {"c": "d"}}}`)
	}
	var requests []request
	for _, user := range []string{kubeSystem + "deployment-controller", kubeSystem + "cronjob-controller",
		kubeSystem + "generic-garbage-collector", "system:kube-controller-manager", "system:apiserver"} {
		requests = append(requests,
			request{"created by " + user, by(user, w.create("team", "w", "")), nil},
			request{"changed by " + user, by(user, w.patch(change)), nil},
			request{"deleted by " + user, by(user, w.delete()), nil})
	}
	for _, user := range []string{"jane", "system:serviceaccount:argocd:argocd-application-controller",
		"system:serviceaccount:kube-system-of-others:deployment-controller", "my:" + kubeSystem + "deployment-controller",
		"system:kube-controller-manager-of-others"} {
		requests = append(requests,
			request{"created by " + user, by(user, w.create("team", "w", "")), yes},
			request{"changed by " + user, by(user, w.patch(change)), yes},
			request{"deleted by " + user, by(user, w.delete()), nil})
	}
	owned := w.object("w", mirrored)
	set(owned, []any{json.RawMessage(owner)}, "metadata", "ownerReferences")
	// Only the user decides, because tenants can write owners.
	return append(requests, request{"with an owner", post(w.path("team"), owned), yes},
		request{"the deletion of what has an owner", w.delete(), nil})
}

// owner is a controller that does not exist in any cluster.
const owner = `{"apiVersion": "team.example/v1", "kind": "Database", "name": "d", "uid": "u", "controller": true}`

// object returns a minimal object: the fields that the API server requires, and a container.
func (w workload) object(name, image string) map[string]any {
	object := decoded(w.spec)
	object["apiVersion"] = strings.TrimPrefix(strings.TrimPrefix(w.api, "/apis/"), "/api/")
	object["kind"] = w.kind
	object["metadata"] = map[string]any{"name": name}
	pod := map[string]any{"containers": []any{map[string]any{"name": "c", "image": image}}}
	if slices.Contains([]string{"jobs", "cronjobs"}, w.resource) {
		pod["restartPolicy"] = "Never"
	}
	template := map[string]any{"spec": pod}
	if w.resource != "podtemplates" {
		template["metadata"] = map[string]any{"labels": map[string]any{"app": "w"}}
	}
	set(object, template, w.template...)
	return object
}

// path returns the path of the collection in a namespace.
func (w workload) path(namespace string) string {
	return w.api + "/namespaces/" + namespace + "/" + w.resource
}

// create creates an object with an image from a mirror. query is empty or begins with a question mark.
func (w workload) create(namespace, name, query string) write {
	return post(w.path(namespace)+query, w.object(name, mirrored))
}

// at returns a patch of the template.
func (w workload) at(template string) string {
	patch := map[string]any{}
	set(patch, json.RawMessage(template), w.template...)
	return encoded(patch)
}

// image returns a patch that changes the image.
func (w workload) image(image string) string {
	return w.at(`{"spec": {"containers": [{"name": "c", "image": "` + image + `"}]}}`)
}

// patch patches the object w in the namespace team.
func (w workload) patch(patch string) write { return w.patchSub("", patch) }

// patchSub patches it through a subresource, or with a query that begins with a question mark.
func (w workload) patchSub(sub, patch string) write {
	path := w.path("team") + "/w"
	if sub != "" && !strings.HasPrefix(sub, "?") {
		path += "/"
	}
	return func(ctx context.Context, api kubernetes.Interface) error {
		return api.CoreV1().RESTClient().Patch(types.MergePatchType).RequestURI(path + sub).Body([]byte(patch)).
			Do(ctx).Error()
	}
}

// imageThroughStatus writes status and template through the subresource, like a client that sends the whole object.
func (w workload) imageThroughStatus() write {
	if w.status == "" {
		return func(context.Context, kubernetes.Interface) error { return nil }
	}
	return w.patchSub("status", merged(w.image(mirrored), w.status))
}

// apply writes the whole object by server-side apply.
func (w workload) apply(image string) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		return api.CoreV1().RESTClient().Patch(types.ApplyPatchType).
			RequestURI(w.path("team") + "/w?fieldManager=gitops&force=true").Body([]byte(encoded(w.object("w", image)))).
			Do(ctx).Error()
	}
}

func (w workload) delete() write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		return api.CoreV1().RESTClient().Delete().RequestURI(w.path("team") + "/w?propagationPolicy=Background").
			Do(ctx).Error()
	}
}

func post(uri string, object map[string]any) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		return api.CoreV1().RESTClient().Post().RequestURI(uri).SetHeader("Content-Type", "application/json").
			Body([]byte(encoded(object))).Do(ctx).Error()
	}
}

// rejected returns a write that validation must reject with a message that contains want.
func rejected(do write, want string) write {
	return func(ctx context.Context, api kubernetes.Interface) error {
		err := do(ctx, api)
		if !apierrors.IsInvalid(err) || !strings.Contains(err.Error(), want) {
			return fmt.Errorf("got %w, want a rejection by validation: %s", err, want)
		}
		return nil
	}
}

// absent represents no value: set removes the field.
type absent struct{}

// set sets the field at a path, and creates the objects above it.
func set(object map[string]any, value any, path ...string) {
	for _, field := range path[:len(path)-1] {
		inner, ok := object[field].(map[string]any)
		if !ok {
			inner = map[string]any{}
			object[field] = inner
		}
		object = inner
	}
	last := path[len(path)-1]
	if value == (absent{}) {
		delete(object, last)
		return
	}
	object[last] = value
}

// merged returns two patches as one. Their top-level fields must differ.
func merged(a, b string) string {
	if b == "" {
		return a
	}
	patch := decoded(a)
	maps.Copy(patch, decoded(b))
	return encoded(patch)
}

func decoded(text string) map[string]any {
	object := map[string]any{}
	if err := json.Unmarshal([]byte(text), &object); err != nil {
		panic(err) // a constant in this file
	}
	return object
}

func encoded(object any) string {
	data, err := json.Marshal(object)
	if err != nil {
		panic(err) // consists of strings, maps and lists
	}
	return string(data)
}
