package offline

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"sigs.k8s.io/yaml"

	"github.com/evergate/evergate/internal/jsonscan"
	"github.com/evergate/evergate/internal/text"
)

// Object is a Kubernetes object of the input: found, not yet understood.
type Object struct {
	Origin
	APIVersion string
	Kind       string
	Namespace  string // as written; may be empty
	Name       string // or generateName
	JSON       jsontext.Value

	phase string // of its status
	inDir bool   // it was found in a directory, and its file was not named itself
}

// typeMeta is what says which kind of object a piece of JSON is.
type typeMeta struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

// header is what is read of any object.
type header struct {
	typeMeta
	Metadata struct {
		Name         string `json:"name"`
		GenerateName string `json:"generateName"`
		Namespace    string `json:"namespace"`
	} `json:"metadata"`
	phase string // of the status; empty where that cannot be read
}

// newObject returns the object in value. Where value has no kind, as the items of a PodList have none, fallback is its
// type.
func newObject(at Origin, value jsontext.Value, fallback typeMeta) (Object, error) {
	head, end, ok := scanHeader(value)
	if !ok || jsonscan.Space(value, end) < len(value) {
		head = header{phase: head.phase}
		if err := json.Unmarshal(value, &head); err != nil {
			return Object{}, &inputError{Origin: at, Err: errors.New(describe(err)), foreign: true}
		}
	}
	return head.object(at, value, fallback)
}

// object returns the object in value, which has the header.
func (head *header) object(at Origin, value jsontext.Value, fallback typeMeta) (Object, error) {
	if head.typeMeta == (typeMeta{}) {
		head.typeMeta = fallback
	}
	if head.Kind == "" && isKustomization(at.File) {
		head.typeMeta = typeMeta{"kustomize.config.k8s.io/v1beta1", "Kustomization"}
	}
	switch {
	case head.Kind == "":
		const none = "no kind: a Kubernetes object says what it is, as in kind: Pod"
		cases, _ := member(value, "cases")
		return Object{}, &inputError{Origin: at, Err: errors.New(none), foreign: true, suite: cases != nil}
	case head.APIVersion == "":
		return Object{}, at.Errorf("%s has no apiVersion: write it beside kind, as in apiVersion: v1", text.Name(head.Kind))
	}
	name := head.Metadata.Name
	if name == "" {
		name = head.Metadata.GenerateName
	}
	return Object{
		Origin: at, APIVersion: head.APIVersion, Kind: head.Kind, Namespace: head.Metadata.Namespace, Name: name,
		JSON: value, phase: head.phase,
	}, nil
}

// maxHeader bounds the text of a header: the longest name has 253 bytes. A longer one is left to the decoder.
const maxHeader = 4 << 10

// scanHeader reads the header of the object that a text begins with, at several times the speed of a decoder, and
// returns where the object ends. Where it is not ok, a decoder says what is wrong, if anything is.
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

// scanPhase returns the phase of a status; empty where the status has none, or is something else.
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

// Unmarshal decodes the object's JSON. The error says where it stands, and what is wrong.
func (o Object) Unmarshal(into any) error {
	if err := json.Unmarshal(o.JSON, into); err != nil {
		return o.Errorf("%s", describe(err))
	}
	return nil
}

// ParseObject returns the object that a YAML document is, for callers that have it in memory. Errors name its origin.
func ParseObject(at Origin, document []byte) (Object, error) {
	data, err := yaml.YAMLToJSONStrict(document)
	if err != nil {
		return Object{}, at.Errorf("not YAML: %s", withoutGoValues(err))
	}
	return newObject(at, data, typeMeta{})
}

// ParseJSON returns the object in JSON that stands at a place of the input. It keeps value.
func ParseJSON(at Origin, value jsontext.Value) (Object, error) {
	return newObject(at, value, typeMeta{})
}

// isKustomization reports whether a file is kustomize's own, in which kind and apiVersion may be left out.
func isKustomization(file string) bool {
	name := filepath.Base(file)
	return name == "kustomization.yaml" || name == "kustomization.yml"
}

// String names the object as kubectl's users do: Deployment team-a/web.
func (o Object) String() string { return reference(o.Kind, o.Namespace, o.Name) }

// reference names an object; namespace and name may be empty.
func reference(kind, namespace, name string) string {
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

// group is the API group of the object: "" for v1, "apps" for apps/v1.
func (o Object) group() string {
	group, _, ok := strings.Cut(o.APIVersion, "/")
	if !ok {
		return ""
	}
	return group
}

// field returns the value at path, and nil where there is none on the way there: an absent field, a null.
func field(value jsontext.Value, path ...string) (jsontext.Value, error) {
	for _, name := range path {
		var err error
		if value, err = member(value, name); err != nil || value == nil {
			return nil, err
		}
	}
	return value, nil
}

// member returns the member of a JSON object, nil when it is absent or null.
func member(value jsontext.Value, name string) (jsontext.Value, error) {
	dec := jsontext.NewDecoder(bytes.NewReader(value))
	if dec.PeekKind() != '{' {
		return nil, errors.New("an object is expected where " + name + " is looked for")
	}
	if _, err := dec.ReadToken(); err != nil {
		return nil, err
	}
	for dec.PeekKind() == '"' {
		token, err := dec.ReadToken()
		if err != nil {
			return nil, err
		}
		if token.String() != name {
			if err := dec.SkipValue(); err != nil {
				return nil, err
			}
			continue
		}
		found, err := dec.ReadValue()
		if err != nil || found.Kind() == 'n' {
			return nil, err
		}
		return found.Clone(), nil
	}
	_, err := dec.ReadToken() // the closing brace, or what is wrong in its place
	return nil, err
}

// describe returns what is wrong with JSON, in words for users that wrote YAML.
func describe(err error) string {
	if semantic, ok := errors.AsType[*json.SemanticError](err); ok {
		wanted := "an object"
		switch semantic.GoType.Kind() {
		case reflect.String:
			wanted = "a string"
		case reflect.Int:
			wanted = "a number"
		case reflect.Slice:
			wanted = "a list"
		}
		return fmt.Sprintf("%s is %s, which cannot be: %s belongs there",
			dotted(semantic.JSONPointer), kindWord(semantic.JSONKind), wanted)
	}
	syntactic, ok := errors.AsType[*jsontext.SyntacticError](err)
	switch {
	case !ok:
		return err.Error()
	case errors.Is(err, io.ErrUnexpectedEOF):
		return "the JSON is truncated: it ends before the object does"
	case errors.Is(err, jsontext.ErrDuplicateName):
		return "the field " + dotted(syntactic.JSONPointer) + " stands there twice: keep one"
	}
	return "not JSON: " + syntactic.Err.Error()
}

// dotted writes a JSON Pointer as Kubernetes writes fields: spec.template.
func dotted(p jsontext.Pointer) string { return strings.Join(slices.Collect(p.Tokens()), ".") }

func kindWord(k jsontext.Kind) string {
	switch k {
	case '{':
		return "an object"
	case '[':
		return "a list"
	case '"':
		return "a string"
	case '0':
		return "a number"
	case 't', 'f':
		return "a boolean"
	}
	return "null"
}
