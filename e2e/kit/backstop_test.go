package kit

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/yaml"
)

// exampleBackstop is the example overlay with the component.
const exampleBackstop = "examples/overlays/backstop"

// component is the label value in the output of evergate export.
const component = "backstop"

// exported returns the output of evergate export for a policy, and the patches that exclude its objects from the
// webhooks.
func exported(t testing.TB, binary, policy string, flags ...string) string {
	t.Helper()
	args := append([]string{"export", "--target", "vap,map", "--policy", policy}, flags...)
	out, err := exec.CommandContext(t.Context(), binary, args...).Output()
	if err != nil && len(out) == 0 {
		t.Fatal(err)
	}
	return string(out)
}

// namespacesOf returns the namespace selectors of webhooks and of backstop bindings in rendered manifests.
func namespacesOf(t *testing.T, manifests []byte) (webhooks, bindings map[string]*metav1.LabelSelector) {
	t.Helper()
	webhooks, bindings = map[string]*metav1.LabelSelector{}, map[string]*metav1.LabelSelector{}
	for name, w := range webhooksOf(t, manifests) {
		webhooks[name] = w.NamespaceSelector
	}
	decoder := strict(t)
	for _, doc := range documents(t, manifests) {
		object, _, err := decoder.Decode(doc, nil, nil)
		must(t, err)
		if o, ok := object.(metav1.Object); ok && o.GetLabels()["app.kubernetes.io/component"] == component &&
			o.GetNamespace() != "" {
			t.Errorf("%s is in a namespace", o.GetName())
		}
		switch o := object.(type) {
		case *admissionv1.MutatingAdmissionPolicyBinding:
			bindings[o.Name] = o.Spec.MatchResources.NamespaceSelector
		case *admissionv1.ValidatingAdmissionPolicyBinding:
			if o.Spec.MatchResources != nil {
				bindings[o.Name] = o.Spec.MatchResources.NamespaceSelector
			}
		}
	}
	return webhooks, bindings
}

// TestBackstopFollows checks that, in every overlay, each binding selects the namespaces of the webhook that its policy
// replaces, and excludes Evergate's namespace.
func TestBackstopFollows(t *testing.T) {
	for name, overlay := range map[string]string{
		"as it is": "resources: [../../" + exampleBackstop + "]",
		"elsewhere": "namespace: another-name\nresources: [../../" + exampleBackstop + "]\n" +
			"transformers: [../../kustomize/wiring]",
		"opting out": "resources: [../../" + exampleBackstop + "]\n" +
			"components: [../../kustomize/components/match-all-namespaces]",
		"one more name, and one kind elsewhere": "resources: [../../" + exampleBackstop + `]
patches:
- target: {kind: ExemptNamespaces}
  patch: |-
    - {op: add, path: /names/-, value: another-one}
- patch: |-
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata: {name: evergate}
    webhooks:
    - name: services.validate.evergate.dev
      namespaceSelector:
        matchExpressions:
        - {key: tier, operator: In, values: [edge]}
        - {key: kubernetes.io/metadata.name, operator: NotIn, values: [x]}
transformers: [../../kustomize/wiring, ../../kustomize/components/backstop/selectors]`,
	} {
		t.Run(name, func(t *testing.T) {
			k := read(t)
			webhooks, bindings := namespacesOf(t, k.render(t, k.add(t, overlay)))
			for binding, got := range bindings {
				kind, _, _ := strings.Cut(strings.TrimPrefix(binding, "evergate-"), "-")
				want := webhooks[kind+".validate.evergate.dev"]
				if kind == "mirrors" {
					want = webhooks["pods.mutate.evergate.dev"]
				}
				if diff := cmp.Diff(want, got); diff != "" || want == nil {
					t.Errorf("%s (-webhook +binding):\n%s", binding, diff)
				}
				own := "evergate-system"
				if name == "elsewhere" {
					own = "another-name"
				}
				if names := got.MatchExpressions[1].Values; !slices.Contains(names, own) {
					t.Errorf("%s does not exclude %s, but %s", binding, own, names)
				}
			}
			if len(bindings) != 11 {
				t.Errorf("%d bindings, want 11", len(bindings))
			}
		})
	}
}

// conditionsOf returns the matchConditions of all webhooks.
func conditionsOf(t *testing.T, manifests []byte) map[string][]admissionv1.MatchCondition {
	t.Helper()
	all := map[string][]admissionv1.MatchCondition{}
	for name, w := range webhooksOf(t, manifests) {
		all[name] = w.MatchConditions
	}
	return all
}

