package export

import (
	"maps"
	"slices"

	"github.com/evergate/evergate/policy"
)

// take returns the value of a field, or nil if the entry does not have the field, and sets it to nil. Fields that
// remain are not supported.
func take(fields policy.Fields, name string) any {
	value := fields[name]
	if value != nil {
		fields[name] = nil
	}
	return value
}

// takeTexts takes a field with a list of strings. ok is false if the entry does not have the field.
func takeTexts(fields policy.Fields, name string) (list []string, ok bool) {
	value := take(fields, name)
	return texts(value), value != nil
}

// blockOf returns the fields in a field, or nil if the entry does not have the field. They are taken one by one.
func blockOf(fields policy.Fields, name string) policy.Fields {
	block, _ := fields[name].(policy.Fields)
	return block
}

// remaining returns the paths of the fields that have not been taken, sorted.
func remaining(fields policy.Fields) (paths []string) {
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		block, _ := fields[name].(policy.Fields)
		if fields[name] != nil && len(block) == 0 {
			paths = append(paths, name)
		}
		for _, path := range remaining(block) {
			paths = append(paths, name+"."+path)
		}
	}
	return paths
}

// cloneFields copies fields so that they can be taken from the copy.
func cloneFields(fields policy.Fields) policy.Fields {
	fields = maps.Clone(fields)
	for name, value := range fields {
		if block, ok := value.(policy.Fields); ok {
			fields[name] = cloneFields(block)
		}
	}
	return fields
}

// blocks returns a list of mappings.
func blocks(value any) []policy.Fields {
	list, _ := value.([]any)
	all := make([]policy.Fields, len(list))
	for i, element := range list {
		all[i], _ = element.(policy.Fields)
	}
	return all
}

// texts returns a list of strings.
func texts(value any) []string {
	list, _ := value.([]any)
	all := make([]string, len(list))
	for i, element := range list {
		all[i], _ = element.(string)
	}
	return all
}
