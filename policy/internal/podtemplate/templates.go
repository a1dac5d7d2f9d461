// Package podtemplate reads the templates block: the custom resources that contain Pod templates, and the fields with
// the templates. It does not depend on any kind of object. names.go reads the names in an entry.
package podtemplate

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
	"github.com/evergate/evergate/policy/object"
)

// Kind is an entry of templates: a kind of custom resource from whose objects an operator creates Pods, and the paths
// of the Pod templates in these objects. It does not evaluate anything by itself. The rules of pods evaluate the Pods.
type Kind struct {
	// Group is the API group of the kind, such as argoproj.io.
	Group string
	// Versions lists the versions that the cluster serves: [v1alpha1]. Admission reviews can contain any of these
	// versions.
	Versions []string
	// Kind is the kind in manifests: Rollout.
	Kind string
	// Resource is the plural name in admission reviews and webhook configurations: rollouts.
	Resource string
	// Paths lists the paths of PodTemplateSpecs and PodSpecs. The paths do not overlap: no path leads into a value at
	// another path.
	Paths []Path
	// Images lists the paths of single images. They do not overlap with each other or with Paths.
	Images []Path
}

// Name returns the resource with its group, which is the name of its CustomResourceDefinition: rollouts.argoproj.io.
func (t *Kind) Name() string { return t.Resource + "." + t.Group }

// Path is the path from the root of an object to a PodTemplateSpec, a PodSpec or an image. It consists of field names
// and AnyElement.
type Path []string

// AnyElement matches every field of an object and every element of a list.
const AnyElement = "*"

const (
	// maxTemplates is how many entries the block may have. Each entry is a rule of the webhook configuration and a match
	// condition, which the API server evaluates for every object of all entries.
	maxTemplates = 100
	// maxTemplatePaths is how many paths an entry may have, with the paths of images. Each field on the way is compared
	// with all paths. A SparkApplication has two paths, and a RayJob has three.
	maxTemplatePaths = 16
	// maxPathSegments is how many fields a path may have. With request.object before it and spec.containers[].image after
	// it, such a path is as long as the longest path that an error shows (jsonscan's maxPath). The longest known path has
	// six fields.
	maxPathSegments = 10
	// maxTemplateVersions is how many versions an entry may have. Few kinds serve more than two versions.
	maxTemplateVersions = 8
)

// String returns the path as it is written in policies: spec.replicaSpecs.*.template.
func (p Path) String() string { return strings.Join(p, ".") }

// UnmarshalText accepts field names and * with dots between them. It returns an error for a path that begins with *,
// because metadata would be part of it.
func (p *Path) UnmarshalText(b []byte) error {
	segments := slices.Collect(strings.SplitSeq(string(b), ".")) // at most strict.MaxText
	if hint := pathHint(string(b), segments); hint != "" {
		return fmt.Errorf("%s is not a path of templates: %s", text.Quote(b), hint)
	}
	*p = segments
	return nil
}

// pathHint returns what to write in place of an invalid path. It returns an empty string if the path is valid.
func pathHint(path string, segments []string) string {
	for _, s := range segments {
		switch {
		case s == AnyElement || isFieldName(s):
		case s == "":
			return "write names of fields with one dot between them, as in spec.template"
		case strings.ContainsAny(s, "[]"):
			return "write .* for the elements of a list, as in spec.workers.*.template"
		case strings.Contains(s, "*"):
			return "* replaces a whole field or element, as in spec.*.template"
		case strings.ContainsAny(path, "/$"):
			return "write names of fields with dots between them, as in spec.template"
		default:
			return text.Quote(s) + " is not the name of a field: use letters, digits, - and _, at most 63; " +
				"write * for keys that users choose"
		}
	}
	switch last := segments[len(segments)-1]; {
	case len(segments) > maxPathSegments:
		return fmt.Sprintf("it has %d fields, at most %d are read", len(segments), maxPathSegments)
	case segments[0] == AnyElement:
		return "begin it with a field, such as spec"
	case slices.Contains([]string{"apiVersion", "kind", "metadata", "status"}, segments[0]):
		return "no Pods are made from " + segments[0]
	case placeOf(last):
		return "end it at the object that has the field " + last
	}
	return ""
}

// placeOf reports whether a name is the name of a list in a PodSpec that contains images.
func placeOf(name string) bool {
	for place := object.Containers; place <= object.Volumes; place++ {
		if place.String() == name {
			return true
		}
	}
	return false
}

// isFieldName reports whether a text can be the name of a field. jsonscan reads field names of up to 64 bytes.
func isFieldName(s string) bool {
	return s != "" && len(s) <= 63 && !strings.ContainsFunc(s, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_'
	})
}

// within reports whether a value at p can be the value at other or a part of it.
func (p Path) within(other Path) bool {
	if len(p) < len(other) {
		return false
	}
	for i, s := range other {
		if s != p[i] && s != AnyElement && p[i] != AnyElement {
			return false
		}
	}
	return true
}

// conflict returns which of the other paths overlaps with p, as a part of a message. It returns an empty string if no
// path overlaps with p.
func (p Path) conflict(others []Path) string {
	for _, other := range others {
		switch {
		case slices.Equal(p, other):
			return p.String() + " is listed twice"
		case p.within(other):
			return p.String() + " leads into the part that " + other.String() + " reads"
		case other.within(p):
			return other.String() + " leads into the part that " + p.String() + " reads"
		}
	}
	return ""
}

