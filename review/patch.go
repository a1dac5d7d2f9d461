package review

import (
	"fmt"

	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
)

// operation is one operation of a JSON Patch (RFC 6902).
type operation struct {
	Op    string `json:"op"`   // add or replace
	Path  string `json:"path"` // a JSON Pointer
	Value any    `json:"value"`
}

// These constants are the JSON Pointers of the annotations and of the record of the original images. A slash in a name
// is written as ~1.
const (
	annotations      = "/metadata/annotations"
	originalsPointer = annotations + "/evergate.dev~1original-images"
)

// imagePullSecrets is the JSON Pointer of a Pod's pull secrets.
const imagePullSecrets = "/spec/imagePullSecrets"

// longPointer is longer than most pointers to an image.
const longPointer = len("/spec/ephemeralContainers/00/image")

// maxPatch is the maximum number of bytes in a patch. It is enough for 170 images that are pinned by digests. The API
// server reads whole answers into memory and writes patches into its audit log.
const maxPatch = 32 << 10

// PatchPod returns the JSON Patch that replaces the images of pod with the images of rw. It returns nil if no image
// changes. The patch has one replace operation for each changed image and one add operation for each pull secret.
// Another add operation records the original images, unless the request cannot change metadata (recordable is false),
// as in pods/ephemeralcontainers.
//
// The patch does not change anything else in the Pod, so it preserves fields that Evergate does not know. It does not
// contain test operations, because a failing test would fail the user's request.
//
// A patch that would be longer than maxPatch leaves the record out. If it is still longer, PatchPod returns an error.
func PatchPod(pod *object.Pod, rw policy.Rewriting, recordable bool) ([]byte, error) {
	if !rw.Changes() {
		return nil, nil
	}
	ops := make([]operation, 0, len(rw.Images)+len(rw.PullSecrets.Added)+1)
	size := 0 // lower bound of the size of the patch
	for i := range rw.Images {
		if o := &rw.Images[i]; o.Outcome == policy.Rewritten && size <= maxPatch {
			size += longPointer + len(o.To)
			path := string(o.Image.AppendPointer(make([]byte, 0, longPointer)))
			ops = append(ops, operation{"replace", path, o.To})
		}
	}
	for i, name := range rw.PullSecrets.Added {
		size += len(name)
		ops = append(ops, addPullSecret(name, i == 0 && pod.ImagePullSecrets == nil))
	}
	if recordable && rw.Record != "" && size+len(rw.Record) <= maxPatch {
		record := operation{"add", originalsPointer, rw.Record}
		if pod.Annotations == nil { // this creates the annotations
			record = operation{"add", annotations, map[string]string{object.OriginalsAnnotation: rw.Record}}
		}
		if patch := encode(append(ops, record)); len(patch) <= maxPatch {
			return patch, nil
		}
	}
	if size <= maxPatch {
		if patch := encode(ops); len(patch) <= maxPatch {
			return patch, nil
		}
	}
	return nil, fmt.Errorf("replacing the images needs a patch of more than %d bytes, which is the limit: "+
		"have fewer containers, or shorter images", maxPatch)
}

// addPullSecret returns the operation that appends a name to the pull secrets of a Pod. If the Pod has no list, the
// first name creates it.
func addPullSecret(name string, first bool) operation {
	secret := map[string]string{"name": name}
	if first {
		return operation{"add", imagePullSecrets, []map[string]string{secret}}
	}
	return operation{"add", imagePullSecrets + "/-", secret}
}
