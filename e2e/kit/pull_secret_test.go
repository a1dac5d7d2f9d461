package kit

import (
	"context"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/controlplane"
)

const secretsPolicy = `apiVersion: evergate.dev/v1alpha1
kind: EvergatePolicy
mirrors:
- {name: hub, mode: enforce, sources: [docker.io], mirror: mirror.corp.example/docker.io, imagePullSecret: mirror-login}
`

// TestPullSecrets uses a real API server with its ServiceAccount plugin to admit Pods that get a pull secret.
func TestPullSecrets(t *testing.T) {
	t.Parallel()
	c := start(t, controlplane.WithServiceAccounts)
	c.kubectl(t, "", "apply", "-k", filepath.Join(root, "kustomize/overlays/fail-closed"))
	c.serve(t, build(t), policyFile(t, secretsPolicy))
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "team", Labels: map[string]string{optIn: "enabled"}}}
	if _, err := c.admin.CoreV1().Namespaces().Create(t.Context(), ns, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	c.serviceAccount(t, "default", nil, "of-the-account")
	c.serviceAccount(t, "strict", map[string]string{"kubernetes.io/enforce-mountable-secrets": "true"})
	await(t, "the webhooks are active", func(ctx context.Context) bool {
		p, err := c.admin.CoreV1().Pods("team").Create(ctx, pod("p", "nginx:1"), dryRun)
		return err == nil && strings.HasPrefix(p.Spec.Containers[0].Image, "mirror.corp.example/")
	})
	pods := c.admin.CoreV1().Pods("team")

	for name, test := range map[string]struct{ given, want []string }{
		"that of its account is kept":  {nil, []string{"of-the-account", "mirror-login"}},
		"its own are kept":             {[]string{"own"}, []string{"own", "mirror-login"}},
		"one that is there is not two": {[]string{"mirror-login", "own"}, []string{"mirror-login", "own"}},
	} {
		t.Run(name, func(t *testing.T) {
			p := pod("", "nginx:1")
			p.Spec.ImagePullSecrets = references(test.given)
			created, err := pods.Create(t.Context(), p, metav1.CreateOptions{})
			must(t, err)
			equal(t, references(test.want), created.Spec.ImagePullSecrets)
		})
	}
	t.Run("an update to another image is admitted", func(t *testing.T) {
		p, err := pods.Create(t.Context(), pod("running", "quay.io/a/b:1"), metav1.CreateOptions{})
		must(t, err)
		const warned = "] spec.imagePullSecrets does not contain mirror-login, which the mirror may require, " +
			"and an update cannot add it: "
		if said := c.said(t, "", "set", "image", "pod/running", "c=nginx:2"); !strings.Contains(said, warned) {
			t.Errorf("kubectl says %q, want %q", said, warned)
		}
		if p, err = pods.Get(t.Context(), p.Name, metav1.GetOptions{}); err != nil {
			t.Fatal(err)
		}
		equal(t, references([]string{"of-the-account"}), p.Spec.ImagePullSecrets)
		if got, want := p.Spec.Containers[0].Image, "mirror.corp.example/docker.io/library/nginx:2"; got != want {
			t.Errorf("its image is %s, want %s", got, want)
		}
	})
	// The plugin validates after all mutations: an account with a list of mountable secrets must list the mirror's
	// Secret.
	t.Run("an account that enforces mountable secrets rejects the Pod", func(t *testing.T) {
		p := pod("strict", "nginx:1")
		p.Spec.ServiceAccountName = "strict"
		_, err := pods.Create(t.Context(), p, metav1.CreateOptions{})
		const want = `imagePullSecrets[0].name="mirror-login" is not allowed`
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v\nwant %s", err, want)
		}
	})
}

// serviceAccount creates a ServiceAccount like a platform team.
func (c *cluster) serviceAccount(t *testing.T, name string, annotations map[string]string, secrets ...string) {
	t.Helper()
	account := &corev1.ServiceAccount{
		ObjectMeta:       metav1.ObjectMeta{Name: name, Annotations: annotations},
		ImagePullSecrets: references(secrets),
	}
	accounts := c.admin.CoreV1().ServiceAccounts("team")
	if _, err := accounts.Create(t.Context(), account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func references(names []string) (list []corev1.LocalObjectReference) {
	for _, name := range names {
		list = append(list, corev1.LocalObjectReference{Name: name})
	}
	return list
}