// withConditions adds an overlay with the patches of evergate export --webhook-conditions.
func withConditions(t testing.TB, k *Kit, binary, base string) (overlay string) {
	t.Helper()
	conditions := exported(t, binary, filepath.Join(root, exampleBackstop, "policy.yaml"), "--webhook-conditions")
	must(t, k.files.WriteFile("/test/overlay/conditions.yaml", []byte(conditions)))
	return k.add(t, "resources: [../../"+base+"]\npatches: [{path: conditions.yaml}]\n"+
		"transformers: [../../kustomize/wiring]\n")
}

// TestConditions checks that the patches add one condition to the webhooks that they name, and do not change anything
// else.
func TestConditions(t *testing.T) {
	k := read(t)
	want := conditionsOf(t, k.render(t, exampleBackstop))
	for _, name := range []string{mutate, again, pods, ingress, services, balancer, routes, gateways} {
		want[name] = append(want[name], admissionv1.MatchCondition{Name: "not-validated-natively", Expression: "false"})
	}
	got := conditionsOf(t, k.render(t, withConditions(t, k, build(t), exampleBackstop)))
	equal(t, want, got)
}

// TestUncalled checks that, with the conditions, objects are rewritten and evaluated without calling a webhook. The
// webhooks fail closed here, because no replica runs. Without the conditions, the objects are rejected.
func TestUncalled(t *testing.T) {
	t.Parallel()
	needs(t, mutatingVersion)
	c := start(t)
	c.installHostKinds(t)
	k := read(t)
	if err := k.Add("test/closed", "resources: [../../"+exampleBackstop+`]
patches:
- patch: |-
    apiVersion: admissionregistration.k8s.io/v1
    kind: ValidatingWebhookConfiguration
    metadata: {name: evergate}
    webhooks:
    - {name: pods.validate.evergate.dev, failurePolicy: Fail}
    - {name: services.validate.evergate.dev, failurePolicy: Fail}
    - {name: routes.validate.evergate.dev, failurePolicy: Fail}
    - {name: gateways.validate.evergate.dev, failurePolicy: Fail}
`); err != nil {
		t.Fatal(err)
	}
	c.kubectl(t, string(k.render(t, "test/closed")), "apply", "--server-side", "-f", "-")
	c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	create := func(ctx context.Context, image string) (string, error) {
		p, err := c.admin.CoreV1().Pods("team").Create(ctx, restricted(pod("p", image)), dryRun)
		if err != nil {
			return "", err
		}
		return p.Spec.Containers[0].Image, nil
	}
	await(t, "the webhooks are active, and fail closed", func(ctx context.Context) bool {
		_, err := create(ctx, "nginx:1")
		return err != nil && strings.Contains(err.Error(), `failed calling webhook "pods.validate.evergate.dev"`)
	})
	for hook, o := range validatedByGatewayAPI(t, "a.apps.example", "HTTPS") {
		err := c.send(t.Context(), t, o, nil)
		if err == nil || !strings.Contains(err.Error(), `failed calling webhook "`+hook+`"`) {
			t.Errorf("a %s: %v", o.GetKind(), err)
		}
	}
	c.kubectl(t, string(k.render(t, withConditions(t, k, build(t), "test/closed"))), "apply", "--server-side", "-f", "-")
	await(t, "the webhooks are not called", func(ctx context.Context) bool {
		image, err := create(ctx, "nginx:1")
		return err == nil && image == "mirror.corp.example/docker.io/library/nginx:1"
	})
	for _, image := range []string{"quay.io/evil/x:1", "nginx:latest"} {
		if _, err := create(t.Context(), image); err == nil || !strings.Contains(err.Error(), "evergate-pods-enforce") {
			t.Errorf("%s: %v", image, err)
		}
	}
	svc := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: "s"},
		Spec:       corev1.ServiceSpec{Type: corev1.ServiceTypeNodePort, Ports: []corev1.ServicePort{{Port: 80}}},
	}
	if _, err := c.admin.CoreV1().Services("team").Create(t.Context(), svc, dryRun); err == nil ||
		!strings.Contains(err.Error(), "no-node-ports/types.denied") {
		t.Errorf("a Service: %v", err)
	}
	for _, o := range validatedByGatewayAPI(t, "a.apps.example", "HTTPS") {
		if err := c.send(t.Context(), t, o, nil); err != nil {
			t.Errorf("a good %s: %v", o.GetKind(), err)
		}
	}
	denials := map[string]string{routes: "team-hosts/hosts.allowed", gateways: "tls-only/protocols.allowed"}
	for hook, o := range validatedByGatewayAPI(t, "evil.example", "HTTP") {
		if err := c.send(t.Context(), t, o, nil); err == nil || !strings.Contains(err.Error(), denials[hook]) {
			t.Errorf("a %s: %v", o.GetKind(), err)
		}
	}
}

