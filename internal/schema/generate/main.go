// Command generate writes docs/policy.schema.json, the JSON Schema of policy files. Names, required fields, types and
// words are the decoder's. Descriptions are the doc comments of fields. Examples come from docs/policy and
// examples/policies.
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// schemaFile is the generated file in the repository.
const schemaFile = "docs/policy.schema.json"

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate REPOSITORY")
		os.Exit(2)
	}
	data, err := generate(os.Args[1])
	if err == nil {
		err = os.WriteFile(filepath.Join(os.Args[1], schemaFile), data, 0o644)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// generate returns the schema as JSON. A field without a doc comment or without an example is an error.
func generate(repository string) ([]byte, error) {
	m, err := newMaker(repository)
	if err != nil {
		return nil, err
	}
	root := m.root()
	if len(m.undocumented) > 0 {
		return nil, fmt.Errorf("these fields have no doc comment: %s", strings.Join(m.undocumented, ", "))
	}
	if len(m.withoutExample) > 0 {
		return nil, fmt.Errorf("docs/policy has no example of these fields: %s", strings.Join(m.withoutExample, ", "))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ") // one space, because the file is part of the binary
	err = enc.Encode(root)
	return b.Bytes(), err
}
