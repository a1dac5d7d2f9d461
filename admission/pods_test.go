package admission

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/evergate/evergate/policy"
)

// A Pod gets a record of its original images, except in requests for pods/ephemeralcontainers. A patch of metadata
// there would fail the user's request.
func TestRecordBySubresource(t *testing.T) {
	p := must(policy.Load(policy.File{Name: "p.yaml", Data: []byte(SelfProbePolicy())}))
	const image = `{"name": "c", "image": "source.selfprobe.invalid/app:1"}`
	w, _ := ParsePath("/mutate/pods")
	for name, tt := range map[string]struct {
		operation, subresource, object, old string
		want                                []string
	}{
		"a Pod that is created": {
			"CREATE", "", `{"spec": {"containers": [` + image + `]}}`, "null",
			[]string{"replace /spec/containers/0/image", "add /metadata/annotations"},
		},
		"a debug container": {
			"UPDATE", "ephemeralcontainers", `{"spec": {"ephemeralContainers": [` + image + `]}}`, `{"spec": {}}`,
			[]string{"replace /spec/ephemeralContainers/0/image"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			body := fmt.Appendf(nil, `{"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
  "uid": "1", "operation": %q, "subResource": %q, "resource": {"group": "", "version": "v1", "resource": "pods"},
  "object": %s, "oldObject": %s}}`, tt.operation, tt.subresource, tt.object, tt.old)
			d := must(w.Decide(p, "", body, time.Now(), new(policy.Effort), func(string) {}))
			var got []string
			for _, op := range operations(t, d.Patch) {
				got = append(got, op.Op+" "+op.Path)
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("patch (-want +got):\n%s", diff)
			}
		})
	}
}

// operations returns the operations of a patch.
func operations(t *testing.T, patch []byte) (ops []struct{ Op, Path string }) {
	t.Helper()
	if patch == nil {
		return nil
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		t.Fatal(err)
	}
	return ops
}
