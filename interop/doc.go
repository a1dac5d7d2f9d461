// Package interop compares what evergate export writes, evaluated by the API server's own code, with what Evergate
// decides. It has tests only.
package interop
