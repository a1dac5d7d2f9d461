package deploy

import (
	"regexp"
	"strconv"

	"github.com/evergate/evergate/offline/output"
)

// Cases returns the report for the formats of pipelines, with a case for each check that was run.
func (r *Report) Cases() []output.Case {
	byID := map[string]*output.Case{}
	cases := make([]output.Case, len(r.checked))
	for i, id := range r.checked {
		cases[i] = output.Case{Suite: "preflight", Name: id}
		byID[id] = &cases[i]
	}
	for i := range r.Findings {
		f := &r.Findings[i]
		c := byID[f.ID]
		message := f.Message
		if f.Severity != Info {
			message += "\nwhy: " + f.Why + "\nfix: " + f.Fix
		}
		c.Results = append(c.Results, output.Result{
			Level: f.Severity.level(), Rule: f.ID, Subject: printable(f.Object), Message: printable(f.Object) + ": " + message,
			Help: f.Why, Place: placeOf(f.Source),
		})
	}
	return cases
}

func (s Severity) level() output.Level {
	switch s {
	case Error:
		return output.Error
	case Warning:
		return output.Warning
	default:
		return output.Note
	}
}

// fileLine matches Finding.Source.
var fileLine = regexp.MustCompile(`^(.+):(\d+)(: item \d+)?$`)

func placeOf(source string) output.Place {
	m := fileLine.FindStringSubmatch(source)
	if m == nil {
		return output.Place{File: source}
	}
	line, _ := strconv.Atoi(m[2]) // the pattern matches only digits
	return output.Place{File: m[1], Line: line, Column: 1}
}
