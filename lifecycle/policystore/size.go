package policystore

import (
	"encoding/json"
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
	kyaml "sigs.k8s.io/yaml"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

const (
	// maxData is the maximum number of bytes of all values of a ConfigMap together. Kubernetes does not count the keys
	// (ValidateConfigMap in pkg/apis/core/validation/validation.go, Kubernetes 1.37).
	maxData = 1 << 20
	// maxAnnotations is the maximum number of bytes of all annotations of an object, with their keys
	// (TotalAnnotationSizeLimitB in k8s.io/apimachinery/pkg/api/validation/objectmeta.go v0.37.2).
	maxAnnotations = 256 << 10
	// lastApplied is the annotation in which kubectl apply stores the object, unless it applies server-side.
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// newConfigMap returns the ConfigMap that the documentation creates from policy files.
func newConfigMap(data map[string]any) map[string]any {
	return map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "data": data,
		"metadata": map[string]any{"name": "evergate-policy", "namespace": "evergate-system"},
	}
}

// measure adds an error about a ConfigMap that no API server accepts, and a warning about one that kubectl cannot apply.
func (m *manifest) measure(n *yaml.Node) {
	var object map[string]any
	manifest, err := yaml.Marshal(n)
	if err != nil || kyaml.Unmarshal(manifest, &object) != nil {
		return // other code returns an error
	}
	data, _ := object["data"].(map[string]any)
	binary, _ := object["binaryData"].(map[string]any)
	size := sizeOf(data)
	for _, value := range binary {
		encoded, _ := value.(string)
		size += len(encoded)/4*3 - strings.Count(encoded, "=")
	}
	if size > maxData {
		m.problem(n, "%s", tooLong("the ConfigMap", size))
	} else if warning := sizeWarning(data, object); warning != "" {
		m.Warnings = append(m.Warnings, policy.Problem{File: m.Name, Line: n.Line, Column: n.Column, Message: warning})
	}
}

func sizeOf(data map[string]any) (size int) {
	for _, value := range data {
		s, _ := value.(string)
		size += len(s)
	}
	return size
}

func tooLong(what string, size int) string {
	return fmt.Sprintf("%s has %s bytes of data, and a ConfigMap can have at most %s: shorten the policy", what,
		text.Thousands(size), text.Thousands(maxData))
}

// sizeWarning returns a warning about a ConfigMap that kubectl cannot apply as usual, or "".
func sizeWarning(data, object map[string]any) string {
	if size := sizeOf(data); size > maxData {
		return tooLong("the policy", size)
	}
	if size := annotationsOf(object); size > maxAnnotations {
		return fmt.Sprintf("kubectl apply fails, because it stores the ConfigMap in an annotation, and the annotations would "+
			"have %s bytes, limit %s: use kubectl apply --server-side or kubectl evergate apply",
			text.Thousands(size), text.Thousands(maxAnnotations))
	}
	return ""
}

// annotationsOf returns the size in bytes of the annotations of an object after kubectl apply. kubectl stores the JSON
// of the object, with the other annotations and a line end (GetModifiedConfiguration in k8s.io/kubectl/pkg/util/apply.go,
// kubectl 1.37).
func annotationsOf(object map[string]any) int {
	metadata, ok := object["metadata"].(map[string]any)
	if !ok {
		return 0
	}
	annotations, _ := metadata["annotations"].(map[string]any)
	if annotations == nil {
		annotations = map[string]any{}
	}
	delete(annotations, lastApplied)
	metadata["annotations"] = annotations
	applied, _ := json.Marshal(object) // it was decoded from JSON
	size := len(lastApplied) + len(applied) + len("\n")
	for key, value := range annotations {
		size += len(key) + len(fmt.Sprint(value))
	}
	return size
}
