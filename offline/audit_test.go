package offline

import (
	"fmt"
	"testing"

	"github.com/evergate/evergate/policy/object"
	"github.com/google/go-cmp/cmp"
)

func TestOwner(t *testing.T) {
	hash := map[string]string{"pod-template-hash": "6d4f8c9b7d"}
	for _, tt := range []struct {
		pod  object.Meta
		want string
	}{
		{object.Meta{Name: "a"}, "Pod a"},
		{object.Meta{Name: "a", Owner: "StatefulSet/db"}, "StatefulSet db"},
		{object.Meta{Name: "a", Owner: "ReplicaSet/web-6d4f8c9b7d", Labels: hash}, "Deployment web"},
		{object.Meta{Name: "a", Owner: "ReplicaSet/web-6d4f8c9b7d"}, "ReplicaSet web-6d4f8c9b7d"},
		{object.Meta{Name: "a", Owner: "ReplicaSet/bare", Labels: hash}, "ReplicaSet bare"},
		{object.Meta{Name: "a", Owner: "Job/x-6d4f8c9b7d", Labels: hash}, "Job x-6d4f8c9b7d"},
	} {
		kind, name := Owner(&object.Pod{Meta: tt.pod})
		if got := kind + " " + name; got != tt.want {
			t.Errorf("%+v: %s, want %s", tt.pod, got, tt.want)
		}
	}
}

func TestHasEnded(t *testing.T) {
	for text, want := range map[string]bool{
		`{"status": {"phase": "Succeeded"}}`: true,
		`{"status": {"phase": "Failed"}}`:    true,
		`{"status": {"phase": "Running"}}`:   false,
		`{"status": {"phase": "Unknown"}}`:   false, // its node is unreachable, so it may still run
		`{"status": {"phase": 5}}`:           false,
		`{"status": null}`:                   false,
		`{"spec": {}}`:                       false,
	} {
		text = `{"apiVersion": "v1", "kind": "Pod", ` + text[1:]
		if got := must(ParseObject(Origin{}, []byte(text))).HasEnded(); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
	service := `{"apiVersion": "v1", "kind": "Service", "status": {"phase": "Failed"}}`
	if must(ParseObject(Origin{}, []byte(service))).HasEnded() {
		t.Error("a Service does not end")
	}
}

// must returns v, and panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// equal reports the difference between two values. about precedes it, for example the name of a case.
func equal[T any](t testing.TB, want, got T, about ...any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", fmt.Sprint(about...), diff)
	}
}
