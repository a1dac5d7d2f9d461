package reviewtest

import (
	"encoding/json"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// manager is the field manager that writes every object of this package.
const manager = "kube-controller-manager"

// manage sets the managedFields of an object that one manager has written. They are half of the bytes that the API
// server sends, and a decoder has to skip them.
func manage(obj Object, apiVersion string) {
	at := created()
	obj.SetManagedFields(nil)
	var tree map[string]any
	if err := json.Unmarshal(marshal(obj), &tree); err != nil {
		panic("reviewtest: " + err.Error())
	}
	// Managers do not own the fields that identify an object, or the fields that only the server writes.
	for _, name := range []string{"apiVersion", "kind", "status"} {
		delete(tree, name)
	}
	if m, ok := tree["metadata"].(map[string]any); ok {
		for _, name := range []string{"name", "namespace", "uid", "creationTimestamp"} {
			delete(m, name)
		}
	}
	obj.SetManagedFields([]metav1.ManagedFieldsEntry{{
		Manager:    manager,
		Operation:  metav1.ManagedFieldsOperationUpdate,
		APIVersion: apiVersion,
		Time:       &at,
		FieldsType: "FieldsV1",
		FieldsV1:   metav1.NewFieldsV1(string(marshal(fields(tree)))),
	}})
}

// fields returns the set of the fields of v in the form of FieldsV1: f: before a field, k: before the keys of a list
// element.
func fields(v any) map[string]any {
	set := map[string]any{}
	switch v := v.(type) {
	case map[string]any:
		for name, value := range v {
			set["f:"+name] = fields(value)
		}
	case []any:
		for _, item := range v {
			if keys := mergeKeys(item); keys != nil {
				element := fields(item)
				element["."] = struct{}{}
				set["k:"+string(marshal(keys))] = element
			}
		}
	}
	return set
}

// mergeKeys returns the fields that identify an element of a list, or nil if the list is owned as a whole.
func mergeKeys(item any) map[string]any {
	fields, ok := item.(map[string]any)
	if !ok {
		return nil
	}
	candidates := [][]string{{"mountPath"}, {"containerPort", "protocol"}, {"port", "protocol"}, {"uid"}, {"name"}}
	for _, names := range candidates {
		keys := map[string]any{}
		for _, name := range names {
			if value, ok := fields[name]; ok {
				keys[name] = value
			}
		}
		if len(keys) == len(names) {
			return keys
		}
	}
	return nil
}
