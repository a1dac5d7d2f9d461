// Package interop compares what evergate export writes, evaluated by the API server's own code, and by an API server
// that e2e/kit starts, with what Evergate decides. It has tests only.
package interop
