package schema

import (
	"bytes"
	"compress/gzip"
	_ "embed"
	"fmt"
	"io"
)

//go:generate go run ./generate ../..

// policySchema is docs/policy.schema.json, compressed to an eighth of its size, because the binary seldom shows it. It
// is in this directory because the image is built without docs.
//
//go:embed policy.schema.json.gz
var policySchema []byte

// Policy returns the JSON Schema of policy files.
func Policy() ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(policySchema))
	if err != nil {
		return nil, fmt.Errorf("read the schema of policies: %w", err)
	}
	return io.ReadAll(r)
}
