package deploy

import (
	"errors"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	kjson "sigs.k8s.io/json"
)

// manifest is one object of the input.
type manifest struct {
	source     string // FILE:LINE, for findings and errors
	apiVersion string
	kind       string
	json       []byte
}

// newInventory returns an Inventory without objects.
func newInventory() *Inventory { return &Inventory{sources: map[object]string{}} }

// add reads an object. Kinds that no check looks at are passed over. An error says where, and which field: a field that
// Kubernetes does not know, or the same field twice, would be dropped by the API server, or refused, depending on the
// client that applies it.
func (inv *Inventory) add(m manifest) error {
	k, ok := kinds()[m.kind]
	if !ok || !sameGroup(k.apiVersion, m.apiVersion) {
		return nil
	}
	if m.apiVersion != k.apiVersion && !strings.HasSuffix(k.apiVersion, "/") {
		return fmt.Errorf("%s: %s in %s is not understood: write apiVersion: %s", m.source, m.kind,
			printable(m.apiVersion),
			k.apiVersion)
	}
	return k.decode(inv, m)
}

// sameGroup reports whether two apiVersions name versions of one API group.
func sameGroup(a, b string) bool {
	va, errA := schema.ParseGroupVersion(a)
	vb, errB := schema.ParseGroupVersion(b)
	return errA == nil && errB == nil && va.Group == vb.Group
}

// decode reads the manifest as the type of o, strictly: but for objects of a live cluster, which hold no field that the
// API server does not know, though maybe some that are newer than the types here.
func (m manifest) decode(o object) error {
	strict, err := kjson.UnmarshalStrict(m.json, o)
	if err != nil {
		return fmt.Errorf("%s: %s: %w", m.source, m.kind, err)
	}
	// Items of a PodList do not say what they are.
	o.GetObjectKind().SetGroupVersionKind(schema.FromAPIVersionAndKind(m.apiVersion, m.kind))
	if len(strict) == 0 || live(o) {
		return nil
	}
	var messages []string
	for _, err := range strict {
		messages = append(messages, err.Error())
	}
	what := strings.TrimSpace(m.kind + " " + printable(o.GetName()))
	return fmt.Errorf("%s: %s: %s", m.source, what, strings.Join(messages, "; "))
}

var errNothing = errors.New("there is no Evergate in the input: no webhook configuration has the label " +
	labelName + "=evergate, and no webhook is called *" + hookSuffix)

// How objects of Evergate are known.
const (
	labelName  = "app.kubernetes.io/name"
	hookSuffix = ".evergate.dev"
)

func isOurs(m metav1.Object) bool { return m.GetLabels()[labelName] == "evergate" }
