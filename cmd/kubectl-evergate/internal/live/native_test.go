package live

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	dynamicfake "k8s.io/client-go/dynamic/fake"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Files of the API server report the hash of their policy in a denial. Another denial is an error.
func TestNativeFiles(t *testing.T) {
	forbidden := func(why string) error {
		return apierrors.NewForbidden(schema.GroupResource{Resource: "configmaps"}, "evergate-backstop-probe",
			errors.New(why))
	}
	for name, test := range map[string]struct {
		err    error
		want   string
		failed bool
	}{
		"none": {nil, "", false},
		"files": {forbidden("ValidatingAdmissionPolicy 'evergate-probe.static.k8s.io' with binding " +
			"'evergate-probe.static.k8s.io' denied request: exported from [policy 0123456789ab]"), "0123456789ab", false},
		"no right":       {forbidden(`User "joe" cannot create resource "configmaps"`), "", true},
		"another policy": {forbidden("ValidatingAdmissionPolicy 'x' denied request: no [policy of ours]"), "", true},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewSimpleClientset()
			client.PrependReactor("create", "configmaps", func(clienttesting.Action) (bool, runtime.Object, error) {
				return true, &corev1.ConfigMap{}, test.err
			})
			got, err := (&Cluster{Client: client, Namespace: namespace}).NativeFiles(t.Context())
			if got != test.want || (err != nil) != test.failed {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}

// The client of each kind uses the right resource.
func TestAdmissionResource(t *testing.T) {
	client := dynamicfake.NewSimpleDynamicClient(runtime.NewScheme())
	c := &Cluster{Dynamic: client}
	for kind, want := range map[string]string{
		"ValidatingAdmissionPolicy":      "validatingadmissionpolicies",
		"MutatingAdmissionPolicyBinding": "mutatingadmissionpolicybindings",
	} {
		_ = c.admissionResource(kind).Delete(t.Context(), "x", metav1.DeleteOptions{})
		if got := client.Actions()[len(client.Actions())-1].GetResource().Resource; got != want {
			t.Errorf("%s: %s", kind, got)
		}
	}
}
