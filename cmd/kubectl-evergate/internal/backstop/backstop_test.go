package backstop

import (
	"errors"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
)

// Files of the API server report the hash of their policy in a denial. Another denial is an error.
func TestFiles(t *testing.T) {
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
			got, err := Files(t.Context(), client, "evergate-system")
			if got != test.want || (err != nil) != test.failed {
				t.Errorf("%q, %v", got, err)
			}
		})
	}
}
