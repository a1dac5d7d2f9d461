package reviewtest

import (
	"bytes"
	"encoding/json"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
)

func TestBodies(t *testing.T) {
	// Measurements use these sizes in their names. If they change, old and new measurements cannot be compared.
	sizes := map[string]int{
		"pod-small": 2_766, "pod-typical": 13_569, "pod-large": 96_849,
		"service": 2_789, "ingress-10": 5_294, "httproute-16": 2_873, "ingress-500": 162_584,
		"deployment-5": 14_507,
	}
	again := Bodies()
	for i, b := range Bodies() {
		if len(b.Data) != sizes[b.Name] {
			t.Errorf("%s has %d bytes, want %d", b.Name, len(b.Data), sizes[b.Name])
		}
		if !bytes.Equal(b.Data, again[i].Data) {
			t.Errorf("%s differs between two calls", b.Name)
		}
		var review admissionv1.AdmissionReview
		dec := json.NewDecoder(bytes.NewReader(b.Data))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&review); err != nil {
			t.Errorf("%s: %v", b.Name, err)
		}
		if review.Request.UID != UID || review.Request.Resource.Resource != b.Resource {
			t.Errorf("%s: uid %q, resource %q", b.Name, review.Request.UID, review.Request.Resource.Resource)
		}
	}
}

func TestOperations(t *testing.T) {
	obj, old := Service(), Service()
	obj.Labels["new"] = "yes"
	for name, test := range map[string]struct {
		body        []byte
		object, old bool
	}{
		"CREATE": {Create(obj), true, false},
		"UPDATE": {Update(obj, old), true, true},
		"DELETE": {Delete(old), false, true},
	} {
		var review admissionv1.AdmissionReview
		if err := json.Unmarshal(test.body, &review); err != nil {
			t.Fatal(err)
		}
		r := review.Request
		if string(r.Operation) != name || present(r.Object.Raw) != test.object || present(r.OldObject.Raw) != test.old {
			t.Errorf("%s: operation %s, object %.20s, oldObject %.20s", name, r.Operation, r.Object.Raw, r.OldObject.Raw)
		}
	}
}

func present(raw []byte) bool { return len(raw) > 0 && string(raw) != "null" }
