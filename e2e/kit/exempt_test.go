package kit

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/evergate/evergate/e2e/internal/optin"
)

// exemptGuard is the name of the guard for creating namespaces with exempt names.
const exemptGuard = "evergate-exempt-namespaces"

// excluding returns the webhooks that exclude the exempt names, which are all except the policy guard.
func excluding() []string {
	return []string{mutate, again, pods, ingress, services, balancer, workloads, cronJobs, podTemplates}
}

// exemptNames returns the names that each webhook of an overlay excludes, by webhook, and the names that the guard
// selects.
func exemptNames(t *testing.T, k *Kit, dir string) (hooks map[string][]string, guard []string) {
	t.Helper()
	hooks = map[string][]string{}
	manifests := k.render(t, dir)
	for name, w := range webhooksOf(t, manifests) {
		if name != policy {
			hooks[name] = nil
		}
		for _, e := range w.NamespaceSelector.MatchExpressions {
			if e.Key == corev1.LabelMetadataName && e.Operator == metav1.LabelSelectorOpNotIn {
				hooks[name] = e.Values
			}
		}
	}
	for _, o := range objects(t, manifests) {
		if o.GetKind() == "ValidatingAdmissionPolicy" && o.GetName() == exemptGuard {
			var p admissionv1.ValidatingAdmissionPolicy
			must(t, runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &p))
			guard = p.Spec.MatchConstraints.NamespaceSelector.MatchExpressions[0].Values
		}
	}
	return hooks, guard
}

// TestExemptNamesAgree checks that the selectors and the guard contain the same names, because neither Kubernetes nor
// kustomize keeps them the same.
func TestExemptNamesAgree(t *testing.T) {
	eachOverlay(t, func(t *testing.T, k *Kit, dir string) {
		for _, dir := range []string{dir, k.add(t, "namespace: another-name\nresources: [../../"+dir+"]\ntransformers: "+
			"[../../kustomize/wiring]")} {
			hooks, guard := exemptNames(t, k, dir)
			_, bindings := namespacesOf(t, k.render(t, dir))
			for binding, selector := range bindings {
				if diff := cmp.Diff(guard, selector.MatchExpressions[1].Values); diff != "" {
					t.Errorf("%s, %s: the guard has other names (-guard +binding):\n%s", dir, binding, diff)
				}
			}
			for _, name := range excluding() {
				names, on := hooks[name] // a component may switch off a webhook
				if diff := cmp.Diff(guard, names); on && diff != "" {
					t.Errorf("%s, %s: the guard has other names (-guard +webhook):\n%s", dir, name, diff)
				}
			}
		}
	})
}

// TestExemptNamesFollow adds a name to the list. It must appear in the selector of every webhook except the policy
// guard, and in the selector of the name guard, after all existing names.
func TestExemptNamesFollow(t *testing.T) {
	const add = `
patches:
- target: {kind: ExemptNamespaces}
  patch: |-
    - {op: add, path: /names/-, value: another-one}
transformers: [../../kustomize/wiring]
`
	for name, overlay := range map[string]string{
		"opting in": "resources: [../../kustomize/overlays/fail-closed]",
		"opting out": "resources: [../../kustomize/overlays/fail-closed]\n" +
			"components: [../../kustomize/components/match-all-namespaces]",
		"opting out, in the overlay below":     "resources: [../../examples/overlays/every-namespace]",
		"opting in, an overlay of a namespace": "resources: [../../examples/overlays/platform]",
	} {
		t.Run(name, func(t *testing.T) {
			k := read(t)
			_, before := exemptNames(t, k, k.add(t, overlay))
			hooks, guard := exemptNames(t, k, k.add(t, overlay+add))
			want := append(slices.Clone(before), "another-one")
			equal(t, want, guard, "the guard selects different names")
			for hook, names := range hooks {
				if diff := cmp.Diff(want, names); diff != "" {
					t.Errorf("%s excludes different names (-want +got):\n%s", hook, diff)
				}
			}
			for _, hook := range excluding() {
				if hooks[hook] == nil {
					t.Errorf("%s does not exclude any names", hook)
				}
			}
		})
	}
}

// TestExemptNamesAreNotEmpty checks that a list without names fails to render, because the API server would reject its
// selectors.
func TestExemptNamesAreNotEmpty(t *testing.T) {
	k := read(t)
	out, err := k.Render(k.add(t, `
resources: [../../kustomize/overlays/fail-closed]
patches:
- target: {kind: ExemptNamespaces}
  patch: |-
    - {op: replace, path: /names, value: []}
transformers: [../../kustomize/wiring]`))
	if err == nil {
		t.Errorf("it is rendered:\n%s", out)
	}
}

