package equivalence

import (
	"testing"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiserver "k8s.io/apiserver/pkg/admission"
	"k8s.io/apiserver/pkg/authentication/user"

	"github.com/evergate/evergate/offline/export"
)

// guarded returns an object that the static files protect, in its state before a request.
func guarded(name string) *admissionv1.ValidatingWebhookConfiguration {
	return &admissionv1.ValidatingWebhookConfiguration{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingWebhookConfiguration"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionv1.ValidatingWebhook{{
			Name: "pods.validate.evergate.dev", FailurePolicy: new(admissionv1.Fail),
			AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionv1.SideEffectClassNone),
			ClientConfig: admissionv1.WebhookClientConfig{
				Service: &admissionv1.ServiceReference{Namespace: "evergate-system", Name: "evergate"}, CABundle: []byte("old"),
			},
		}, {
			Name: "services.validate.evergate.dev", AdmissionReviewVersions: []string{"v1"},
			SideEffects: new(admissionv1.SideEffectClassNone),
		}},
	}
}

func binding(name string, action admissionv1.ValidationAction) *admissionv1.ValidatingAdmissionPolicyBinding {
	return &admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: "ValidatingAdmissionPolicyBinding"},
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: name, ValidationActions: []admissionv1.ValidationAction{action},
		},
	}
}

// Only the privileged group may delete or weaken the objects that enforce the policy. The requests do not have a name,
// like the requests for each object when a list is deleted.
func TestProtect(t *testing.T) {
	t.Parallel()
	s := newSubject(t, `services: [{name: s, mode: enforce, types: {denied: [NodePort]}}]`, export.Options{
		Targets: []export.Target{export.Static}, BreakGlass: "evergate:break-glass",
	})
	newSubject(t, "allowEmpty: true", export.Options{Targets: []export.Target{export.Static}, BreakGlass: "o'brien"})
	hooks := func(change func(*admissionv1.ValidatingWebhookConfiguration)) runtime.Object {
		c := guarded("evergate")
		change(c)
		return c
	}
	core := metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}
	for name, test := range map[string]struct {
		object, old runtime.Object
		namespace   string
		groups      []string
		denied      bool
	}{
		"deleted":         {nil, guarded("evergate"), "", nil, true},
		"break glass":     {nil, guarded("evergate"), "", []string{"evergate:break-glass"}, false},
		"another deleted": {nil, guarded("other"), "", nil, false},
		"the CA is renewed": {hooks(func(c *admissionv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.CABundle = []byte("new")
		}), guarded("evergate"), "", nil, false},
		"a label": {hooks(func(c *admissionv1.ValidatingWebhookConfiguration) { c.Labels = map[string]string{"a": "b"} }),
			guarded("evergate"), "", nil, false},
		"fails open": {hooks(func(c *admissionv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].FailurePolicy = new(admissionv1.Ignore)
		}), guarded("evergate"), "", nil, true},
		"another service": {hooks(func(c *admissionv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].ClientConfig.Service.Name = "evil"
		}), guarded("evergate"), "", nil, true},
		"no more namespaces": {hooks(func(c *admissionv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{"no": "one"}}
		}), guarded("evergate"), "", nil, true},
		"a version that is not answered": {hooks(func(c *admissionv1.ValidatingWebhookConfiguration) {
			c.Webhooks[0].AdmissionReviewVersions = []string{"v1beta1"}
		}), guarded("evergate"), "", nil, true},
		"a webhook less": {hooks(func(c *admissionv1.ValidatingWebhookConfiguration) { c.Webhooks = c.Webhooks[:1] }),
			guarded("evergate"), "", nil, true},
		"no webhook": {hooks(func(c *admissionv1.ValidatingWebhookConfiguration) { c.Webhooks = nil }),
			guarded("evergate"), "", nil, true},
		"audits only": {binding("evergate-pods-enforce", admissionv1.Audit), binding("evergate-pods-enforce",
			admissionv1.Deny),
			"", nil, true},
		"another audits": {binding("other", admissionv1.Audit), binding("other", admissionv1.Deny), "", nil, false},
		"the namespace": {nil, &corev1.Namespace{TypeMeta: core, ObjectMeta: metav1.ObjectMeta{Name: "evergate-system"}},
			"evergate-system", nil, true},
		"another namespace": {nil, &corev1.Namespace{TypeMeta: core, ObjectMeta: metav1.ObjectMeta{Name: "evergate"}},
			"evergate", nil, false},
		"the policy": {nil, configMap("evergate-policy"), "evergate-system", nil, true},
		"another's":  {nil, configMap("evergate-policy"), "team", nil, false},
	} {
		t.Run(name, func(t *testing.T) {
			gvk := test.old.GetObjectKind().GroupVersionKind()
			operation := apiserver.Update
			if test.object == nil {
				operation = apiserver.Delete
			}
			a := apiserver.NewAttributesRecord(test.object, test.old, gvk, test.namespace, "", resourceOf(gvk), "", operation,
				nil,
				false, &user.DefaultInfo{Name: "jane", Groups: test.groups})
			if got := s.evaluator.validate(t, a)[admissionv1.Deny]; len(got) > 0 != test.denied {
				t.Errorf("%v", got)
			}
		})
	}
}

func configMap(name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: metav1.ObjectMeta{Name: name},
	}
}

func resourceOf(gvk schema.GroupVersionKind) schema.GroupVersionResource {
	return gvk.GroupVersion().WithResource(map[string]string{
		"ValidatingWebhookConfiguration": "validatingwebhookconfigurations", "Namespace": "namespaces",
		"ValidatingAdmissionPolicyBinding": "validatingadmissionpolicybindings", "ConfigMap": "configmaps",
	}[gvk.Kind])
}
