package deploy

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"

	"github.com/evergate/evergate/internal/text"
)

// manifest is one object of the input.
type manifest struct {
	source     string // FILE:LINE, for findings and errors
	apiVersion string
	kind       string
	json       []byte
}

// newInventory returns an Inventory without objects.
func newInventory() *Inventory { return &Inventory{sources: map[apiObject]string{}} }

// add reads an object and ignores kinds that no check uses. kustomize's kinds are an error, because the files next to
// them are patches and bases that are not applied unchanged. An error contains the place and the field. Depending on
// the client, the API server would drop or reject a field that Kubernetes does not know, or a duplicate field.
func (inv *Inventory) add(m manifest) error {
	if sameGroup(m.apiVersion, "kustomize.config.k8s.io/v1beta1") {
		return fmt.Errorf("%s: a %s is not rendered here: write kubectl kustomize DIRECTORY | evergate preflight -f -",
			m.source, printable(text.Truncate(m.kind, text.Short)))
	}
	k, ok := kinds()[m.kind]
	if !ok || !sameGroup(k.apiVersion, m.apiVersion) {
		return nil
	}
	if m.apiVersion != k.apiVersion && !strings.HasSuffix(k.apiVersion, "/") {
		return fmt.Errorf("%s: %s in %s is not supported: write apiVersion: %s", m.source, m.kind,
			printable(m.apiVersion),
			k.apiVersion)
	}
	return k.decode(inv, m)
}

// sameGroup reports whether two apiVersions are versions of the same API group.
func sameGroup(a, b string) bool {
	va, errA := schema.ParseGroupVersion(a)
	vb, errB := schema.ParseGroupVersion(b)
	return errA == nil && errB == nil && va.Group == vb.Group
}

// decode reads the manifest as the type of o, strictly. An object of a live cluster may have unknown fields, because
// the API server may be newer than the types here. The error contains each unknown field, or the first field with a
// wrong value.
func (m manifest) decode(o apiObject) error {
	strict, err := kjson.UnmarshalStrict(m.json, o)
	if err != nil {
		return m.errorf([]string{m.wrongValue(o, err)})
	}
	// Items of a PodList do not have a kind.
	o.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(m.apiVersion, m.kind))
	if len(strict) == 0 || live(o) {
		return nil
	}
	var found []string
	for _, err := range strict {
		found = append(found, text.Truncate(err.Error(), maxFault))
	}
	return m.errorf(found)
}

// maxFault is the maximum number of bytes of a decoder's error. Errors can contain a field name or a number of any
// length.
const maxFault = 240

// wrongValue returns the sentence about err, the error of decoding the manifest as the type of o. It contains the path
// of the field. Errors of kjson do not contain the index of a list element, and errors about quantities, times and
// durations do not contain a field. wrongValue therefore decodes each value again, without the values next to it.
func (m manifest) wrongValue(o apiObject, err error) string {
	var tree any
	if kjson.UnmarshalCaseSensitivePreserveInts(m.json, &tree) != nil {
		return err.Error()
	}
	into := reflect.TypeOf(o).Elem()
	path, err := firstWrong(tree, err, func(tree any) error {
		data, err := json.Marshal(tree)
		if err != nil {
			return err
		}
		return kjson.UnmarshalCaseSensitivePreserveInts(data, reflect.New(into).Interface())
	})
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("cannot decode %s as %s", mismatch.Value, mismatch.Type)
	}
	return strings.TrimPrefix(path, ".") + ": " + text.Truncate(err.Error(), maxFault)
}

// firstWrong returns the path of the first value in tree that decode rejects, and the error about that value. decode
// takes values in place of tree. err is its error about tree.
func firstWrong(tree any, err error, decode func(any) error) (string, error) {
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			alone := func(value any) error { return decode(map[string]any{key: value}) }
			if inner := alone(v[key]); inner != nil && decode(map[string]any{}) == nil {
				path, inner := firstWrong(v[key], inner, alone)
				return "." + text.Truncate(key, text.Short) + path, inner
			}
		}
	case []any:
		for i, value := range v {
			alone := func(value any) error { return decode([]any{value}) }
			if inner := alone(value); inner != nil && decode([]any{}) == nil {
				path, inner := firstWrong(value, inner, alone)
				return fmt.Sprintf("[%d]%s", i, path), inner
			}
		}
	}
	return "", err
}

// errorf returns an error with the place of the manifest, the object and its problems.
func (m manifest) errorf(found []string) error {
	var named struct {
		Metadata struct{ Namespace, Name any }
	}
	_ = json.Unmarshal(m.json, &named) // without a name, the error contains only the kind
	object := m.kind
	if name, ok := named.Metadata.Name.(string); ok {
		if namespace, ok := named.Metadata.Namespace.(string); ok {
			name = namespace + "/" + name
		}
		object += " " + text.Truncate(printable(name), text.Short)
	}
	return fmt.Errorf("%s: %s: %s", m.source, object, printable(strings.Join(found, "; ")))
}

const noWebhook = "no webhook configuration has the label " + labelName + "=evergate, and no webhook is called *" +
	WebhookSuffix

var (
	errNothing   = errors.New("the input does not contain Evergate: " + noWebhook)
	errNoWebhook = errors.New("the input has a Deployment that runs evergate serve, but nothing calls it: " + noWebhook)
)

// labelName is a label of all Evergate objects.
const labelName = "app.kubernetes.io/name"

func isOurs(m metav1.Object) bool { return m.GetLabels()[labelName] == "evergate" }
