package review

import (
	"strings"
	"testing"
)

func TestUnchanged(t *testing.T) {
	for name, test := range map[string]struct {
		object, old string
		want        bool
	}{
		"the same": {`{"spec":{"a":1}}`, `{"spec":{"a":1}}`, true},
		"a finalizer removed": {`{"metadata":{"labels":{"a":"b"}},"spec":{"a":1}}`,
			`{"metadata":{"finalizers":["x"],"labels":{"a":"b"}},"spec":{"a":1}}`, true},
		"another spec":        {`{"spec":{"a":1}}`, `{"spec":{"a":2}}`, false},
		"another status":      {`{"spec":{},"status":{"a":1}}`, `{"spec":{},"status":{"a":2}}`, false},
		"another label":       {`{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"labels":{"a":"c"}}}`, false},
		"another annotation":  {`{"metadata":{"annotations":{"a":"b"}}}`, `{"metadata":{"annotations":{"a":"c"}}}`, false},
		"an annotation more":  {`{"metadata":{"annotations":{"a":"b"}},"spec":{}}`, `{"spec":{}}`, false},
		"a spec that is null": {`{"spec":null}`, `{"spec":{}}`, false},
		"two specs":           {`{"spec":{"a":1},"spec":{"a":2}}`, `{"spec":{"a":1},"spec":{"a":2}}`, false},
		"two specs, now":      {`{"spec":{"a":1},"spec":{"a":2}}`, `{"spec":{"a":2}}`, false},
		"two specs, before":   {`{"spec":{"a":2}}`, `{"spec":{"a":1},"spec":{"a":2}}`, false},
		"two metadata": {`{"metadata":{"labels":{}},"metadata":{"annotations":{}}}`,
			`{"metadata":{"labels":{}},"metadata":{"annotations":{}}}`, false},
		"nothing of them":      {`{}`, `{}`, false},
		"no old object":        {`{"spec":{}}`, `null`, false},
		"spec in another form": {`{"\u0073pec":{"a":1}}`, `{"spec":{"a":1}}`, true},
		"not JSON":             {`{"spec":{"a":1}`, `{"spec":{"a":1}}`, false},
	} {
		body := strings.Replace(creation("pods", test.object), `"object"`, `"oldObject":`+test.old+`,"object"`, 1)
		if got := Unchanged([]byte(body)); got != test.want {
			t.Errorf("%s: got %t, want %t", name, got, test.want)
		}
	}
	// Which of two would be judged?
	for _, body := range []string{
		`{"request":{"object":{"spec":{}},"oldObject":{"spec":{}},"object":{}}}`,
		`{"request":{"object":{"spec":{}},"oldObject":{"spec":{}}},"request":{"object":{}}}`,
	} {
		if Unchanged([]byte(body)) {
			t.Error(body)
		}
	}
	if Unchanged([]byte(creation("pods", `{"spec":{}}`))) {
		t.Error("a creation")
	}
	both := strings.Replace(creation("pods", `{"spec":{}}`), `"object"`,
		`"oldObject":{"metadata":{"labels":{}},"spec":{}},"object":{"metadata":{"labels":{}}},"object"`, 1)
	if Unchanged([]byte(both)) {
		t.Error("two objects that are the old one together")
	}
	same := strings.Replace(creation("pods", `{"spec":{}}`), `"object"`, `"oldObject":{"spec":{}},"object"`, 1)
	if !Unchanged([]byte(same)) || Unchanged([]byte(same+"x")) {
		t.Error("something follows the review")
	}
}
