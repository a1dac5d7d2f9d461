package kit

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/restmapper"

	"github.com/evergate/evergate/e2e/internal/optin"
)

const optIn = optin.Label

// TestOptInGuard tries every way to write the label, for users with and without the permission. No replica runs.
func TestOptInGuard(t *testing.T) {
	t.Parallel()
	c := start(t)
	c.createNamespace(t, "old", map[string]string{optIn: "enabeld"})
	c.kubectl(t, "", "label", "namespace", "kube-system", optIn+"=enabled")
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed"))
	c.createUsers(t)
	team := c.createNamespace(t, "team", map[string]string{optIn: "enabled"})
	plain := c.createNamespace(t, "plain", nil)

	// The tenant has all permissions that a Role can grant in its namespace. resources: ["*"] includes the namespace
	// itself.
	tenant := c.as(t, "tenant")
	await(t, "the guard is active", func(ctx context.Context) bool {
		_, err := tenant.CoreV1().Namespaces().Patch(ctx, "team", types.MergePatchType,
			[]byte(`{"metadata": {"labels": {"`+optIn+`": null}}}`), metav1.PatchOptions{DryRun: []string{metav1.DryRunAll}})
		return apierrors.IsForbidden(err)
	})

	for _, user := range []struct {
		name, namespace string
		groups          []string
		may             bool
	}{
		{name: "tenant", namespace: "team"},
		{name: "tenant", namespace: "plain"},
		{name: "manager", namespace: "team", may: true},
		{name: "manager", namespace: "plain", may: true},
		{name: "manager-of-team", namespace: "team", may: true},
		{name: "manager-of-team", namespace: "plain"},
		{name: "someone", groups: []string{"system:masters"}, namespace: "plain", may: true},
	} {
		api := c.as(t, user.name, user.groups...)
		ns := map[string]*corev1.Namespace{"team": team, "plain": plain}[user.namespace]
		for _, r := range optin.Routes() {
			for _, value := range []string{"enabled", "disabled", "removed"} {
				t.Run(user.name+"/"+user.namespace+"/"+r.Name+"/"+value, func(t *testing.T) {
					c.restore(t, ns)
					changed := c.get(t, ns.Name)
					was, had := changed.Labels[optIn]
					if changed.Labels[optIn] = value; value == "removed" {
						delete(changed.Labels, optIn)
					}
					is, has := changed.Labels[optIn]
					same := was == is && had == has
					err := r.Write(t.Context(), api, changed)
					if user.may || same {
						if err != nil {
							t.Errorf("is denied: %v", err)
						}
						return
					}
					checkOptInDenial(t, err, ns.Name)
					if got, ok := c.get(t, ns.Name).Labels[optIn]; got != was || ok != had {
						t.Errorf("the label is %q (%t) now", got, ok)
					}
				})
			}
		}
	}
	t.Run("server-side apply", func(t *testing.T) {
		c.restore(t, team)
		checkOptInDenial(t, optin.Apply(t.Context(), tenant, "team", "no"), "team")
	})
	t.Run("types", func(t *testing.T) { testTypes(t, c) })
	t.Run("sentences", func(t *testing.T) {
		c.restore(t, team)
		c.restore(t, plain)
		testSentences(t, tenant)
	})
	t.Run("typos", func(t *testing.T) { testTypos(t, c) })
	t.Run("everything else passes", func(t *testing.T) { testOtherWrites(t, c, tenant) })
	t.Run("creation", func(t *testing.T) { testCreation(t, c) })
	t.Run("deletion", func(t *testing.T) {
		if err := tenant.CoreV1().Namespaces().Delete(t.Context(), "team", metav1.DeleteOptions{}); err != nil {
			t.Error(err)
		}
	})
}

func checkOptInDenial(t *testing.T, err error, namespace string) {
	t.Helper()
	const why = "that needs the verb opt-in on namespaces of the API group evergate.dev, as in the ClusterRole " +
		"evergate-opt-in"
	if !apierrors.IsForbidden(err) || !strings.Contains(err.Error(), "of the namespace "+namespace+" is ") ||
		!strings.HasSuffix(err.Error(), why) {
		t.Errorf("not denied by the guard: %v", err)
	}
}

