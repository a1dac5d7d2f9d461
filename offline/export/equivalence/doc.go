// Package equivalence compares Evergate's decisions with the output of evergate export, evaluated by the API server's
// code and by an API server that e2e/kit starts. It contains only tests.
package equivalence
