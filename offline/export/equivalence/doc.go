// Package equivalence compares Evergate's decisions with the output of evergate export, evaluated by the API server's
// code and by a real API server. It contains only tests.
package equivalence