// TestExemptNamesAreLocal checks that the list stays in kustomize, because API servers do not have its kind.
func TestExemptNamesAreLocal(t *testing.T) {
	eachOverlay(t, func(t *testing.T, k *Kit, dir string) {
		for _, doc := range documents(t, k.render(t, dir)) {
			if bytes.Contains(doc, []byte("ExemptNamespaces")) {
				t.Errorf("it is passed on:\n%s", doc)
			}
		}
	})
}

// TestEveryNamespace checks that, with the component match-all-namespaces, a namespace is matched unless it opts out or
// has an exempt name. A user with neither permission cannot create a namespace that is not matched.
func TestEveryNamespace(t *testing.T) {
	t.Parallel()
	const overlay = "examples/overlays/every-namespace"
	hooks, _ := exemptNames(t, read(t), overlay)
	names := hooks[pods]
	if len(names) < 20 {
		t.Fatalf("only %d names", len(names))
	}
	c := start(t)
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, overlay))
	c.kubectl(t, "", "delete", "service", "-n", "evergate-system", "evergate") // a call fails immediately
	c.createUsers(t)
	c.createNamespace(t, "team", nil)
	c.createNamespace(t, "out", map[string]string{optIn: "disabled"})
	c.awaitWebhooks(t, "team")
	jane := c.as(t, "creator") // may create and change namespaces, but does not have the verb opt-in
	await(t, "the guards are active", func(ctx context.Context) bool {
		_, label := jane.CoreV1().Namespaces().Create(ctx, namespace("x", map[string]string{optIn: "disabled"}), dryRun)
		_, name := jane.CoreV1().Namespaces().Create(ctx, namespace("openebs", nil), dryRun)
		return apierrors.IsForbidden(label) && apierrors.IsForbidden(name)
	})

	t.Run("scope", func(t *testing.T) {
		c.checkRequests(t, slices.Concat(allRequests("team", true), allRequests("out", false)))
	})
	for _, name := range names {
		t.Run(name, func(t *testing.T) { c.testExempt(t, jane, name) })
	}
	t.Run("a right to one name", func(t *testing.T) { c.testOneName(t) })
	t.Run("the API server itself", func(t *testing.T) { c.testSystem(t) })
	t.Run("generated", func(t *testing.T) { c.testGenerated(t, jane) }) // last, because it changes the guard
}

// allRequests returns writes of all kinds in a namespace.
func allRequests(namespace string, matched bool) []request {
	only := func(hooks ...string) []string {
		if !matched {
			return nil
		}
		return hooks
	}
	requests := []request{
		{"a Pod in " + namespace, createPod(namespace, pod("", foreign), metav1.CreateOptions{}), only(mutate, again, pods)},
		{"an Ingress in " + namespace, createIngress(namespace, metav1.CreateOptions{}), only(ingress)},
		{"a Service in " + namespace, createLoadBalancer(namespace, "lb"), only(services)},
		{"its address in " + namespace, patchStatus(namespace, "lb", oneAddress, metav1.PatchOptions{}), only(balancer)},
	}
	for _, w := range workloadKinds() {
		requests = append(requests, request{"a " + w.kind + " in " + namespace, w.create(namespace, "w", ""), only(w.hook)})
	}
	return requests
}

// testExempt tries to create a namespace with an exempt name and, if it exists, to change it. Webhooks are not called
// for its objects.
func (c *cluster) testExempt(t *testing.T, jane kubernetes.Interface, name string) {
	_, err := c.admin.CoreV1().Namespaces().Get(t.Context(), name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		for way, create := range map[string]func(context.Context, kubernetes.Interface) error{
			"created": func(ctx context.Context, api kubernetes.Interface) error { return createLabelled(ctx, api, name, nil) },
			"opted in": func(ctx context.Context, api kubernetes.Interface) error {
				return createLabelled(ctx, api, name, map[string]string{optIn: "enabled"})
			},
			"applied": func(ctx context.Context, api kubernetes.Interface) error { return applyNamespace(ctx, api, name) },
		} {
			if err := create(t.Context(), jane); !apierrors.IsForbidden(err) ||
				!strings.Contains(err.Error(), "as in the ClusterRole evergate-opt-in") { // about the label, or about the name
				t.Errorf("%s: not denied by the guard: %v", way, err)
			}
		}
		checkExemptDenial(t, createLabelled(t.Context(), jane, name, nil), name)
		err = createLabelled(t.Context(), c.as(t, "manager"), name, nil)
	}
	must(t, err)
	for _, r := range optin.Routes()[:3] { // the routes that write the whole object
		ns := c.get(t, name)
		ns.Annotations = map[string]string{"note": r.Name}
		if err := r.Write(t.Context(), jane, ns); err != nil {
			t.Errorf("%s: %v", r.Name, err)
		}
	}
	_, err = jane.CoreV1().Namespaces().Patch(t.Context(), name, types.MergePatchType,
		[]byte(`{"metadata": {"labels": {"other": "x"}}}`), metav1.PatchOptions{})
	if err != nil {
		t.Errorf("a patch: %v", err)
	}
	if err := applyNamespace(t.Context(), jane, name); err != nil {
		t.Errorf("server-side apply: %v", err)
	}
	c.checkRequests(t, allRequests(name, false))
}

