package suiterunner

import (
	"strings"

	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// coverage records the policy entries that cases reach.
type coverage struct {
	name    string // the policy files
	policy  *policy.Policy
	reached map[string]bool // by the name of the entry
}

// reach records the entries that a case reaches: rules that apply to its object, mirrors entries that decide about an
// image, and owners and exceptions that cause or silence a finding.
func (c *coverage) reach(r *offline.Result) {
	for _, rule := range r.Rules {
		if rule.Applies {
			c.reached[rule.Rule] = true
		}
	}
	for _, image := range r.Images {
		c.reached[image.Entry] = true
	}
	for _, f := range r.Findings {
		rule, _, _ := strings.Cut(f.ID, "/")
		c.reached[rule] = true
		c.reached[f.ExemptBy] = true
	}
}

// finish counts cases and coverage. If only some of the cases ran, coverage is meaningless and left out.
func (r *runner) finish() {
	for _, c := range r.order {
		if r.only != nil {
			break
		}
		of := Coverage{Policy: c.name, Hash: c.policy.Hash(), Missing: []Entry{}, Warnings: c.policy.Warnings()}
		for _, e := range c.policy.EntryPlaces() {
			of.Entries++
			if c.reached[e.Name] {
				of.Reached++
				continue
			}
			of.Missing = append(of.Missing, Entry{e.Block, e.Name, e.Place.File, e.Place.Line, e.Place.Column})
		}
		r.Coverage = append(r.Coverage, of)
		r.Summary.Entries += of.Entries
		r.Summary.Reached += of.Reached
	}
	for i := range r.Suites {
		for _, c := range r.Suites[i].Cases {
			switch {
			case c.Error != "":
				r.Summary.NotRun++
				continue
			case c.Passed:
				r.Summary.Passed++
			default:
				r.Summary.Failed++
			}
			r.Summary.Cases++
		}
	}
	r.Passed = r.Summary.Failed == 0 && len(r.Errors) == 0
}
