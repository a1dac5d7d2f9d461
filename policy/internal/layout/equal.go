package layout

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

// equal reports whether two files have the same values, whatever the order of fields, comments and spaces.
func equal(a, b []byte) (bool, error) {
	first, second := yaml.NewDecoder(bytes.NewReader(a)), yaml.NewDecoder(bytes.NewReader(b))
	for {
		var x, y yaml.Node
		errX, errY := first.Decode(&x), second.Decode(&y)
		if errors.Is(errX, io.EOF) || errors.Is(errY, io.EOF) {
			return errors.Is(errX, io.EOF) && errors.Is(errY, io.EOF), nil
		}
		if err := errors.Join(errX, errY); err != nil {
			return false, err
		}
		if !sameNode(&x, &y) {
			return false, nil
		}
	}
}

func sameNode(a, b *yaml.Node) bool {
	if a.Kind != b.Kind || a.Tag != b.Tag || a.Value != b.Value || a.Anchor != b.Anchor ||
		len(a.Content) != len(b.Content) {
		return false
	}
	x, y := a.Content, b.Content
	if a.Kind == yaml.MappingNode {
		x, y = byKey(x), byKey(y)
	}
	return slices.EqualFunc(x, y, sameNode)
}

// byKey returns the pairs of a mapping in the order of their keys.
func byKey(content []*yaml.Node) []*yaml.Node {
	var pairs [][2]*yaml.Node
	for i := 0; i+1 < len(content); i += 2 {
		pairs = append(pairs, [2]*yaml.Node{content[i], content[i+1]})
	}
	slices.SortStableFunc(pairs, func(a, b [2]*yaml.Node) int { return strings.Compare(a[0].Value, b[0].Value) })
	var sorted []*yaml.Node
	for _, p := range pairs {
		sorted = append(sorted, p[0], p[1])
	}
	return sorted
}
