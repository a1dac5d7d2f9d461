// Package suiterunner runs test suites for policies. It decides with package offline, which uses the code of the
// webhook, so tests and the server always agree.
//
//	find.go      directories → suites
//	run.go       suite → cases → decisions
//	compare.go   decision and expectation → difference
//	coverage.go  the entries of a policy that no case has reached
//	report.go    the report; text.go for users, cases.go for CI
package suiterunner
