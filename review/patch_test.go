package review

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// rewriting sends every image to a mirror, except images that are already there.
func rewriting(pod *object.Pod, record string) policy.Rewriting {
	rw := policy.Rewriting{Record: record}
	for _, image := range pod.Images {
		outcome := policy.ImageOutcome{Image: image, Outcome: policy.AtMirror}
		if !strings.HasPrefix(image.Ref, "m/") {
			outcome.Outcome, outcome.To = policy.Rewritten, "m/"+image.Ref
		}
		rw.Images = append(rw.Images, outcome)
	}
	return rw
}

func TestPatchPod(t *testing.T) {
	replace := func(path, value string) operation { return operation{"replace", path, value} }
	for name, test := range map[string]struct {
		pod        string
		recordable bool
		want       []operation
	}{
		"nothing changes": {`{"spec":{"containers":[{"image":"m/a"}]}}`, true, nil},
		"no image":        {`{"metadata":{"annotations":{}}}`, true, nil},
		"every place": {
			`{"metadata":{"annotations":{}},"spec":{"containers":[{"image":"m/a"},{"image":"b"}],
			"initContainers":[{"image":"c"}],
			"ephemeralContainers":[{"image":"d"}],"volumes":[{"emptyDir":{}},{"image":{"reference":"e"}}]}}`, true,
			[]operation{
				replace("/spec/containers/1/image", "m/b"), replace("/spec/initContainers/0/image", "m/c"),
				replace("/spec/ephemeralContainers/0/image", "m/d"), replace("/spec/volumes/1/image/reference", "m/e"),
				{"add", "/metadata/annotations/evergate.dev~1original-images", "{}"},
			},
		},
		"no annotations": {
			`{"metadata":{},"spec":{"containers":[{"image":"a"}]}}`, true,
			[]operation{
				replace("/spec/containers/0/image", "m/a"),
				{"add", "/metadata/annotations", map[string]any{"evergate.dev/original-images": "{}"}},
			},
		},
		"null annotations": {
			`{"metadata":{"annotations":null},"spec":{"containers":[{"image":"a"}]}}`, true,
			[]operation{
				replace("/spec/containers/0/image", "m/a"),
				{"add", "/metadata/annotations", map[string]any{"evergate.dev/original-images": "{}"}},
			},
		},
		"profiles": {
			`{"spec":{"securityContext":{"seccompProfile":{"oci":{"ref":"p"}}},"initContainers":[
				{"securityContext":{"seccompProfile":{"type":"OCI","oci":{"ref":"c"}}},"image":"m/a"}]}}`, false,
			[]operation{replace("/spec/securityContext/seccompProfile/oci/ref", "m/p"),
				replace("/spec/initContainers/0/securityContext/seccompProfile/oci/ref", "m/c")},
		},
		"metadata cannot change": {
			`{"spec":{"ephemeralContainers":[{"image":"a"}]}}`, false,
			[]operation{replace("/spec/ephemeralContainers/0/image", "m/a")},
		},
	} {
		t.Run(name, func(t *testing.T) {
			pod := must(Pods().Parse([]byte(test.pod)))
			got := operations(t, must(PatchPod(pod, rewriting(pod, "{}"), test.recordable)))
			equal(t, test.want, got)
		})
	}
}

// operations decodes a patch.
func operations(t *testing.T, patch []byte) (ops []operation) {
	t.Helper()
	if patch == nil {
		return nil
	}
	if err := json.Unmarshal(patch, &ops); err != nil {
		t.Fatal(err)
	}
	return ops
}

// A Pod from a newer Kubernetes keeps every field that Evergate does not know, byte for byte.
func TestPatchKeepsUnknownFields(t *testing.T) {
	const pod = `{
		"apiVersion": "v1", "kind": "Pod", "newAtTheTop": {"a": [1, 2.50, 1e400, 12345678901234567890]},
		"metadata": {"name": "web", %s "newMetadata": null,
			"managedFields": [{"fieldsV1": {"k:{\"name\":\"a\"}": {".": {}}}}]},
		"spec": {
			"newSpec": {"containers": [{"image": "nginx"}]},
			"containers": [
				{"name": "a", "image": %q, "newContainer": {"image": "nginx", "deep": [[[{}]]]}},
				{"name": "b", "image": "m/b", "newContainer": "\u0000\ud83d\ude00"},
				{"newFirst": 0, "image": %q, "name": "c"}
			],
			"newContainers": [{"image": "nginx"}],
			"volumes": [{"name": "v", "newSource": {}}, {"name": "w", "image": {"reference": %q, "newImage": true}}]
		}
	}`
	for name, test := range map[string]struct{ before, after string }{
		"annotations": {
			`"annotations": {"x.io/a": "<b>", "evergate.dev/original-images": "forged"},`,
			`"annotations": {"x.io/a": "<b>", "evergate.dev/original-images": "{\"containers/a\":\"nginx\"}"},`,
		},
		"none": {``, `"annotations": {"evergate.dev/original-images": "{\"containers/a\":\"nginx\"}"},`},
		"null": {`"annotations": null,`, `"annotations": {"evergate.dev/original-images": "{\"containers/a\":\"nginx\"}"},`},
	} {
		t.Run(name, func(t *testing.T) {
			before := []byte(fmt.Sprintf(pod, test.before, "nginx", "quay.io/c:1", "acme/model"))
			after := fmt.Sprintf(pod, test.after, "m/nginx", "m/quay.io/c:1", "m/acme/model")
			parsed := must(Pods().Parse(before))
			rw := rewriting(parsed, `{"containers/a":"nginx"}`)
			got := apply(t, before, Answer{Allowed: true, Patch: must(PatchPod(parsed, rw, true))})
			equal(t, decodeExactly(t, []byte(after)), decodeExactly(t, got))
		})
	}
}

