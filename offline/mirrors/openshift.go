package mirrors

import (
	"go.yaml.in/yaml/v3"

	"github.com/evergate/evergate/internal/text"
)

// openShift reads the mirrors of an ImageDigestMirrorSet, an ImageTagMirrorSet or an ImageContentSourcePolicy.
// OpenShift writes them to registries.conf (EditRegistriesConfig in pkg/registries/registries.go of
// openshift/runtime-utils):
//
//   - The source is the prefix, so the longest source wins. *.x covers subdomains at any depth, and a mirror replaces
//     the whole host (ImageDigestMirrors in config/v1/types_image_digest_mirror_set.go of openshift/api).
//   - The mirrors are for images with a digest, and the mirrors of an ImageTagMirrorSet for other images.
//   - A set whose mirrors only repeat its source has no effect.
//   - Only NeverContactSource blocks the source.
func (f File) openShift(n, kind *yaml.Node) ([]Row, error) {
	formats := map[string]struct {
		list string
		only Kind
	}{
		"ImageDigestMirrorSet":     {"imageDigestMirrors", Digests},
		"ImageTagMirrorSet":        {"imageTagMirrors", Tags},
		"ImageContentSourcePolicy": {"repositoryDigestMirrors", Digests},
	}
	format, known := formats[kind.Value]
	if !known {
		return nil, errorAt(f.Name, kind.Line, "kind %s has no mirrors: use ImageDigestMirrorSet, ImageTagMirrorSet or "+
			"ImageContentSourcePolicy", text.Name(kind.Value))
	}
	var object struct {
		APIVersion string    `yaml:"apiVersion"`
		Kind       string    `yaml:"kind"`
		Metadata   yaml.Node `yaml:"metadata"`
		Spec       yaml.Node `yaml:"spec"`
		Status     yaml.Node `yaml:"status"`
	}
	if err := f.decode(n, &object); err != nil {
		return nil, err
	}
	for i, key := range keysOf(&object.Spec) {
		if key != format.list {
			return nil, errorAt(f.Name, object.Spec.Content[2*i].Line, "unknown field %s: use %s", text.Name(key), format.list)
		}
	}
	var rows []Row
	for _, item := range contentOf(field(&object.Spec, format.list)) {
		row, err := f.mirrorSet(item, format.only)
		if err != nil {
			return nil, err
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// mirrorSet reads an element of one of the lists.
func (f File) mirrorSet(n *yaml.Node, only Kind) (Row, error) {
	var set struct {
		Source  string   `yaml:"source"`
		Mirrors []string `yaml:"mirrors"`
		Policy  string   `yaml:"mirrorSourcePolicy"`
	}
	if err := f.decode(n, &set); err != nil {
		return Row{}, err
	}
	switch set.Policy {
	case "", "AllowContactingSource", "NeverContactSource":
	default:
		return Row{}, errorAt(f.Name, n.Line, "unknown mirrorSourcePolicy %s: use AllowContactingSource or "+
			"NeverContactSource", text.Name(set.Policy))
	}
	if set.Source == "" {
		return Row{}, errorAt(f.Name, n.Line, "a set of mirrors has no source: add it")
	}
	r := Row{At: Origin{f.Name, n.Line}, Prefix: set.Source, Fallback: set.Policy != "NeverContactSource"}
	for _, place := range set.Mirrors {
		r.Mirrors = append(r.Mirrors, Mirror{Place: place, Only: only})
	}
	return r, nil
}