// testTypes checks the expressions against the schema of namespaces, like kube-controller-manager, which writes
// warnings to the status.
func testTypes(t *testing.T, c *cluster) {
	guards, err := c.admin.AdmissionregistrationV1().ValidatingAdmissionPolicies().List(t.Context(), metav1.ListOptions{})
	must(t, err)
	if len(guards.Items) != 2 {
		t.Errorf("there are %d admission policies", len(guards.Items))
	}
	resources, err := restmapper.GetAPIGroupResources(c.admin.Discovery())
	must(t, err)
	checker := validating.TypeChecker{
		SchemaResolver: &resolver.ClientDiscoveryResolver{Discovery: c.admin.Discovery()},
		RestMapper:     restmapper.NewDiscoveryRESTMapper(resources),
	}
	for _, guard := range guards.Items {
		for _, w := range checker.Check(&guard) {
			t.Errorf("%s: %s: %s", guard.Name, w.FieldRef, w.Warning)
		}
	}
}

// testSentences checks the messages that users read.
func testSentences(t *testing.T, tenant kubernetes.Interface) {
	for _, test := range []struct{ namespace, value, want string }{
		{"team", "null", `is "enabled" and would be removed: `},
		{"team", `"disabled"`, `is "enabled" and would be "disabled": `},
		{"plain", `"enabled"`, `is not set and would be "enabled": `},
	} {
		want := `namespaces "` + test.namespace + `" is forbidden: ValidatingAdmissionPolicy 'evergate-opt-in' with ` +
			`binding 'evergate-opt-in' denied request: the label evergate.dev/admission of the namespace ` +
			test.namespace + ` ` + test.want +
			`that needs the verb opt-in on namespaces of the API group evergate.dev, as in the ClusterRole evergate-opt-in`
		_, err := tenant.CoreV1().Namespaces().Patch(t.Context(), test.namespace, types.MergePatchType,
			[]byte(`{"metadata": {"labels": {"`+optIn+`": `+test.value+`}}}`), metav1.PatchOptions{})
		if err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

// testTypos checks that a value that no selector uses is denied when it is written, and that an existing such value
// does not prevent updates.
func testTypos(t *testing.T, c *cluster) {
	admin := c.as(t, "someone", "system:masters")
	set := func(namespace, value string) error {
		_, err := admin.CoreV1().Namespaces().Patch(t.Context(), namespace, types.MergePatchType,
			[]byte(`{"metadata": {"labels": {"`+optIn+`": `+value+`}}}`), metav1.PatchOptions{})
		return err
	}
	for _, value := range []string{"enabeld", "true", "Enabled", ""} {
		want := `denied request: the label evergate.dev/admission of the namespace plain would be "` + value +
			`", which no webhook knows: write enabled or disabled`
		if err := set("plain", `"`+value+`"`); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: got %v, want …%s", value, err, want)
		}
	}
	const exempt = "denied request: kube-system is exempt whatever its labels, so that the control plane never waits " +
		"for Evergate: leave the label evergate.dev/admission out"
	denied := func(value string) {
		if err := set("kube-system", value); err == nil || !strings.HasSuffix(err.Error(), exempt) {
			t.Errorf("kube-system %s: got %v, want …%s", value, err, exempt)
		}
	}
	denied(`"disabled"`)
	for namespace, value := range map[string]string{"old": "enabeld", "kube-system": "enabled"} {
		ns := c.get(t, namespace)
		if ns.Labels[optIn] != value {
			t.Fatalf("%s has the label %q", namespace, ns.Labels[optIn])
		}
		ns.Annotations = map[string]string{"note": "changed"}
		if _, err := admin.CoreV1().Namespaces().Update(t.Context(), ns, metav1.UpdateOptions{}); err != nil {
			t.Errorf("an update of %s with a value from before: %v", namespace, err)
		}
		if err := set(namespace, "null"); err != nil {
			t.Errorf("removing the label of %s: %v", namespace, err)
		}
	}
	denied(`"enabled"`)
	if err := set("old", `"enabled"`); err != nil {
		t.Error(err)
	}
}

// testOtherWrites makes writes that the guard does not apply to: with and without labels, to the object and its
// subresources.
func testOtherWrites(t *testing.T, c *cluster, tenant kubernetes.Interface) {
	for _, name := range []string{"team", "plain"} {
		for _, r := range optin.Routes()[:3] { // the routes that write the whole object
			ns := c.get(t, name)
			ns.Labels["other"] = r.Name[:6]
			ns.Annotations = map[string]string{"note": r.Name}
			if err := r.Write(t.Context(), tenant, ns); err != nil {
				t.Errorf("%s of %s: %v", r.Name, name, err)
			}
		}
	}
	// The API server always sets a label of its own. A namespace can lack labels only in the request.
	bare := c.get(t, "plain")
	bare.Labels = nil
	if _, err := tenant.CoreV1().Namespaces().Update(t.Context(), bare, metav1.UpdateOptions{}); err != nil {
		t.Errorf("an update without labels: %v", err)
	}
}

// testCreation checks that creating a namespace with the label also needs the permission.
func testCreation(t *testing.T, c *cluster) {
	creator := c.as(t, "creator")
	create := func(api kubernetes.Interface, name string, labels map[string]string) error {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
		_, err := api.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
		return err
	}
	if err := create(creator, "born-plain", nil); err != nil {
		t.Error(err)
	}
	if err := create(creator, "born-with-others", map[string]string{"team": "x"}); err != nil {
		t.Error(err)
	}
	checkOptInDenial(t, create(creator, "born-in", map[string]string{optIn: "enabled"}), "born-in")
	checkOptInDenial(t, create(creator, "born-out", map[string]string{optIn: "disabled"}), "born-out")
	if err := create(c.as(t, "manager"), "born-in", map[string]string{optIn: "enabled"}); err != nil {
		t.Error(err)
	}
}

// createUsers creates the RBAC objects of the users in this test.
func (c *cluster) createUsers(t *testing.T) {
	t.Helper()
	everything := []rbacv1.PolicyRule{{APIGroups: []string{"*"}, Resources: []string{"*"}, Verbs: []string{"*"}}}
	namespaces := []rbacv1.PolicyRule{{
		APIGroups: []string{""}, Resources: []string{"namespaces", "namespaces/status", "namespaces/finalize"},
		Verbs: []string{"create", "update", "patch"},
	}}
	optInToTeam := []rbacv1.PolicyRule{{
		APIGroups: []string{"evergate.dev"}, Resources: []string{"namespaces"},
		ResourceNames: []string{"team"}, Verbs: []string{"opt-in"},
	}}
	for name, rules := range map[string][]rbacv1.PolicyRule{
		"everything": everything, "namespaces": namespaces, "opt-in-to-team": optInToTeam,
	} {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name}, Rules: rules}
		if _, err := c.admin.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	for _, b := range []struct{ user, role string }{
		{"manager", "namespaces"}, {"manager", "evergate-opt-in"},
		{"manager-of-team", "namespaces"}, {"manager-of-team", "opt-in-to-team"},
		{"creator", "namespaces"},
	} {
		c.bind(t, b.user, b.role)
	}
}

// bind grants a ClusterRole to a user.
func (c *cluster) bind(t *testing.T, user, role string) {
	t.Helper()
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: user + "-" + role},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: user}},
	}
	if _, err := c.admin.RbacV1().ClusterRoleBindings().Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// createNamespace creates a namespace in which the user tenant has all permissions that can be granted there.
func (c *cluster) createNamespace(t testing.TB, name string, labels map[string]string) *corev1.Namespace {
	t.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}
	ns, err := c.admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{})
	must(t, err)
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "tenant"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "everything"},
		Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: "tenant"}},
	}
	if _, err := c.admin.RbacV1().RoleBindings(name).Create(t.Context(), binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	return ns
}

func (c *cluster) get(t *testing.T, namespace string) *corev1.Namespace {
	t.Helper()
	ns, err := c.admin.CoreV1().Namespaces().Get(t.Context(), namespace, metav1.GetOptions{})
	must(t, err)
	return ns
}

// restore restores the labels that a namespace was created with.
func (c *cluster) restore(t *testing.T, ns *corev1.Namespace) {
	t.Helper()
	now := c.get(t, ns.Name)
	now.Labels = ns.Labels
	if _, err := c.admin.CoreV1().Namespaces().Update(t.Context(), now, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}
