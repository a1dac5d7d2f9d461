// Command generate writes docs/policy.schema.json, the JSON Schema of policy files, and the compressed copy in
// internal/schema. Names, required fields, types and words are the decoder's. Descriptions are the doc comments of
// fields. Examples come from docs/policy and examples/policies.
package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/evergate/evergate/internal/schema"
)

// The files that are generated, in the repository.
const (
	schemaFile = "docs/policy.schema.json"
	embedded   = "internal/schema/policy.schema.json.gz"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: generate REPOSITORY")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// write writes the files in a repository.
func write(repository string) error {
	files, err := generate(repository)
	if err != nil {
		return err
	}
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(repository, name), data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// generate returns the contents of the files, by their names in the repository. A field without a doc comment or
// without an example is an error.
func generate(repository string) (map[string][]byte, error) {
	m, err := newMaker(repository)
	if err != nil {
		return nil, err
	}
	root, err := m.root()
	if err != nil {
		return nil, err
	}
	if len(m.undocumented) > 0 {
		return nil, fmt.Errorf("these fields have no doc comment: %s", strings.Join(m.undocumented, ", "))
	}
	if len(m.withoutExample) > 0 {
		return nil, fmt.Errorf("docs/policy has no example of these fields: %s", strings.Join(m.withoutExample, ", "))
	}
	data, err := encode(root)
	if err != nil {
		return nil, err
	}
	small, err := compress(data)
	return map[string][]byte{schemaFile: data, embedded: small}, err
}

func encode(s *schema.Schema) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ") // one space, because the file is part of the binary
	err := enc.Encode(s)
	return b.Bytes(), err
}

// compress returns the same bytes for the same data, because it does not write a time.
func compress(data []byte) ([]byte, error) {
	var b bytes.Buffer
	w, err := gzip.NewWriterLevel(&b, gzip.BestCompression)
	if err != nil {
		return nil, err
	}
	_, err = w.Write(data)
	err = errors.Join(err, w.Close())
	return b.Bytes(), err
}
