package cmd

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline/output"
	"github.com/evergate/evergate/policy"
)

// policyReport is the result of policy check. Its JSON is an interface: from the first release on, fields may be
// added, but not renamed.
type policyReport struct {
	Valid    bool            `json:"valid"`    // all policies are valid; with --strict, without warnings
	Policies []checkedPolicy `json:"policies"` // in the order of the arguments
}

// checkedPolicy is the result for one argument.
type checkedPolicy struct {
	Path     string           `json:"path"`           // the argument
	Valid    bool             `json:"valid"`          // it loads, has an entry or allowEmpty, and with --strict no warning
	Files    []string         `json:"files"`          // the files that were read, as in problems
	Hash     string           `json:"hash,omitempty"` // of a policy that loads
	Entries  policy.Counts    `json:"entries"`        // active entries
	Errors   []policy.Problem `json:"errors"`
	Warnings []policy.Problem `json:"warnings"`
	Expiries []policyExpiry   `json:"expiries"` // parts that end on a date

	err    error
	policy *policy.Policy
}

// checkPolicies returns the problems of all policies, and the parts that have ended or end soon at now.
func checkPolicies(paths []string, strict bool, now time.Time, stdin io.Reader) policyReport {
	report := policyReport{Valid: true}
	for _, path := range paths {
		checked := checkPolicy(path, now, stdin)
		if strict && checked.err == nil && len(checked.Warnings) > 0 {
			checked.err = errors.New(strings.Join(checked.policy.Warnings(), "\n"))
		}
		checked.Valid = checked.err == nil
		report.Valid = report.Valid && checked.Valid
		report.Policies = append(report.Policies, checked)
	}
	return report
}

// checkPolicy loads the policy at a path.
func checkPolicy(path string, now time.Time, stdin io.Reader) checkedPolicy {
	c := checkedPolicy{
		Path: text.Path(path), Files: []string{}, Errors: []policy.Problem{}, Warnings: []policy.Problem{},
		Expiries: []policyExpiry{},
	}
	files, err := readPolicy(path, stdin)
	for _, f := range files {
		if !slices.Contains(c.Files, f.Name) {
			c.Files = append(c.Files, f.Name)
		}
	}
	if err == nil {
		c.policy, err = policy.Load(files...)
	}
	if err != nil {
		c.err, c.Errors = err, policy.Problems(err)
		return c
	}
	c.Hash, c.Entries = c.policy.Hash(), c.policy.Counts()
	c.Warnings = append(c.Warnings, c.policy.WarningProblems()...)
	c.Expiries = expiriesOf(c.policy, now)
	if c.policy.Emptied() {
		c.err = fmt.Errorf("%s: %w", c.Path, policy.ErrEmptied)
		c.Errors = []policy.Problem{{Message: policy.ErrEmptied.Error()}}
	}
	return c
}

// err returns the errors of the policies that are not valid.
func (r policyReport) err() error {
	var errs []error
	for _, c := range r.Policies {
		errs = append(errs, c.err)
	}
	return errors.Join(errs...)
}

// WriteText writes a line for each valid policy, with its warnings.
func (r policyReport) WriteText(p *output.Printer) {
	for _, c := range r.Policies {
		if !c.Valid || p.OnlyFailures && len(c.Warnings) == 0 {
			continue
		}
		if len(r.Policies) > 1 {
			p.WriteString(c.Path + ": ")
		}
		p.Note(text.Colors.Good, "ok:", counted(c.Entries, c.policy.Additions())+"; hash "+c.Hash)
		for _, warning := range c.policy.Warnings() {
			p.Note(text.Colors.Warn, "warning:", warning)
		}
		for _, e := range c.Expiries {
			if e.Message != "" {
				p.Note(text.Colors.Warn, "warning:", e.String())
			}
		}
	}
}

// Cases returns a case for each policy, with its errors, its warnings, and the parts that have ended or end soon.
func (r policyReport) Cases() []output.Case {
	var cases []output.Case
	for i := range r.Policies {
		p := &r.Policies[i]
		c := output.Case{Suite: p.Path, Name: "policy " + p.Path, Place: output.Place{File: p.Path}}
		add := func(level output.Level, rule string, problems ...policy.Problem) {
			for _, at := range problems {
				place := output.Place{File: p.file(at.File), Line: at.Line, Column: at.Column}
				c.Results = append(c.Results, output.Result{
					Level: level, Rule: rule, Message: strings.TrimPrefix(at.Path+": "+at.Message, ": "), Subject: at.Path,
					Place: place,
				})
			}
		}
		add(output.Error, "policy/error", p.Errors...)
		add(output.Warning, "policy/warning", p.Warnings...)
		for i := range p.Expiries {
			if e := &p.Expiries[i]; e.Message != "" {
				add(output.Note, "policy/expiry", e.Problem) // an expired date does not make a policy invalid
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// file returns the path of a file in a problem, which does not contain the directory.
func (c *checkedPolicy) file(name string) string {
	if info, err := os.Stat(c.Path); name != "" && err == nil && info.IsDir() {
		return filepath.Join(c.Path, name)
	}
	return c.Path
}
