package kit

import (
	"bytes"
	"encoding/base64"
	"path"
	"path/filepath"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/evergate/evergate/e2e/internal/pki"
)

// dryRun runs the whole admission without storing the object.
var dryRun = metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}}

// TestApply applies each overlay twice, on top of the one before. The API server does not warn, and the second time
// does not change anything.
func TestApply(t *testing.T) {
	t.Parallel()
	for _, mode := range []struct {
		name string
		args []string
	}{
		{"client side", []string{"apply"}},
		{"server side", []string{"apply", "--server-side"}},
	} {
		t.Run(mode.name, func(t *testing.T) {
			t.Parallel()
			c := start(t)
			for _, overlay := range read(t).Overlays() {
				t.Run(path.Base(overlay), func(t *testing.T) {
					needsNative(t, overlay)
					dir := filepath.Join(root, overlay)
					apply := slices.Concat(mode.args, []string{"-k", dir})
					c.kubectl(t, "", apply...)
					first := c.versions(t, dir)
					c.kubectl(t, "", apply...)
					if second := c.versions(t, dir); second != first {
						t.Errorf("the second time changes objects:\n%s\nbefore:\n%s", second, first)
					}
					c.kubectl(t, "", slices.Concat([]string{"diff"}, apply[1:])...) // fails if there is a difference
					c.admitPods(t, read(t).render(t, overlay))
				})
			}
			t.Run("what is injected stays", func(t *testing.T) { c.keepsBundle(t, mode.args) })
		})
	}
}

// needsNative skips the test if an overlay has native policies that the API server does not support.
func needsNative(t *testing.T, overlay string) {
	t.Helper()
	if bytes.Contains(read(t).render(t, overlay), []byte("kind: MutatingAdmissionPolicy")) {
		needs(t, mutatingVersion)
	}
}

// keepsBundle writes caBundle like cert-manager's injector, and applies the overlay again.
func (c *cluster) keepsBundle(t *testing.T, apply []string) {
	t.Helper()
	ca, err := pki.NewCA("injected")
	must(t, err)
	bundle := base64.StdEncoding.EncodeToString(ca.PEM)
	patch := `[{"op": "add", "path": "/webhooks/0/clientConfig/caBundle", "value": "` + bundle + `"}]`
	for _, kind := range []string{"mutatingwebhookconfiguration", "validatingwebhookconfiguration"} {
		c.kubectl(t, "", "patch", kind, "evergate", "--type=json", "--field-manager=cert-manager-cainjector", "-p", patch)
		c.kubectl(t, "", slices.Concat(apply, []string{"-k", filepath.Join(root, "kustomize/overlays/fail-open")})...)
		if got := c.kubectl(t, "", "get", kind, "evergate", "-o",
			"jsonpath={.webhooks[0].clientConfig.caBundle}"); got != bundle {
			t.Errorf("caBundle of the %s is %q after an apply", kind, got)
		}
	}
}

// versions lists the objects of an overlay with their resource versions in the API server.
func (c *cluster) versions(t *testing.T, dir string) string {
	t.Helper()
	return c.kubectl(t, "", "get", "-k", dir,
		"-o", `jsonpath={range .items[*]}{.kind} {.metadata.name} {.metadata.resourceVersion}{"\n"}{end}`)
}

// admitPods creates a Pod of each workload in an overlay, like its controller. The Pod Security level of the namespace,
// the priority class and the quota must allow it.
func (c *cluster) admitPods(t *testing.T, manifests []byte) {
	t.Helper()
	decoder := strict(t)
	for _, doc := range documents(t, manifests) {
		object, _, err := decoder.Decode(doc, nil, nil)
		must(t, err)
		var template *corev1.PodTemplateSpec
		switch o := object.(type) {
		case *appsv1.Deployment:
			template = &o.Spec.Template
		case *batchv1.CronJob:
			template = &o.Spec.JobTemplate.Spec.Template
		case *batchv1.Job:
			template = &o.Spec.Template
		default:
			continue
		}
		pod := &corev1.Pod{ObjectMeta: template.ObjectMeta, Spec: template.Spec}
		pod.GenerateName = "x-"
		_, err = c.admin.CoreV1().Pods(object.(metav1.Object).GetNamespace()).Create(t.Context(), pod, dryRun)
		if err != nil {
			t.Errorf("a Pod of %T: %v", object, err)
		}
	}
}
