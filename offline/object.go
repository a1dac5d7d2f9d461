package offline

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/internal/text"
)

// Object is a Kubernetes object in the input. Only its header has been parsed.
type Object struct {
	Origin
	APIVersion string
	Kind       string
	Namespace  string // as written; may be empty
	Name       string // or generateName
	JSON       jsontext.Value

	phase string // of its status
	inDir bool   // its file was found in a directory
}

// typeMeta contains the fields that identify the type of an object.
type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// header contains the fields that are read from every object.
type header struct {
	typeMeta
	Metadata struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`
	} `json:"metadata"`
	phase string // from the status; empty if it cannot be read
}

// newObject returns the object in value. fallback is the type of the object if value does not have a type, like the
// items of a PodList.
func newObject(at Origin, value jsontext.Value, fallback typeMeta) (Object, error) {
	head, end, ok := scanHeader(value)
	if !ok || jsonscan.Space(value, end) < len(value) {
		head = header{phase: head.phase}
		if err := json.Unmarshal(value, &head); err != nil {
			return Object{}, &inputError{Origin: at, Err: errors.New(describe(err)), foreign: at.Item == 0 && !isManifest(value)}
		}
	}
	if head.typeMeta == (typeMeta{}) {
		head.typeMeta = fallback
	}
	if at.Item == 0 && isKustomization(at.File) {
		head.Kind = cmp.Or(head.Kind, "Kustomization")
		head.APIVersion = cmp.Or(head.APIVersion, "kustomize.config.k8s.io/v1beta1")
	}
	foreign := at.Item == 0 && !isKind(head.Kind) && !isManifest(value)
	wrong := ""
	switch meta := &head.Metadata; {
	case head.Kind == "":
		wrong = "no kind: a Kubernetes object has a kind, for example kind: Pod"
	case foreign:
		wrong = text.Name(head.Kind) + " is not a kind: a kind begins with a capital letter, for example kind: Pod"
	case head.APIVersion == "":
		wrong = text.Name(head.Kind) + " has no apiVersion: write it next to kind, for example apiVersion: v1"
	default:
		return Object{
			Origin: at, APIVersion: head.APIVersion, Kind: head.Kind, Namespace: meta.Namespace,
			Name: cmp.Or(meta.Name, meta.GenerateName), JSON: value, phase: head.phase,
		}, nil
	}
	return Object{}, &inputError{Origin: at, Err: errors.New(wrong), foreign: foreign}
}

// isManifest reports whether a document is meant as a manifest: it has a metadata mapping or a kind like the kinds of
// Kubernetes. The types of other fields can be wrong.
func isManifest(document jsontext.Value) bool {
	metadata, _ := member(document, "metadata")
	kind, _ := member(document, "kind")
	return metadata.Kind() == '{' || kind.Kind() == '"' && isKind(unquote(kind))
}

// isKind reports whether a text has the form of a Kubernetes kind: a capital letter, followed by letters and digits.
func isKind(s string) bool {
	const capitals, others = "ABCDEFGHIJKLMNOPQRSTUVWXYZ", "abcdefghijklmnopqrstuvwxyz0123456789"
	return s != "" && strings.Trim(s[:1], capitals) == "" && strings.Trim(s, capitals+others) == ""
}

// maxHeader limits the text of a header in bytes. The longest name has 253 bytes. Longer headers are left to the
// decoder.
const maxHeader = 4 << 10

// scanHeader reads the header of the object at the beginning of a text and returns the end of the object. It is
// several times as fast as a decoder. If ok is false, use a decoder, which returns a proper error if the text is
// malformed.
func scanHeader(value []byte) (head header, end int, ok bool) {
	r := jsonscan.New(value, jsonscan.Limits{Text: maxHeader})
	for name := range r.Fields {
		switch string(name) {
		case "apiVersion":
			head.APIVersion = r.String()
		case "kind":
			head.Kind = r.String()
		case "metadata":
			scanMetadata(r, &head)
		case "status":
			head.phase = scanPhase(r)
		}
	}
	return head, r.Pos(), r.Err() == nil
}

// scanPhase returns the phase of a status. It returns an empty string if there is no phase or if the status is not an
// object.
func scanPhase(r *jsonscan.Reader) (phase string) {
	if !r.IsObject() {
		return ""
	}
	for name := range r.Fields {
		if string(name) == "phase" && r.IsString() {
			phase = r.String()
		}
	}
	return phase
}

func scanMetadata(r *jsonscan.Reader, head *header) {
	m := &head.Metadata
	for name := range r.Fields {
		switch string(name) {
		case "name":
			m.Name = r.String()
		case "generateName":
			m.GenerateName = r.String()
		case "namespace":
			m.Namespace = r.String()
		}
	}
}

// Unmarshal decodes the JSON of the object. The error contains the place of the object and the problem.
func (o Object) Unmarshal(into any) error {
	if err := json.Unmarshal(o.JSON, into); err != nil {
		return o.Errorf("%s", describe(err))
	}
	return nil
}

// ParseObject returns the object in a YAML document that the caller has in memory. Errors contain the origin.
func ParseObject(at Origin, document []byte) (Object, error) {
	data, err := yaml.YAMLToJSON(document)
	if err != nil {
		return Object{}, at.Errorf("not YAML: %s", withoutGoValues(err))
	}
	return newObject(at, data, typeMeta{})
}

// ParseJSON returns the object in a piece of JSON at a place of the input. The Object retains value.
func ParseJSON(at Origin, value jsontext.Value) (Object, error) {
	return newObject(at, value, typeMeta{})
}

// isKustomization reports whether a file is a kustomization. A kustomization may leave out kind and apiVersion.
func isKustomization(file string) bool {
	return slices.Contains([]string{"kustomization.yaml", "kustomization.yml", "Kustomization"}, filepath.Base(file))
}

// String returns the object's name in the form that kubectl users know: Deployment team-a/web.
func (o Object) String() string { return Reference(o.Kind, o.Namespace, o.Name) }

// Reference returns the name of an object. namespace and name may be empty.
func Reference(kind, namespace, name string) string {
	switch {
	case name == "" && namespace == "":
		return text.Name(kind)
	case name == "":
		return text.Name(kind) + " in " + text.Name(namespace)
	default:
		return text.Name(kind) + " " + qualifiedName(namespace, name)
	}
}

func qualifiedName(namespace, name string) string {
	if namespace == "" {
		return text.Name(name)
	}
	return text.Name(namespace) + "/" + text.Name(name)
}

// group returns the API group of the object: "" for v1, "apps" for apps/v1.
func (o Object) group() string {
	return o.APIVersion[:max(0, strings.IndexByte(o.APIVersion, '/'))]
}

// field returns the value at path. It returns nil if a field on the path is absent or null.
func field(value jsontext.Value, path ...string) (jsontext.Value, error) {
	for _, name := range path {
		var err error
		if value, err = member(value, name); err != nil || value == nil {
			return nil, err
		}
	}
	return value, nil
}

// member returns a member of a JSON object, or nil if it is absent or null.
func member(value jsontext.Value, name string) (jsontext.Value, error) {
	if value.Kind() != '{' {
		return nil, errors.New("the parent of " + name + " must be an object")
	}
	var members map[string]jsontext.Value
	if err := json.Unmarshal(value, &members); err != nil || members[name].Kind() == 'n' {
		return nil, err
	}
	return members[name], nil
}

// describe returns the problem with JSON, in words for users that wrote YAML.
func describe(err error) string {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		wanted := map[reflect.Kind]string{
			reflect.String: "a string", reflect.Int: "a number", reflect.Slice: "a list",
		}[semantic.GoType.Kind()]
		wanted = cmp.Or(wanted, "an object")
		got, hint := kindWord(semantic.JSONKind), ""
		if strings.HasPrefix(string(semantic.JSONPointer), "/metadata/") {
			hint = quoteHint(wanted, got)
		}
		return fmt.Sprintf("%s is %s, but must be %s%s", dotted(semantic.JSONPointer), got, wanted, hint)
	}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON is truncated: it ends before the object does"
	case !ok:
		return err.Error()
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "the field " + dotted(syntactic.JSONPointer) + " is set twice: keep one"
	}
	return "not JSON: " + syntactic.Err.Error()
}

// quoteHint returns advice about a value that YAML does not read as a string.
func quoteHint(wanted, got string) string {
	const words = ": put it in quotes, because YAML reads n, y, no, yes, off and on as booleans"
	return map[string]string{
		"a string, a boolean": words, "a string, true or false": words,
		"a string, a number": ": put it in quotes",
	}[wanted+", "+got]
}

// dotted writes a JSON Pointer in the form that Kubernetes uses for fields: spec.containers[0].image.
func dotted(p jsontext.Pointer) string {
	var b strings.Builder
	for token := range p.Tokens() {
		if _, err := strconv.Atoi(token); err == nil {
			b.WriteString("[" + token + "]")
		} else {
			b.WriteString("." + token)
		}
	}
	return strings.TrimPrefix(b.String(), ".")
}

func kindWord(k jsontext.Kind) string {
	return map[jsontext.Kind]string{
		'{': "an object", '[': "a list", '"': "a string", '0': "a number", 't': "a boolean", 'f': "a boolean", 'n': "null",
	}[k]
}
