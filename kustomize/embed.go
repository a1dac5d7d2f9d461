// Package kustomize contains manifests of this directory that programs compare with the objects of a cluster.
package kustomize

import _ "embed"

// OptInGuard has the admission policies that restrict who may exempt a namespace, and their bindings.
//
//go:embed base/opt-in-guard.yaml
var OptInGuard []byte
