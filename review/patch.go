package review

import (
	"fmt"
	"strings"

	"github.com/evergate/evergate/policy"
)

// Operation is one operation of a JSON Patch (RFC 6902).
type Operation struct {
	Op    string // add or replace
	Path  string // a JSON Pointer
	Value string
	Key   string // when set, the value is an object with this one field, whose value is Value
	List  bool   // the value is a list with that object, its one element
}

// appendPatch writes a JSON Patch.
func appendPatch(b []byte, ops []Operation) []byte {
	separator := byte('[')
	for i := range ops {
		op := &ops[i]
		b = append(b, separator)
		b = append(b, `{"op":`...)
		b = appendString(b, op.Op)
		b = append(b, `,"path":`...)
		b = appendString(b, op.Path)
		b = append(b, `,"value":`...)
		b = append(op.appendValue(b), '}')
		separator = ','
	}
	return append(b, ']')
}

func (op *Operation) appendValue(b []byte) []byte {
	if op.Key == "" {
		return appendString(b, op.Value)
	}
	if op.List {
		b = append(b, '[')
	}
	b = appendString(append(b, '{'), op.Key)
	b = append(appendString(append(b, ':'), op.Value), '}')
	if op.List {
		b = append(b, ']')
	}
	return b
}

// patchSize is about how many bytes a patch will have.
func patchSize(ops []Operation) int {
	n := 0
	for i := range ops {
		op := &ops[i]
		n += len(`,{"op":"replace","path":"","value":""}`) + len(op.Path) + len(op.Key) + len(op.Value)
	}
	return n + n/16 // quotes are written as two characters, and the record has some for each image
}

// Where metadata keeps annotations, and among them that of the originals, as JSON Pointers: in those a slash is ~1.
const (
	annotations      = "/metadata/annotations"
	originalsPointer = annotations + "/evergate.dev~1original-images"
)

// imagePullSecrets is where a Pod keeps the names of its pull secrets, as a JSON Pointer.
const imagePullSecrets = "/spec/imagePullSecrets"

// longPointer is longer than most pointers to an image are.
const longPointer = len("/spec/ephemeralContainers/00/image")

// PatchPod returns the patch that turns the images of pod into those of rw, nil when none changes. It has one replace
// for each image, one add for each pull secret, and one for the record of the originals where the request can change
// metadata (recordable), which that of pods/ephemeralcontainers cannot. It leaves everything else of the Pod as it is,
// so that fields that Evergate does not know are kept. It has no test operations: one that fails would fail the user's
// request.
//
// A patch is at most maxPatch long. The record is left out where it would be longer; without it, that is an error.
func PatchPod(pod *policy.Pod, rw policy.Rewriting, recordable bool) ([]Operation, error) {
	if !rw.Changes() {
		return nil, nil
	}
	ops := make([]Operation, 0, len(rw.Images)+len(rw.PullSecrets.Added)+1)
	var paths strings.Builder // in one piece
	paths.Grow(len(rw.Images) * longPointer)
	for i := range rw.Images {
		if o := &rw.Images[i]; o.Outcome == policy.Rewritten {
			start := paths.Len()
			paths.Write(o.Image.AppendPointer(make([]byte, 0, longPointer)))
			ops = append(ops, Operation{Op: "replace", Path: paths.String()[start:], Value: o.To})
		}
	}
	for i, name := range rw.PullSecrets.Added {
		ops = append(ops, addPullSecret(name, i == 0 && pod.ImagePullSecrets == nil))
	}
	switch size := patchSize(ops); {
	case size > maxPatch:
		return nil, fmt.Errorf("the images that are to be replaced need a patch of %d bytes, at most %d are sent: "+
			"have fewer containers, or shorter images", size, maxPatch)
	case !recordable || rw.Record == "" || size+len(rw.Record) > maxPatch:
		return ops, nil
	}
	return append(ops, addRecord(pod, rw.Record)), nil
}

// addPullSecret returns the operation that appends a name to the pull secrets of a Pod, which has none where it is the
// first.
func addPullSecret(name string, first bool) Operation {
	if first {
		return Operation{Op: "add", Path: imagePullSecrets, Key: "name", Value: name, List: true}
	}
	return Operation{Op: "add", Path: imagePullSecrets + "/-", Key: "name", Value: name}
}

// maxPatch is how many bytes a patch may have before it is encoded: 170 images that are pinned by digests. The API
// server reads answers whole, and writes patches into its audit log.
const maxPatch = 32 << 10

// addRecord returns the operation that records the original images. A Pod without annotations has no map to add one to.
func addRecord(pod *policy.Pod, originals string) Operation {
	if pod.Annotations == nil {
		return Operation{Op: "add", Path: annotations, Key: policy.OriginalsAnnotation, Value: originals}
	}
	return Operation{Op: "add", Path: originalsPointer, Value: originals}
}
