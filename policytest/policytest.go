// Package policytest runs suites of tests for policies. It decides with the code that answers kube-apiserver, by
// package offline, so that a test and the server agree.
//
//	find.go      directories → suites
//	run.go       suite → cases → decisions
//	compare.go   decision and expectation → what differs
//	coverage.go  which entries of a policy no case has reached
//	report.go    the report; text.go for users, cases.go for pipelines
//	update.go    what is decided becomes what is expected
package policytest
