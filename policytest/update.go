package policytest

import (
	"maps"
	"os"
	"slices"

	"github.com/evergate/evergate/policy/suite"
)

// Update writes what is decided into the suites whose cases failed, as what they expect from now on, and returns the
// suites that it has written. A case that expects nothing gets whether it is allowed, what denies it, what is warned
// of, and which images are rewritten.
func (r *Report) Update() (written []string, err error) {
	for i := range r.Suites {
		s := &r.Suites[i]
		var changes []suite.Change
		for j := range s.Cases {
			if c := &s.Cases[j]; !c.Passed {
				changes = append(changes, c.change(&s.suite.Cases[c.at]))
			}
		}
		if len(changes) == 0 {
			continue
		}
		text, err := s.suite.Update(changes)
		if err != nil {
			return written, err
		}
		info, err := os.Stat(s.suite.File)
		if err == nil {
			err = os.WriteFile(s.suite.File, text, info.Mode().Perm())
		}
		if err != nil {
			return written, err
		}
		written = append(written, s.File)
	}
	return written, nil
}

// change returns what a case is to expect.
func (c *Case) change(of *suite.Case) suite.Change {
	to := suite.Change{Case: c.at, Fields: slices.Clone(c.Differs), Expect: c.decided}
	if c.nothing {
		to.Fields = c.worthSaying()
	}
	if of.Images != nil { // those that it asks about
		to.Images = maps.Clone(c.decided.Images)
		maps.DeleteFunc(to.Images, func(place, _ string) bool { _, asked := of.Images[place]; return !asked })
	}
	if slices.Contains(to.Fields, suite.FieldMessage) && len(c.Findings) > 0 {
		to.Message = c.Findings[0]
	}
	return to
}

// worthSaying returns the fields that a case without any gets.
func (c *Case) worthSaying() []string {
	fields := []string{suite.FieldAllowed}
	if len(c.decided.Denied) > 0 {
		fields = []string{suite.FieldDenied}
	}
	if len(c.decided.Warned) > 0 {
		fields = append(fields, suite.FieldWarned)
	}
	if len(c.decided.Images) > 0 && *c.decided.Allowed {
		fields = append(fields, suite.FieldImages)
	}
	return fields
}