// templatesEntry is an entry of templates as it is written in a policy file.
type templatesEntry struct {
	// Group is the API group of the kind, such as argoproj.io.
	Group crdGroup `yaml:"group,required"`
	// Versions lists the versions that the cluster serves: [v1alpha1].
	Versions []crdLabel `yaml:"versions,required"`
	// Kind is the kind in manifests: Rollout.
	Kind crdKind `yaml:"kind,required"`
	// Resource is the plural name in webhook configurations: rollouts.
	Resource crdLabel `yaml:"resource,required"`
	// Paths lists the paths of Pod templates or Pod specifications, with * for every field or element: [spec.template,
	// "spec.replicaSpecs.*.template"]. Absent: the objects have no Pod templates.
	Paths []Path `yaml:"paths"`
	// Images lists the paths of single images from which the operator creates Pods: ["spec.steps.*.image"]. The rules of
	// pods evaluate these images like the image of a container. Absent: no single images are read.
	Images []Path     `yaml:"images"`
	Pos    strict.Pos `yaml:"-"`
}

// Validate implements strict.Validator.
func (e *templatesEntry) Validate() error {
	var faults strict.Faults
	if block := evaluatedByBlock(string(e.Resource) + "." + string(e.Group)); block != "" {
		faults.Fieldf("resource", "%s.%s is validated by the block %s: leave the entry out", e.Resource, e.Group, block)
	}
	faults.Add(boundedList("versions", e.Versions, maxTemplateVersions))
	all := slices.Concat(e.Paths, e.Images)
	faults.Add(boundedList("paths", all, maxTemplatePaths))
	for i, v := range e.Versions[:min(len(e.Versions), maxTemplateVersions)] {
		if slices.Contains(e.Versions[:i], v) {
			faults.Fieldf("versions", "%s is listed twice: leave one out", v)
		}
	}
	for i, p := range all[:min(len(all), maxTemplatePaths)] {
		if conflict := p.conflict(all[:i]); conflict != "" {
			faults.Fieldf("paths", "%s: leave one out", conflict)
		}
	}
	return faults.Err()
}

// boundedList returns an error for an empty list and for a list with more than most elements.
func boundedList[T any](field string, list []T, most int) error {
	switch {
	case len(list) == 0:
		return strict.Fieldf(field, "[] reads nothing: leave the entry out")
	case len(list) > most:
		return strict.Fieldf(field, "has %d elements; at most %d are read", len(list), most)
	}
	return nil
}

// template returns the entry as a Kind.
func (e *templatesEntry) template() Kind {
	versions := make([]string, len(e.Versions))
	for i, v := range e.Versions {
		versions[i] = string(v)
	}
	return Kind{string(e.Group), versions, string(e.Kind), string(e.Resource), e.Paths, e.Images}
}

// Entries is the templates block of a policy.
type Entries []templatesEntry

// Compile checks the entries against each other, and adds an error for each conflict. It returns the kinds sorted by
// name, because printed output must not change when policy files are moved.
func (ts Entries) Compile(errs *strict.Collector) []Kind {
	if len(ts) > maxTemplates {
		errs.Errorf(ts[maxTemplates].Pos, "templates has %d entries; at most %d are read", len(ts), maxTemplates)
		return nil
	}
	var all []Kind
	resources, kinds := map[string]strict.Pos{}, map[string]strict.Pos{}
	for i := range ts {
		e, t := &ts[i], ts[i].template()
		kind := t.Kind + "." + t.Group
		if first, again := resources[t.Name()]; again {
			errs.Errorf(e.Pos, "%s is in %s: write all of its versions and paths there", t.Name(), first)
			continue
		}
		if first, again := kinds[kind]; again {
			errs.Errorf(e.Pos, "the kind %s is in %s: a kind has one resource", kind, first)
			continue
		}
		resources[t.Name()], kinds[kind] = e.Pos, e.Pos
		all = append(all, t)
	}
	slices.SortFunc(all, func(a, b Kind) int { return strings.Compare(a.Name(), b.Name()) })
	return all
}

// knownImages has a line for each kind whose images are known: the kind with its group, and the paths of its images.
// Lines that begin with # are comments, which cite the sources.
//
//go:embed data/images.txt
var knownImages string

// Warnings returns a warning if no rule evaluates the templates, and for each path of an image that no known version of
// the kind has. pods is the number of active pods entries, including the entries in rule sets. It returns nil for an
// empty block.
func (ts Entries) Warnings(pods int) (warnings strict.Errors) {
	if len(ts) > 0 && pods == 0 {
		warnings = append(warnings, ts[0].Pos.Errorf("no pods entry is active, so no template is validated"))
	}
	for line := range strings.Lines(knownImages) {
		kind, paths, _ := strings.Cut(line, " ")
		known := slices.Collect(strings.FieldsSeq(paths))
		for i := range ts {
			for _, p := range ts[i].Images {
				if string(ts[i].Kind)+"."+string(ts[i].Group) == kind && !slices.ContainsFunc(known, p.leadsTo) {
					warnings = append(warnings, ts[i].Pos.Errorf("images has %s, and no known version of %s has an image there; "+
						"its images are %s", p, kind, text.List(known)))
				}
			}
		}
	}
	return warnings
}

// leadsTo reports whether p can be the path known.
func (p Path) leadsTo(known string) bool {
	return len(p) == strings.Count(known, ".")+1 && p.within(slices.Collect(strings.SplitSeq(known, ".")))
}
