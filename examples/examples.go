// Package examples contains policies, manifests and reviews for trying Evergate. The output of `evergate review` for
// each manifest is in a file next to it.
package examples

import (
	"bytes"
	_ "embed"
)

//go:embed policies/dev.yaml
var devPolicy []byte

// DevPolicy returns the policy file of `evergate serve --dev`.
func DevPolicy() []byte { return bytes.Clone(devPolicy) }