// validatedByGatewayAPI returns an HTTPRoute with a host and a Gateway with a listener of a protocol, by their webhooks.
func validatedByGatewayAPI(t *testing.T, host, protocol string) map[string]*unstructured.Unstructured {
	t.Helper()
	all := map[string]*unstructured.Unstructured{}
	for hook, manifest := range map[string]string{
		routes: "{kind: HTTPRoute, metadata: {name: r, namespace: team}, spec: {hostnames: [" + host + "]}}",
		gateways: "{kind: Gateway, metadata: {name: g, namespace: team}, spec: {gatewayClassName: c, listeners: [{name: l, " +
			"port: 443, protocol: " + protocol + "}]}}",
	} {
		o := new(unstructured.Unstructured)
		must(t, yaml.Unmarshal([]byte(manifest), &o.Object))
		o.SetAPIVersion("gateway.networking.k8s.io/v1")
		all[hook] = o
	}
	return all
}

// TestPluginBackstop renews a backstop as a user with only the permissions of two roles in the manifests.
func TestPluginBackstop(t *testing.T) {
	t.Parallel()
	needs(t, mutatingVersion)
	p := startPlugin(t)
	dir := t.TempDir()
	write := func(name, text string) string {
		file := filepath.Join(dir, name+".yaml")
		text = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n" + text
		must(t, os.WriteFile(file, []byte(text), 0o600))
		return file
	}
	const (
		tags    = "pods: [{name: tags, mode: enforce, images: {deniedTags: [latest]}}]\n"
		types   = "services: [{name: types, mode: enforce, exclude: {labels: [free]}, types: {denied: [NodePort]}}]\n"
		balance = "services: [{name: types, mode: audit, types: {denied: [LoadBalancer]}}]\n"
		mirrors = "mirrors: [{name: hub, mode: enforce, sources: [docker.io], mirror: m.example/hub}]\n"
	)
	first, second := write("first", tags+types), write("second", mirrors+tags+balance)
	third := write("third", tags+
		"services: [{name: types, mode: enforce, types: {denied: [NodePort]}, externalNames: {}}]\n")
	binary := build(t)
	p.cluster.kubectl(t, exported(t, binary, first), "apply", "--server-side", "-f", "-")
	p.cluster.kubectl(t, "", "-n", evergateNamespace, "create", "configmap", "evergate-policy",
		"--from-file=policy.yaml="+first)
	p.narrow(t)
	jane := p.renewer(t)
	ofSecond := []string{"evergate-mirrors", "evergate-pods-enforce", "evergate-pods-existing", "evergate-services-audit"}

	p.says(t, jane, []string{"apply", "-f", second}, "the backstop now enforces policy ",
		": 2 native policies renewed, 2 added, 2 removed\n")
	p.checkBackstop(t, binary, ofSecond...)
	p.says(t, jane, []string{"apply", "-f", second}, "is already applied\n")
	if out := p.run(t, "status"); !strings.Contains(out, "Backstop: 4 native policies, exported from policy ") ||
		strings.Contains(out, "another policy") {
		t.Error(out)
	}
	t.Run("what is not native", func(t *testing.T) {
		p.says(t, jane, []string{"apply", "-f", third}, "policy.yaml:4:12: services[0].externalNames: ", "--best-effort",
			"exit code 1")
		p.checkBackstop(t, binary, ofSecond...)
		p.says(t, jane, []string{"apply", "-f", third, "--best-effort"}, "not in the backstop: ",
			"is applied to the ConfigMap", ": 2 native policies renewed, 2 added, 2 removed\n")
		p.checkBackstop(t, binary, "evergate-pods-enforce", "evergate-pods-existing", "evergate-services-enforce",
			"evergate-services-existing")
	})
	t.Run("rollback", func(t *testing.T) {
		p.says(t, jane, []string{"rollback"}, ": 2 native policies renewed, 2 added, 2 removed\n")
		p.checkBackstop(t, binary, ofSecond...)
	})
	t.Run("a webhook that is not called", func(t *testing.T) {
		p.cluster.kubectl(t, "", "patch", "validatingwebhookconfiguration", "evergate", "--type=strategic", "-p",
			`{"webhooks": [{"name": "services.validate.evergate.dev", "matchConditions": [{"name": "not-validated-natively", `+
				`"expression": "false"}]}]}`)
		p.says(t, jane, []string{"apply", "-f", third, "--best-effort"}, "disables the webhook "+
			"services.validate.evergate.dev",
			"externalNames: the API server does not have a list", "exit code 1")
		p.says(t, jane, []string{"apply", "-f", first}, ": 2 native policies renewed, 2 added, 2 removed\n")
	})
	t.Run("of another client", func(t *testing.T) {
		p.cluster.kubectl(t, "", "label", "validatingadmissionpolicy", "evergate-pods-enforce",
			"kustomize.toolkit.fluxcd.io/name=policies")
		p.says(t, jane, []string{"apply", "-f", second}, "evergate-pods-enforce is managed by Flux", "exit code 1")
		p.cluster.kubectl(t, "", "label", "validatingadmissionpolicy", "evergate-pods-enforce",
			"kustomize.toolkit.fluxcd.io/name-")
	})
	t.Run("without the right", func(t *testing.T) {
		joe := p.userOf(t, "joe", "evergate-plugin")
		p.says(t, joe, []string{"apply", "-f", second}, "you may not list native policies", "is applied to the ConfigMap")
		if out := p.run(t, "status"); !strings.Contains(out, "the backstop enforces another policy than the one in the "+
			"ConfigMap") {
			t.Error(out)
		}
	})
}

