package review

import (
	"github.com/go-json-experiment/json/jsontext"

	"github.com/evergate/evergate/policy"
)

// Operation is one operation of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value"`
}

// annotations is where metadata keeps them, as a JSON Pointer.
const annotations jsontext.Pointer = "/metadata/annotations"

// PatchPod returns what turns the images of pod into those that rw says, nil when none changes: one replace for each
// image, and one add for the record of the originals where the request can change metadata (recordable), which that of
// pods/ephemeralcontainers cannot. Nothing else of the Pod is touched, so nothing that Evergate does not know is lost.
// There are no test operations: one that fails would fail the user's request.
func PatchPod(pod *policy.Pod, rw policy.Rewriting, recordable bool) []Operation {
	var ops []Operation
	for i := range rw.Images {
		if o := &rw.Images[i]; o.Outcome == policy.Rewritten {
			ops = append(ops, Operation{Op: "replace", Path: o.Image.Pointer(), Value: o.To})
		}
	}
	if len(ops) == 0 || !recordable || rw.Record == "" {
		return ops
	}
	return append(ops, annotate(pod, policy.OriginalsAnnotation, rw.Record))
}

// annotate sets an annotation. A Pod without annotations has no map that one could be added to.
func annotate(pod *policy.Pod, key, value string) Operation {
	if pod.Annotations == nil {
		return Operation{Op: "add", Path: string(annotations), Value: map[string]string{key: value}}
	}
	return Operation{Op: "add", Path: string(annotations.AppendToken(key)), Value: value}
}
