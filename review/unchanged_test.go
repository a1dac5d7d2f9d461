package review

import (
	"fmt"
	"strings"
	"testing"
)

func manyFields(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, `,"f%d":1`, i)
	}
	return "{" + b.String()[1:] + "}"
}

func TestUnchanged(t *testing.T) {
	for name, test := range map[string]struct {
		object, old string
		want        bool
	}{
		"the same": {`{"spec":{"a":1}}`, `{"spec":{"a":1}}`, true},
		"a finalizer removed": {`{"metadata":{"labels":{"a":"b"}},"spec":{"a":1}}`,
			`{"metadata":{"finalizers":["x"],"labels":{"a":"b"}},"spec":{"a":1}}`, true},
		"another spec":       {`{"spec":{"a":1}}`, `{"spec":{"a":2}}`, false},
		"another status":     {`{"spec":{},"status":{"a":1}}`, `{"spec":{},"status":{"a":2}}`, false},
		"another label":      {`{"metadata":{"labels":{"a":"b"}}}`, `{"metadata":{"labels":{"a":"c"}}}`, false},
		"another annotation": {`{"metadata":{"annotations":{"a":"b"}}}`, `{"metadata":{"annotations":{"a":"c"}}}`, false},
		"an annotation more": {`{"metadata":{"annotations":{"a":"b"}},"spec":{}}`, `{"spec":{}}`, false},
		"another template of a PodTemplate": {`{"metadata":{"labels":{}},"template":{"a":1}}`,
			`{"metadata":{"labels":{}},"template":{"a":2}}`, false},
		"a template more":             {`{"spec":{},"template":{}}`, `{"spec":{}}`, false},
		"another field of any name":   {`{"spec":{},"jobs":[1]}`, `{"spec":{},"jobs":[2]}`, false},
		"another owner":               {`{"metadata":{"ownerReferences":[]},"spec":{}}`, `{"metadata":{"ownerReferences":[{}]},"spec":{}}`, false},
		"another name":                {`{"metadata":{"name":"a"},"spec":{}}`, `{"metadata":{"name":"b"},"spec":{}}`, false},
		"a field of metadata outside": {`{"name":"a","spec":{}}`, `{"metadata":{"name":"a"},"spec":{}}`, false},
		"on its way to deletion": {
			`{"metadata":{"name":"a","generation":2,"resourceVersion":"2","deletionTimestamp":"x","deletionGracePeriodSeconds":0,"managedFields":[]},"spec":{}}`,
			`{"metadata":{"name":"a","generation":1,"resourceVersion":"1","finalizers":["x"],"managedFields":[{}]},"spec":{}}`, true},
		"too many fields":     {manyFields(maxFields + 1), manyFields(maxFields + 1), false},
		"many fields":         {manyFields(maxFields), manyFields(maxFields), true},
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
	// It is not clear which of the two would be evaluated.
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