// narrow makes the bindings match fewer namespaces than in the output of evergate export, as the wiring in the
// manifests may do.
func (p *plugin) narrow(t *testing.T) {
	t.Helper()
	for _, name := range []string{"evergate-pods-enforce", "evergate-pods-existing", "evergate-services-enforce",
		"evergate-services-existing"} {
		p.cluster.kubectl(t, "", "patch", "validatingadmissionpolicybinding", name, "--type=merge", "-p",
			`{"spec": {"matchResources": {"namespaceSelector": {"matchExpressions": [{"key": "tier", "operator": "Exists"}]}}}}`)
	}
}

// renewer returns the plugin as a user with the roles of the components plugin and backstop. The roles do not cover
// other names.
func (p *plugin) renewer(t *testing.T) *plugin {
	t.Helper()
	p.cluster.kubectl(t, "", "apply", "-n", evergateNamespace, "-f", filepath.Join(root,
		"kustomize/components/plugin/rbac.yaml"))
	p.cluster.kubectl(t, "", "apply", "-f", filepath.Join(root, "kustomize/components/backstop/rbac.yaml"))
	p.cluster.kubectl(t, "", "create", "clusterrolebinding", "jane", "--clusterrole=evergate-backstop", "--user=jane")
	jane := p.userOf(t, "jane", "evergate-plugin")
	api := p.as(t, "jane")
	await(t, "the rights are active", func(ctx context.Context) bool {
		_, err := api.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(ctx, metav1.ListOptions{})
		return err == nil
	})
	checkOtherNames(t, api)
	return jane
}

// checkOtherNames checks that the ClusterRole covers only the exported policies.
func checkOtherNames(t *testing.T, api kubernetes.Interface) {
	t.Helper()
	policies := api.AdmissionregistrationV1().ValidatingAdmissionPolicies()
	bindings := api.AdmissionregistrationV1().ValidatingAdmissionPolicyBindings()
	binding := func(name string) []byte {
		data, err := json.Marshal(map[string]any{
			"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
			"metadata": map[string]any{"name": name},
			"spec":     map[string]any{"policyName": "x", "validationActions": []string{"Deny"}},
		})
		must(t, err)
		return data
	}
	for what, do := range map[string]func() error{
		"deletion of the guard": func() error {
			return policies.Delete(t.Context(), "evergate-opt-in", metav1.DeleteOptions{})
		},
		"another binding, by server-side apply": func() error {
			_, err := bindings.Patch(t.Context(), "other", types.ApplyPatchType, binding("other"),
				metav1.PatchOptions{FieldManager: "test"})
			return err
		},
		"a binding of a known name, by POST": func() error {
			_, err := bindings.Create(t.Context(), &admissionv1.ValidatingAdmissionPolicyBinding{
				ObjectMeta: metav1.ObjectMeta{Name: "evergate-pods-warn"},
				Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
					PolicyName: "x", ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
				},
			}, metav1.CreateOptions{})
			return err
		},
	} {
		if err := do(); !apierrors.IsForbidden(err) {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// says runs a command of a user, without a plan and a wait, and checks its output.
func (p *plugin) says(t *testing.T, user *plugin, args []string, want ...string) {
	t.Helper()
	out := user.run(t, append(args, "--no-plan", "--wait=false")...)
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%v: %q is not printed:\n%s", args, w, out)
		}
	}
	if code := slices.Contains(want, "exit code 1"); !code && strings.Contains(out, "exit code") {
		t.Errorf("%v:\n%s", args, out)
	}
}