// apply handles a response like kube-apiserver: it takes the patch from it and applies it with the same library.
func apply(t *testing.T, object []byte, answer Answer) []byte {
	t.Helper()
	var review struct{ Response struct{ Patch []byte } }
	if err := json.Unmarshal(answer.JSON(), &review); err != nil {
		t.Fatal(err)
	}
	patch := must(jsonpatch.DecodePatch(review.Response.Patch))
	patched := must(patch.Apply(object))
	return patched
}

// decodeExactly keeps numbers as they are written.
func decodeExactly(t *testing.T, data []byte) (v any) {
	t.Helper()
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		t.Fatal(err)
	}
	return v
}

// must returns v, and panics if there is an error.
func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// If a patch would be too long with the record, it is sent without it. If it is also too long without the record, there
// is no patch.
func TestPatchIsBounded(t *testing.T) {
	long := strings.Repeat("x", 200)
	for n, want := range map[int]string{50: "with the record", 100: "without", 200: "error"} {
		pod := &object.Pod{}
		rw := policy.Rewriting{Record: strings.Repeat("r", 16<<10)}
		for i := range n {
			image := object.Image{Index: i, Name: "c", Ref: long}
			pod.Images = append(pod.Images, image)
			rw.Images = append(rw.Images, policy.ImageOutcome{Image: image, Outcome: policy.Rewritten, To: long})
		}
		patch, err := PatchPod(pod, rw, true)
		got := "error"
		switch len(operations(t, patch)) {
		case n + 1:
			got = "with the record"
		case n:
			got = "without"
		}
		if got != want || (err != nil) != (want == "error") {
			t.Errorf("%d images: %s (%v), want %s", n, got, err, want)
		}
		if len(patch) > maxPatch {
			t.Errorf("%d images: %d bytes", n, len(patch))
		}
	}
}

// A patch of 32 KiB is sent, and a patch with one byte more is not.
func TestLongestPatch(t *testing.T) {
	const room = maxPatch - len(`[{"op":"replace","path":"/spec/containers/0/image","value":""}]`)
	for length, want := range map[int]bool{room: true, room + 1: false} {
		rw := policy.Rewriting{Images: []policy.ImageOutcome{{Outcome: policy.Rewritten, To: strings.Repeat("x", length)}}}
		patch, err := PatchPod(&object.Pod{}, rw, true)
		if (err == nil) != want || want && len(patch) != maxPatch {
			t.Errorf("an image of %d bytes: a patch of %d, %v", length, len(patch), err)
		}
	}
}

// Pull secrets are appended, in their order, to the list, which is created if it does not exist.
func TestPatchPullSecrets(t *testing.T) {
	const image = `"containers":[{"name":"a","image":"a"}]`
	for name, test := range map[string]struct{ before, after string }{
		"absent": {``, `"imagePullSecrets":[{"name":"x"},{"name":"y"}],`},
		"null":   {`"imagePullSecrets":null,`, `"imagePullSecrets":[{"name":"x"},{"name":"y"}],`},
		"empty":  {`"imagePullSecrets":[],`, `"imagePullSecrets":[{"name":"x"},{"name":"y"}],`},
		"others": {
			`"imagePullSecrets":[{"name":"b","new":1},{}],`,
			`"imagePullSecrets":[{"name":"b","new":1},{},{"name":"x"},{"name":"y"}],`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			before := []byte(`{"metadata":{},"spec":{` + test.before + image + `}}`)
			pod := must(Pods().Parse(before))
			rw := rewriting(pod, "")
			rw.PullSecrets.Added = []string{"x", "y"}
			got := apply(t, before, Answer{Allowed: true, Patch: must(PatchPod(pod, rw, true))})
			after := `{"metadata":{},"spec":{` + test.after + strings.ReplaceAll(image, `"a"}]`, `"m/a"}]`) + `}}`
			equal(t, decodeExactly(t, []byte(after)), decodeExactly(t, got))
		})
	}
}

// FuzzPatchPullSecrets applies the patch with the API server's library to a Pod with any list of pull secrets, or
// without one.
func FuzzPatchPullSecrets(f *testing.F) {
	for _, list := range []string{
		``, `null`, `[]`, `[{"name":"x"}]`, `[{},null,{"name":"b","c":[1]}]`,
		`[` + strings.Repeat(`{"name":"b"},`, 99) + `{"name":"b"}]`,
	} {
		f.Add(list)
	}
	f.Fuzz(func(t *testing.T, list string) {
		field := ""
		if list != "" {
			field = `"imagePullSecrets":` + list + `,`
		}
		before := []byte(`{"spec":{` + field + `"containers":[{"name":"a","image":"a"}]}}`)
		pod, err := Pods().Parse(before)
		if err != nil || len(pod.Images) != 1 || pod.Images[0].Ref != "a" {
			return
		}
		rw := rewriting(pod, "")
		rw.PullSecrets.Added = []string{"x", "y"}
		got := apply(t, before, Answer{Allowed: true, Patch: must(PatchPod(pod, rw, true))})
		patched := must(Pods().Parse(got))
		want := append(pod.ImagePullSecrets, "x", "y")
		equal(t, want, patched.ImagePullSecrets)
	})
}
