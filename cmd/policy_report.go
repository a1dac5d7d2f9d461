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

	"github.com/evergate/evergate/internal/output"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy"
)

// policyReport is the result of policy check. Its JSON is an interface: from the first release on, fields are added and
// never renamed.
type policyReport struct {
	Valid    bool            `json:"valid"`    // all policies are; with --strict none has a warning
	Policies []checkedPolicy `json:"policies"` // in the order of the arguments
}

// checkedPolicy is the result for one argument.
type checkedPolicy struct {
	Path     string          `json:"path"`           // the argument
	Valid    bool            `json:"valid"`          // it loads, has an entry or allowEmpty, and with --strict no warning
	Files    []string        `json:"files"`          // that were read, as problems name them
	Hash     string          `json:"hash,omitempty"` // of a policy that loads
	Entries  policy.Counts   `json:"entries"`        // in force
	Errors   []policyProblem `json:"errors"`
	Warnings []policyProblem `json:"warnings"`
	Expiries []policyExpiry  `json:"expiries"` // what ends by date

	err    error
	policy *policy.Policy
}

// policyProblem is a policy.Problem; line, column and path are left out where they are not known.
type policyProblem struct {
	File    string `json:"file,omitempty"`
	Line    int    `json:"line,omitempty"`
	Column  int    `json:"column,omitempty"`
	Path    string `json:"path,omitempty"`
	Message string `json:"message"`
}

// checkPolicies returns everything that is wrong with all of them, and what has ended at now.
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

// write prints a line for each valid policy, with its warnings, and returns the errors of the others. With onlyFailures
// it prints no line for a valid policy without a warning.
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

// encode writes the report for programs. Its errors stand in it, and nowhere else.
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

// cases returns a case for each policy, with its mistakes and warnings, and what has ended or ends soon.
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
				add(output.Note, "policy/expiry", at) // the date makes no policy invalid
			}
		}
		cases = append(cases, c)
	}
	return cases
}

// file returns the path of a file that a problem names without its directory.
func (c *checkedPolicy) file(name string) string {
	if info, err := os.Stat(c.Path); name != "" && err == nil && info.IsDir() {
		return filepath.Join(c.Path, name)
	}
	return c.Path
}
