package review

import (
	"cmp"
	"encoding/base64"
	"slices"

	"github.com/evergate/evergate/policy"
)

// ConfigMap is one that a policy may lie in.
type ConfigMap struct {
	Files []policy.File // its keys that are policy files, in the order of their names
}

// DecodeConfigMap reads a review of a ConfigMap, as DecodePod does of a Pod.
func DecodeConfigMap(body []byte) (*Request[ConfigMap], error) {
	return decode(body, configMaps, (*reader).configMap)
}

var configMapFields = fieldsOf("kind", "apiVersion", "metadata", "immutable", "data", "binaryData")

func (r *reader) configMap(m *ConfigMap) {
	for field := range r.fields(configMapFields) {
		switch field {
		case "data":
			m.add(r.stringMap(), func(text string) []byte { return []byte(text) })
		case "binaryData": // where kubectl create configmap puts files that are not UTF-8
			m.add(r.stringMap(), func(text string) []byte {
				data, err := base64.StdEncoding.DecodeString(text)
				if err != nil {
					r.reject("is not base64")
				}
				return data
			})
		}
	}
	slices.SortFunc(m.Files, func(a, b policy.File) int { return cmp.Compare(a.Name, b.Name) })
}

func (m *ConfigMap) add(keys map[string]string, decode func(string) []byte) {
	for name, text := range keys {
		if policy.IsFile(name) {
			m.Files = append(m.Files, policy.File{Name: name, Data: decode(text)})
		}
	}
}
