package deploy

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	kjson "sigs.k8s.io/json"

	"github.com/evergate/evergate/internal/text"
)

// maxFaults is how many wrong fields of one object are reported. In a file of another kind, all fields would be
// wrong.
const maxFaults = 10

// faults finds the fields of an object that cannot be decoded. Go's errors do not contain the index of a list
// element. Errors of types with their own syntax, such as quantities, do not contain the field at all. So each value
// is decoded separately in its place.
type faults struct {
	into  reflect.Type // the type that o points to
	found []string
}

// faultsIn returns the problems of an object that cannot be decoded as the type of o, in the form: FIELD is VALUE:
// write ….
func faultsIn(data []byte, o object) []string {
	var tree any
	if err := kjson.UnmarshalCaseSensitivePreserveInts(data, &tree); err != nil {
		return []string{err.Error()}
	}
	f := faults{into: reflect.TypeOf(o).Elem()}
	f.walk("", tree, func(v any) any { return v })
	if len(f.found) > maxFaults {
		f.found = append(f.found[:maxFaults], "and more")
	}
	return f.found
}

// walk finds the faults in a value. in returns the whole object with only this value in its place.
func (f *faults) walk(path string, value any, in func(any) any) {
	err := f.decode(in(value))
	if err == nil || len(f.found) > maxFaults {
		return
	}
	before := len(f.found)
	switch v := value.(type) {
	case map[string]any:
		if f.decode(in(map[string]any{})) == nil {
			for _, key := range slices.Sorted(maps.Keys(v)) {
				f.walk(join(path, key), v[key], func(x any) any { return in(map[string]any{key: x}) })
			}
		}
	case []any:
		if f.decode(in([]any{})) == nil {
			for i := range v {
				f.walk(fmt.Sprintf("%s[%d]", path, i), v[i], func(x any) any { return in([]any{x}) })
			}
		}
	}
	if len(f.found) == before {
		f.found = append(f.found, fmt.Sprintf("%s is %s: write %s", path, written(value), wanted(err, value)))
	}
}

func (f *faults) decode(tree any) error {
	data, err := json.Marshal(tree)
	if err != nil {
		return err
	}
	return kjson.UnmarshalCaseSensitivePreserveInts(data, reflect.New(f.into).Interface())
}

// join appends the name of a field, or the key of a map, to a path.
func join(path, key string) string {
	switch {
	case strings.ContainsAny(key, "./[]"):
		return path + "[" + text.Truncate(key, text.Short) + "]"
	case path == "":
		return text.Truncate(key, text.Short)
	}
	return path + "." + text.Truncate(key, text.Short)
}

// written formats a value for a sentence.
func written(value any) string {
	switch v := value.(type) {
	case map[string]any:
		return "an object"
	case []any:
		return "a list"
	case string:
		return text.Quote(v)
	}
	return fmt.Sprint(value)
}

// wanted describes a correct value for a field that cannot be decoded.
func wanted(err error, value any) string {
	var mismatch *json.UnmarshalTypeError
	var badTime *time.ParseError
	var notBase64 base64.CorruptInputError
	switch {
	case errors.Is(err, resource.ErrFormatWrong), errors.Is(err, resource.ErrNumeric), errors.Is(err, resource.ErrSuffix):
		return "a quantity such as 100m, 2 or 512Mi"
	case errors.As(err, &badTime):
		return "a time such as 2026-11-01T12:00:00Z"
	case errors.As(err, &notBase64):
		return "base64"
	case strings.Contains(err.Error(), "time: "):
		return "a duration such as 30s or 2160h"
	case errors.As(err, &mismatch):
		return wantedType(mismatch.Type, value)
	}
	return "a value that can be read: " + err.Error()
}

func wantedType(t reflect.Type, value any) string {
	switch t.Kind() {
	case reflect.Bool:
		return "true or false"
	case reflect.Int, reflect.Int32, reflect.Int64, reflect.Uint16, reflect.Uint32:
		if _, number := value.(int64); number {
			return "a smaller number"
		}
		return "a whole number"
	case reflect.String:
		switch value.(type) {
		case map[string]any, []any:
			return "a string"
		}
		return fmt.Sprintf("a string: %q", fmt.Sprint(value))
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Map, reflect.Struct:
		return "an object"
	}
	return "another type"
}

// strictFault turns the error of a strict decoder about an object of the type of o into a sentence. The error has the
// form: unknown field "spec.replica".
func strictFault(err error, kind string, o object) string {
	_, quoted, _ := strings.Cut(err.Error(), "unknown field ")
	path, unquoteErr := strconv.Unquote(quoted)
	if unquoteErr != nil {
		return err.Error()
	}
	parent, name := "", path
	if i := strings.LastIndexByte(path, '.'); i >= 0 {
		parent, name = path[:i+1], path[i+1:]
	}
	sentence := text.Truncate(path, text.Short) + " is not a field of " + kind
	if meant := text.Nearest(name, fieldNames(reflect.TypeOf(o), parent)); meant != "" {
		return sentence + ": did you mean " + meant + "?"
	}
	return sentence + ": remove it, or see where it belongs: kubectl explain " + strings.ToLower(kind) +
		strings.TrimSuffix("."+indexes.ReplaceAllString(parent, ""), ".")
}

// fieldNames lists the fields that a type has at a path. A path that is not empty ends with a dot.
func fieldNames(t reflect.Type, path string) []string {
	for name := range strings.SplitSeq(strings.TrimSuffix(indexes.ReplaceAllString(path, ""), "."), ".") {
		if name == "" {
			break
		}
		if t = fieldsOf(t)[name]; t == nil {
			return nil
		}
	}
	return slices.Sorted(maps.Keys(fieldsOf(t)))
}

// indexes matches list indexes in a path.
var indexes = regexp.MustCompile(`\[\d+\]`)

// fieldsOf returns the fields of a struct by their JSON names. It looks through pointers and lists.
func fieldsOf(t reflect.Type) map[string]reflect.Type {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	fields := map[string]reflect.Type{}
	if t.Kind() != reflect.Struct {
		return fields
	}
	for f := range t.Fields() {
		if name, _, _ := strings.Cut(f.Tag.Get("json"), ","); name != "" && name != "-" {
			fields[name] = f.Type
		} else if f.Anonymous {
			maps.Copy(fields, fieldsOf(f.Type))
		}
	}
	return fields
}
