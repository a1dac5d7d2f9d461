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
	Path     string          `json:"path"`           // the argument
	Valid    bool            `json:"valid"`          // it loads, has an entry or allowEmpty, and with --strict no warning
	Files    []string        `json:"files"`          // the files that were read, as in problems
	Hash     string          `json:"hash,omitempty"` // of a policy that loads
	Entries  policy.Counts   `json:"entries"`        // active entries
	Errors   []policyProblem `json:"errors"`
	Warnings []policyProblem `json:"warnings"`
	Expiries []policyExpiry  `json:"expiries"` // parts that end on a date

	err    error
	policy *policy.Policy
}

// policyProblem is a policy.Problem. Line, column and path are left out if they are unknown.
type policyProblem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// checkPolicies returns the problems of all policies, and the parts that have ended or end soon at now.
func checkPolicies(paths []string, strict bool, now time.Time, stdin io.Reader) policyReport {
	report := policyReport{Valid: true}
	for _, path := range paths {
		checked := checkPolicy(path, now, stdin)
		checked.Valid = checked.err == nil && (!strict || len(checked.Warnings) == 0)
		report.Valid = report.Valid && checked.Valid
		report.Policies = append(report.Policies, checked)
	}
	return report
}

// checkPolicy loads the policy at a path.
func checkPolicy(path string, now time.Time, stdin io.Reader) checkedPolicy {
	c := checkedPolicy{
		Path: text.Path(path), Files: []string{}, Errors: []policyProblem{}, Warnings: []policyProblem{},
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
		c.err, c.Errors = err, problemsOf(policy.Problems(err))
		return c
	}
	c.Hash, c.Entries, c.Warnings = c.policy.Hash(), c.policy.Counts(), problemsOf(c.policy.WarningProblems())
	c.Expiries = expiriesOf(c.policy, now)
	if c.policy.Emptied() {
		c.err = fmt.Errorf("%s: %w", c.Path, policy.ErrEmptied)
		c.Errors = []policyProblem{{Message: policy.ErrEmptied.Error()}}
	}
	return c
}

func problemsOf(problems []policy.Problem) []policyProblem {
	all := []policyProblem{}
	for _, p := range problems {
		all = append(all, policyProblem(p))
	}
	return all
}

// write prints a line for each valid policy, with its warnings, and returns the errors of the others. With
// onlyFailures it does not print valid policies without warnings.
func (r policyReport) write(stdout io.Writer, colors text.Colors, onlyFailures bool) error {
	var errs []error
	for _, c := range r.Policies {
		if c.err != nil {
			errs = append(errs, c.err)
			continue
		}
		if !c.Valid {
			errs = append(errs, errors.New(strings.Join(c.policy.Warnings(), "\n")))
			continue
		}
		if onlyFailures && len(c.Warnings) == 0 {
			continue
		}
		line := colors.Good("ok:") + " " + counted(c.Entries, c.policy.Additions()) + "; hash " + c.Hash
		if len(r.Policies) > 1 {
			line = c.Path + ": " + line
		}
		for _, warning := range slices.Concat(c.policy.Warnings(), expiryWarnings(c.Expiries)) {
			line += "\n" + colors.Warn("warning:") + " " + warning
		}
		if _, err := fmt.Fprintln(stdout, line); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// encode writes the report for programs. It contains all errors, so they are not printed again.
func (r policyReport) encode(stdout io.Writer, f output.Format, strict bool) error {
	about := output.Report{Command: "policy check", FailOnWarnings: strict}
	if err := writeReport(stdout, f, r, about, r.cases); err != nil {
		return err
	}
	if !r.Valid {
		return &exitError{code: exitUsage}
	}
	return nil
}

// cases returns a case for each policy, with its errors, its warnings, and the parts that have ended or end soon.
func (r policyReport) cases() []output.Case {
	var cases []output.Case
	for i := range r.Policies {
		p := &r.Policies[i]
		c := output.Case{Suite: p.Path, Name: "policy " + p.Path, Place: output.Place{File: p.Path}}
		add := func(level output.Level, rule string, at policyProblem) {
			message := at.Message
			if at.Path != "" {
				message = at.Path + ": " + message
			}
			place := output.Place{File: p.file(at.File), Line: at.Line, Column: at.Column}
			c.Results = append(
				c.Results,
				output.Result{Level: level, Rule: rule, Message: message, Subject: at.Path, Place: place},
			)
		}
		for _, e := range p.Errors {
			add(output.Error, "policy/error", e)
		}
		for _, w := range p.Warnings {
			add(output.Warning, "policy/warning", w)
		}
		for i := range p.Expiries {
			if e := &p.Expiries[i]; e.State != expiryLater {
				at := policyProblem{e.File, e.Line, e.Column, e.Path, e.text()}
				add(output.Note, "policy/expiry", at) // an expired date does not make a policy invalid
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
