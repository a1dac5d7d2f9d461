package suiterunner

import (
	"slices"
	"strings"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/linediff"
	"github.com/evergate/evergate/policy/suite"
)

// warned is the decision about an object that is allowed with a warning.
const warned = "warned"

// compare compares the decision about a case with its expectation.
func compare(c *suite.Case, r *offline.Result) Case {
	told := sentences(r)
	decided := decisionOf(r, told)
	result := Case{
		Name: c.Name, Line: c.Place.Line, Column: c.Place.Column, Decision: word(r, &decided), decided: decided,
	}
	says := c.Says()
	result.nothing = len(says) == 0
	for _, field := range says {
		if !holds(field, &c.Expect, &decided) {
			result.Differs = append(result.Differs, field)
		}
	}
	result.Passed = len(result.Differs) == 0 && !result.nothing
	if result.Passed {
		return result
	}
	result.Findings = told
	if len(result.Differs) > 0 {
		result.Diff = diff(result.Differs, &c.Expect, &decided)
	}
	return result
}

// sentences returns the denials and warnings that a user sees.
func sentences(r *offline.Result) []string {
	var told []string
	for i := range r.Findings {
		if f := &r.Findings[i]; f.Effect == offline.Denial || f.Effect == offline.Warning {
			told = append(told, string(f.Effect)+": "+f.Sentence())
		}
	}
	for i := range r.Images {
		if image := &r.Images[i]; image.Effect == offline.Warning {
			told = append(told, string(image.Effect)+": "+image.Sentence())
		}
	}
	return told
}

// decisionOf returns the decision with the fields of a suite.
func decisionOf(r *offline.Result, told []string) suite.Expect {
	allowed := r.Decision != offline.Denied
	e := suite.Expect{
		Allowed: &allowed, Denied: []string{}, Warned: []string{}, Images: map[string]string{},
		Message: strings.Join(told, "\n"),
	}
	for _, f := range r.Findings {
		switch f.Effect {
		case offline.Denial:
			e.Denied = append(e.Denied, f.ID)
		case offline.Warning:
			e.Warned = append(e.Warned, f.ID)
		}
	}
	for i := range r.Images {
		image := &r.Images[i]
		if image.Effect == offline.Warning {
			e.Warned = append(e.Warned, image.ID())
		}
		key := image.Container
		if _, taken := e.Images[key]; taken { // from another template
			key = image.Path
		}
		e.Images[key] = image.Pulled()
	}
	e.Denied, e.Warned = unique(e.Denied), unique(e.Warned)
	return e
}

func unique(ids []string) []string {
	slices.Sort(ids)
	return slices.Compact(ids)
}

// word returns the decision as one word.
func word(r *offline.Result, decided *suite.Expect) string {
	if r.Decision == offline.Allowed && len(decided.Warned) > 0 {
		return warned
	}
	return string(r.Decision)
}

// holds reports whether a field of the expectation matches the decision.
func holds(field string, expected, decided *suite.Expect) bool {
	switch field {
	case suite.FieldAllowed:
		return *expected.Allowed == *decided.Allowed
	case suite.FieldDenied:
		return slices.Equal(unique(slices.Clone(expected.Denied)), decided.Denied)
	case suite.FieldWarned:
		return slices.Equal(unique(slices.Clone(expected.Warned)), decided.Warned)
	case suite.FieldImages:
		for place, image := range expected.Images {
			if pulled, ok := decided.Images[place]; !ok || pulled != image {
				return false
			}
		}
		return true
	default:
		return strings.Contains(decided.Message, expected.Message)
	}
}

// diff returns the difference between the expectation and the decision in the given fields.
func diff(fields []string, expected, decided *suite.Expect) string {
	return linediff.Unified("expected", "decided", textOf(fields, expected, nil), textOf(fields, decided, expected.Images))
}

// textOf returns fields in the syntax of a suite. If asked is not nil, only the images in asked are included.
func textOf(fields []string, e *suite.Expect, asked map[string]string) []byte {
	shown := *e
	if asked != nil {
		shown.Images = map[string]string{}
		for place, image := range e.Images {
			if _, ok := asked[place]; ok {
				shown.Images[place] = image
			}
		}
	}
	var b strings.Builder
	for _, field := range fields {
		lines := shown.Lines(field)
		if field == suite.FieldMessage {
			lines = strings.SplitAfter(shown.Message, "\n")
			lines[0] = "message: " + lines[0]
		}
		for _, line := range lines {
			b.WriteString(strings.TrimSuffix(line, "\n") + "\n")
		}
	}
	return []byte(b.String())
}
