package suiterunner

import (
	"maps"
	"slices"
	"strings"

	"github.com/evergate/evergate/offline"
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
	duplicate := func(f offline.Finding) bool { return f.Effect == offline.Duplicate }
	if c.Warned == nil && slices.ContainsFunc(r.Findings, duplicate) { // mode enforce: the case must expect it
		says = append(says, suite.FieldWarned)
	}
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
		if f := &r.Findings[i]; f.Effect != offline.Audited && f.Effect != offline.Exempt {
			told = append(told, string(f.Effect)+": "+f.String())
		}
	}
	for i := range r.Images {
		if image := &r.Images[i]; image.Effect == offline.Warning {
			told = append(told, string(image.Effect)+": "+image.String())
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
		case offline.Warning, offline.Duplicate:
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

// diff returns the given fields of the expectation and of the decision. The decision is shown only for images that are
// in the expectation.
func diff(fields []string, expected, decided *suite.Expect) string {
	shown := *decided
	shown.Images = maps.Clone(decided.Images)
	maps.DeleteFunc(shown.Images, func(place, _ string) bool { _, asked := expected.Images[place]; return !asked })
	var b strings.Builder
	b.WriteString("--- expected\n+++ decided\n")
	for _, field := range fields {
		for line := range strings.Lines(textOf(field, expected)) {
			b.WriteString("-" + line)
		}
		for line := range strings.Lines(textOf(field, &shown)) {
			b.WriteString("+" + line)
		}
	}
	return b.String()
}

// textOf returns a field in the syntax of a suite. The lines of a message are not quoted.
func textOf(field string, e *suite.Expect) string {
	if field == suite.FieldMessage {
		return "message: " + strings.TrimSuffix(e.Message, "\n") + "\n"
	}
	return e.YAML(field)
}
