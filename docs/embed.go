// Package docs contains files of this directory that programs read. Its tests check the pages and the comments in
// the code.
package docs

import _ "embed"

// PolicySchema is the JSON Schema of policy files. internal/schema/generate writes it.
//
//go:embed policy.schema.json
var PolicySchema []byte
