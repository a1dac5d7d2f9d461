package review

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

// If the content of an old object cannot be read, the update is still decided, as a creation.
func TestOldContent(t *testing.T) {
	body := func(object, old string) []byte {
		return fmt.Appendf(nil, `{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",`+
			`"resource":{"group":"networking.k8s.io","version":"v1","resource":"ingresses"},"operation":"UPDATE",`+
			`"object":%s,"oldObject":%s}}`, object, old)
	}
	const good = `{"spec":{"rules":[{"host":"a.example"}]}}`
	many := `{"spec":{"rules":[` + strings.TrimSuffix(strings.Repeat(`{"host":"b.example"},`, maxElements+1), ",") + `]}}`
	for name, old := range map[string]string{
		"too many elements": many,
		"too much text":     `{"metadata":{"annotations":{"a":"` + strings.Repeat("x", maxText+1) + `"}}}`,
		"a wrong type":      `{"spec":{"rules":"x"}}`,
		"a repeated field":  `{"spec":{},"spec":{}}`,
	} {
		r, err := Ingresses().Decode(body(good, old))
		if err != nil || r.Old != nil || len(r.Object.Rules) != 1 {
			t.Errorf("%s: %+v, %v", name, r, err)
		}
		_, err = Ingresses().Decode(body(many, old))
		if _, ok := errors.AsType[*ContentError](err); !ok {
			t.Errorf("%s, and an object that cannot be read: %v", name, err)
		}
	}
	r, err := Ingresses().Decode(body(good, good))
	if err != nil || r.Old == nil {
		t.Errorf("an old object that can be read: %+v, %v", r, err)
	}
	if _, err := Ingresses().Decode(body(good, "null")); err == nil {
		t.Error("an update without an old object is decided")
	}
	if _, err := Ingresses().Decode(body(good, `{"spec":`)); err == nil {
		t.Error("invalid JSON is decided")
	}
}