// checkBackstop checks that the backstop consists of exactly these policies, each bound as its name requires, and that
// they do not contain parts of another policy.
func (p *plugin) checkBackstop(t *testing.T, binary string, want ...string) {
	t.Helper()
	cm, err := p.admin.CoreV1().ConfigMaps(evergateNamespace).Get(t.Context(), "evergate-policy", metav1.GetOptions{})
	must(t, err)
	specs := map[string]admissionv1.ValidatingAdmissionPolicySpec{}
	manifests := exported(t, binary, policyFile(t, cm.Data["policy.yaml"]), "--best-effort")
	for _, doc := range documents(t, []byte(manifests)) {
		object, _, err := strict(t).Decode(doc, nil, nil)
		must(t, err)
		if vap, ok := object.(*admissionv1.ValidatingAdmissionPolicy); ok {
			specs[vap.Name] = vap.Spec
		}
	}
	of := metav1.ListOptions{LabelSelector: "app.kubernetes.io/component=" + component}
	api := p.admin.AdmissionregistrationV1()
	policies, err := api.ValidatingAdmissionPolicies().List(t.Context(), of)
	must(t, err)
	var got []string
	for _, vap := range policies.Items {
		got = append(got, vap.Name)
		spec := specs[vap.Name]
		if diff := cmp.Diff(spec.Variables, vap.Spec.Variables); diff != "" {
			t.Errorf("%s (-exported +applied):\n%s", vap.Name, diff)
		}
		if diff := cmp.Diff(spec.MatchConditions, vap.Spec.MatchConditions); diff != "" {
			t.Errorf("%s (-exported +applied):\n%s", vap.Name, diff)
		}
	}
	mutating, err := api.MutatingAdmissionPolicies().List(t.Context(), of)
	must(t, err)
	for _, m := range mutating.Items {
		got = append(got, m.Name)
	}
	slices.Sort(got)
	equal(t, want, got, "policies")
	p.checkBindings(t, of, want)
}

// checkBindings checks that each policy has a binding with the same name, and that all bindings match the same
// namespaces.
func (p *plugin) checkBindings(t *testing.T, of metav1.ListOptions, want []string) {
	t.Helper()
	api := p.admin.AdmissionregistrationV1()
	bindings, err := api.ValidatingAdmissionPolicyBindings().List(t.Context(), of)
	must(t, err)
	mutating, err := api.MutatingAdmissionPolicyBindings().List(t.Context(), of)
	must(t, err)
	var got []string
	check := func(name string, namespaces *metav1.LabelSelector) {
		got = append(got, name)
		if len(namespaces.MatchExpressions) != 1 || namespaces.MatchExpressions[0].Key != "tier" {
			t.Errorf("%s matches other namespaces: %v", name, namespaces)
		}
	}
	for _, b := range bindings.Items {
		check(b.Name, b.Spec.MatchResources.NamespaceSelector)
		stage := b.Name[strings.LastIndexByte(b.Name, '-')+1:]
		action := map[string]admissionv1.ValidationAction{
			"enforce": admissionv1.Deny, "existing": admissionv1.Warn, "warn": admissionv1.Warn, "audit": admissionv1.Audit,
		}[stage]
		if !slices.Equal(b.Spec.ValidationActions, []admissionv1.ValidationAction{action}) {
			t.Errorf("%s: %v", b.Name, b.Spec.ValidationActions)
		}
	}
	for _, b := range mutating.Items {
		check(b.Name, b.Spec.MatchResources.NamespaceSelector)
	}
	slices.Sort(got)
	equal(t, want, got, "bindings")
}
