// Package docs holds what of the documentation the binary shows.
package docs

import (
	"bytes"
	_ "embed"
)

//go:embed policy.schema.json
var policySchema []byte

// PolicySchema returns the JSON Schema of policy files. go test ./policy -update writes it.
func PolicySchema() []byte { return bytes.Clone(policySchema) }
