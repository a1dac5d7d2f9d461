package install

import (
	"testing"

	corev1 "k8s.io/api/core/v1"

	"github.com/evergate/evergate/lifecycle/settings"
)

// References are replaced as the kubelet does.
func TestExpand(t *testing.T) {
	links := true
	pod := &corev1.PodSpec{EnableServiceLinks: &links}
	env := newEnvironment(NewObjects(), "evergate-system", pod, &corev1.Container{
		EnvFrom: []corev1.EnvFromSource{{Prefix: "DB_", SecretRef: &corev1.SecretEnvSource{}}},
		Env: []corev1.EnvVar{
			{Name: "EARLY", Value: "$(A)"},
			{Name: "A", Value: "a"},
			{Name: "EMPTY"},
			{Name: "LATE", Value: "$(A)$(EMPTY)b"},
			{Name: "NAMESPACE", ValueFrom: &corev1.EnvVarSource{FieldRef: &corev1.ObjectFieldSelector{
				FieldPath: "metadata.namespace"}}},
			{Name: "SECRET", ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{}}},
		},
	})
	for reference, want := range map[string]string{
		"":                        "",
		"plain":                   "plain",
		"$(A)-$(LATE)":            "a-ab",
		"$(EARLY)":                "$(A)", // set before A
		"$(ABSENT)":               "$(ABSENT)",
		"$$(A)":                   "$(A)",
		"$$$(A)":                  "$a",
		"$A $(A":                  "$A $(A",
		"cost: 5$":                "cost: 5$",
		"$(NAMESPACE).svc":        "evergate-system.svc",
		"x$(SECRET)":              "x" + settings.Unknown,
		"$(DB_HOST)":              settings.Unknown,
		"$(REDIS_SERVICE_HOST)":   settings.Unknown,
		"$(KUBERNETES_PORT)":      settings.Unknown,
		"$(REDIS_PORT_6379_TCP)":  settings.Unknown,
		"$(not a name)$(A)$(B)$$": "$(not a name)a$(B)$",
	} {
		if got := env.expand(reference); got != want {
			t.Errorf("%s: %q, want %q", reference, got, want)
		}
	}
	env.links = false
	if got, want := env.expand("$(REDIS_SERVICE_HOST)$(KUBERNETES_SERVICE_HOST)"),
		"$(REDIS_SERVICE_HOST)"+settings.Unknown; got != want {
		t.Errorf("without links: %q, want %q", got, want)
	}
}
