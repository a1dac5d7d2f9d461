package suiterunner

import "github.com/evergate/evergate/offline/output"

// Cases returns the report for CI formats such as JUnit and SARIF.
func (r *Report) Cases() []output.Case {
	var cases []output.Case
	for i := range r.Suites {
		s := &r.Suites[i]
		for j := range s.Cases {
			c := &s.Cases[j]
			shown := output.Case{Suite: s.File, Name: c.Name, Place: output.Place{File: s.File, Line: c.Line, Column: c.Column}}
			switch {
			case c.Error != "":
				shown.Results = []output.Result{{
					Level: output.Invalid, Rule: "test", Subject: c.Name, Message: c.Name + ": not run: " + c.Error,
				}}
			case !c.Passed:
				shown.Results = []output.Result{{
					Level: output.Error, Rule: "test", Subject: c.Name, Message: c.Name + "\n" + c.failure(),
				}}
			}
			cases = append(cases, shown)
		}
	}
	level := output.Warning
	if r.RequireCoverage {
		level = output.Error
	}
	for i := range r.Coverage {
		of := &r.Coverage[i]
		shown := output.Case{Suite: of.Policy, Name: "coverage"}
		for j := range of.Missing {
			e := &of.Missing[j]
			shown.Results = append(shown.Results, output.Result{
				Level: level, Rule: "coverage", Subject: e.Block + "/" + e.Name,
				Message: "no case reaches the " + e.Block + " entry " + e.Name,
				Place:   output.Place{File: e.File, Line: e.Line, Column: e.Column},
			})
		}
		cases = append(cases, shown)
	}
	for _, line := range r.failed {
		cases = append(cases, output.Case{Suite: "input", Name: line, Results: []output.Result{
			{Level: output.Invalid, Rule: "input", Subject: line, Message: line},
		}})
	}
	return cases
}
