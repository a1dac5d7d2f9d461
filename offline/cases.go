package offline

import (
	"cmp"
	"fmt"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
)

// inputRule is the rule ID for input that could not be read or understood.
const inputRule = "input"

// Cases returns the report for CI formats such as JUnit and SARIF, with one case for each object and each error. A
// finding is placed at the line of its field. To find the line, Cases reads the file again.
func (r *Report) Cases() []output.Case { return r.cases(reopen) }

// CasesIn is Cases for objects that were read from one text, which is not in a file.
func (r *Report) CasesIn(text []byte) []output.Case {
	return r.cases(func(string) *yamlSplitter { return splitterOf(text) })
}

func (r *Report) cases(open func(file string) *yamlSplitter) []output.Case {
	find := locator{open: open}
	cases := make([]output.Case, 0, len(r.Results)+len(r.failed))
	for i := range r.Results {
		cases = append(cases, r.Results[i].toCase(&find, r.explain))
	}
	if r.Summary.NoNamespace > 0 {
		message := fmt.Sprintf(noNamespace, text.Thousands(r.Summary.NoNamespace))
		cases = append(cases, output.Case{Suite: inputRule, Name: "namespace", Results: []output.Result{
			{Level: output.Note, Rule: inputRule, Subject: "namespace", Message: message},
		}})
	}
	for _, err := range r.failed {
		c := output.Case{Suite: inputRule, Name: inputRule}
		if in, ok := asInputError(err); ok {
			c.Suite, c.Name = in.File, "document "+in.Origin.String()
			c.Place = output.Place{File: in.File, Line: in.Line}
		}
		c.Results = []output.Result{{Level: output.Invalid, Rule: inputRule, Message: err.Error()}}
		cases = append(cases, c)
	}
	return cases
}

// toCase returns the case of an object. Exempt findings are included only if the report explains.
func (r *Result) toCase(find *locator, explain bool) output.Case {
	c := output.Case{Suite: r.at.File, Name: Reference(r.Kind, r.Namespace, r.Name)}
	if c.Suite == "" {
		c.Suite = cmp.Or(r.Namespace, "cluster")
	}
	if len(r.Findings)+len(r.Images) > 0 {
		c.Place = find.place(r.at, r.root)
	}
	add := func(level output.Level, rule, path, message string) {
		c.Results = append(c.Results, output.Result{
			Level: level, Rule: rule, Subject: subject(c.Name, path), Message: message, Place: find.place(r.at, r.root+path),
		})
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		if f.Effect != Exempt || explain {
			add(f.level(), f.ID, f.Path, f.String())
		}
	}
	for i := range r.Images {
		switch image := &r.Images[i]; {
		case image.Effect == Warning:
			add(output.Warning, image.ID(), image.Path, image.String())
		case image.Outcome == outside:
			add(output.Note, image.ID(), image.Path, image.String())
		}
	}
	return c
}

// level returns the severity of a finding. A finding that gets the Pods of a workload denied is an error, like a
// denial.
func (f *Finding) level() output.Level {
	switch {
	case f.Effect == Denial, f.Effect == Duplicate, f.PodsDenied:
		return output.Error
	case f.Effect == Warning:
		return output.Warning
	default:
		return output.Note
	}
}
