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
	// (ValidateConfigMap in pkg/apis/core/validation/validation.go, Kubernetes 1.34).
	maxData = 1 << 20
	// maxAnnotations is the maximum number of bytes of all annotations of an object, with their keys
	// (TotalAnnotationSizeLimitB in k8s.io/apimachinery/pkg/api/validation/objectmeta.go v0.37.2).
	maxAnnotations = 256 << 10
	// lastApplied is the annotation in which kubectl apply stores the JSON of an object, with the other annotations and a
	// line end, unless it applies server-side (GetModifiedConfiguration in k8s.io/kubectl/pkg/util/apply.go).
	lastApplied = "kubectl.kubernetes.io/last-applied-configuration"
)

// measure adds an error if no API server accepts a ConfigMap, or a warning if kubectl apply does not accept it.
func (m *manifest) measure(n *yaml.Node) {
	var object map[string]any
	if manifest, err := yaml.Marshal(n); err != nil || kyaml.Unmarshal(manifest, &object) != nil {
		return // other code returns an error
	}
	if long := tooLong(object); long != "" {
		m.problem(n, "%s", long)
	} else if long := annotated(object); long != "" {
		m.Warnings = append(m.Warnings, policy.Problem{File: m.Name, Line: n.Line, Column: n.Column, Message: long})
	}
}

// tooLong returns the mistake of a ConfigMap that no API server accepts, or "".
func tooLong(object map[string]any) string {
	size := 0
	for _, field := range []string{"data", "binaryData"} {
		data, _ := object[field].(map[string]any)
		for _, value := range data {
			s, _ := value.(string)
			if size += len(s); field == "binaryData" { // base64
				size -= len(s)/4 + strings.Count(s, "=")
			}
		}
	}
	if size <= maxData {
		return ""
	}
	return fmt.Sprintf("a ConfigMap cannot have %s bytes of data, limit %s: shorten the policy", text.Thousands(size),
		text.Thousands(maxData))
}

// annotated returns the mistake of a ConfigMap that kubectl apply does not accept, or "".
func annotated(object map[string]any) string {
	metadata, _ := object["metadata"].(map[string]any)
	annotations, ok := metadata["annotations"].(map[string]any)
	if delete(annotations, lastApplied); metadata != nil && !ok {
		metadata["annotations"] = struct{}{}
	}
	applied, _ := json.Marshal(object) // it was decoded from JSON
	size := len(lastApplied) + len(applied) + len("\n")
	for key, value := range annotations {
		size += len(key) + len(fmt.Sprint(value))
	}
	if size <= maxAnnotations {
		return ""
	}
	return fmt.Sprintf("kubectl apply fails, because it stores the ConfigMap in an annotation, and the annotations would "+
		"have %s bytes, limit %s: use kubectl apply --server-side or kubectl evergate apply",
		text.Thousands(size), text.Thousands(maxAnnotations))
}