// checkExemptDenial checks the message that users read.
func checkExemptDenial(t *testing.T, err error, name string) {
	t.Helper()
	want := `namespaces "` + name + `" is forbidden: ValidatingAdmissionPolicy 'evergate-exempt-namespaces' with ` +
		`binding 'evergate-exempt-namespaces' denied request: a namespace called ` + name +
		` is exempt from the policies of Evergate: creating it needs the verb opt-in on namespaces of the API group ` +
		`evergate.dev, as in the ClusterRole evergate-opt-in`
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
}

// testGenerated checks that a generated name is checked after it is generated. The API server never generates exempt
// names, so in this test every name except one is exempt. The check uses the label that the API server sets, and not
// labels from users.
func (c *cluster) testGenerated(t *testing.T, jane kubernetes.Interface) {
	generate := func(ctx context.Context) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "openebs",
			Labels: map[string]string{corev1.LabelMetadataName: "not-exempt"}}}
		_, err := jane.CoreV1().Namespaces().Create(ctx, ns, dryRun)
		return err
	}
	if err := generate(t.Context()); err != nil {
		t.Errorf("a name that begins with an exempt one: %v", err)
	}
	c.kubectl(t, "", "patch", "validatingadmissionpolicy", exemptGuard, "--type=json", "-p",
		`[{"op": "replace", "path": "/spec/matchConstraints/namespaceSelector/matchExpressions/0",
		"value": {"key": "kubernetes.io/metadata.name", "operator": "NotIn", "values": ["not-exempt"]}}]`)
	await(t, "the changed guard is active", func(ctx context.Context) bool {
		_, err := jane.CoreV1().Namespaces().Create(ctx, namespace("any", nil), dryRun)
		return apierrors.IsForbidden(err)
	})
	err := generate(t.Context())
	name := regexp.MustCompile(`openebs[a-z0-9]{5}`).FindString(fmt.Sprint(err))
	checkExemptDenial(t, err, name)
}

// testOneName checks that the verb can be granted for single names, for example to a controller that creates its own
// namespace.
func (c *cluster) testOneName(t *testing.T) {
	c.deleteNamespace(t, "openebs")
	c.deleteNamespace(t, "longhorn-system")
	role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "opt-in-to-openebs"}, Rules: []rbacv1.PolicyRule{{
		APIGroups: []string{"evergate.dev"}, Resources: []string{"namespaces"},
		ResourceNames: []string{"openebs"}, Verbs: []string{"opt-in"},
	}}}
	if _, err := c.admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.bind(t, "operator", "namespaces")
	c.bind(t, "operator", role.Name)
	operator := c.as(t, "operator")
	await(t, "the operator may", func(ctx context.Context) bool {
		return createLabelled(ctx, operator, "openebs", nil) == nil
	})
	checkExemptDenial(t, createLabelled(t.Context(), operator, "longhorn-system", nil), "longhorn-system")
}

// testSystem checks that API servers can create kube-node-lease and similar namespaces when they start or when these
// are missing.
func (c *cluster) testSystem(t *testing.T) {
	c.deleteNamespace(t, "kube-node-lease")
	itself := c.as(t, "system:apiserver", "system:masters") // the user with which it calls itself
	if err := createLabelled(t.Context(), itself, "kube-node-lease", nil); err != nil && !apierrors.IsAlreadyExists(err) {
		t.Error(err)
	}
}

func createLabelled(ctx context.Context, api kubernetes.Interface, name string, labels map[string]string) error {
	_, err := api.CoreV1().Namespaces().Create(ctx, namespace(name, labels), metav1.CreateOptions{})
	return err
}

func namespace(name string, labels map[string]string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
}

// applyNamespace creates or changes a namespace by server-side apply.
func applyNamespace(ctx context.Context, api kubernetes.Interface, name string) error {
	_, err := api.CoreV1().Namespaces().Patch(ctx, name, types.ApplyPatchType,
		[]byte(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "`+name+`", "labels": {"applied": "yes"}}}`),
		metav1.PatchOptions{FieldManager: "test"})
	return err
}

// deleteNamespace deletes a namespace immediately, because no controller does it here.
func (c *cluster) deleteNamespace(t *testing.T, name string) {
	t.Helper()
	api := c.admin.CoreV1().Namespaces()
	must(t, api.Delete(t.Context(), name, metav1.DeleteOptions{}))
	ns := c.get(t, name)
	ns.Spec.Finalizers = nil
	if _, err := api.Finalize(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
