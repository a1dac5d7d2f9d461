package strict

import (
	"reflect"

	"go.yaml.in/yaml/v3"
)

// Raw is a value that is not decoded, such as a Kubernetes object.
type Raw struct {
	Pos  Pos
	node *yaml.Node
}

// Text returns the text of the value. It returns false if the value is not a string.
func (r *Raw) Text() (string, bool) {
	return r.node.Value, r.node.Kind == yaml.ScalarNode && r.node.ShortTag() == "!!str"
}

// IsMapping reports whether the value is a mapping.
func (r *Raw) IsMapping() bool { return r.node.Kind == yaml.MappingNode }

// YAML returns the value as a separate YAML document.
func (r *Raw) YAML() ([]byte, error) { return yaml.Marshal(r.node) }

// words decodes a mapping into the map v. The mapping may contain any field names.
func (d *Decoder) words(n *yaml.Node, v reflect.Value) {
	if !d.want(n, "a mapping", yaml.MappingNode, "") {
		return
	}
	v.Set(reflect.MakeMap(v.Type()))
	for key, value := range d.entries(n) {
		d.at(fieldSegment(key.Value), func() {
			word := reflect.New(v.Type().Elem()).Elem()
			d.value(value, word)
			v.SetMapIndex(reflect.ValueOf(key.Value), word)
		})
	}
}
