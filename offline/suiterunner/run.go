// Package suiterunner runs test suites for policies. It decides with package offline, which uses the code of the
// webhook, so tests and the server always agree.
//
//	find.go      directories → suites
//	run.go       suite → cases → decisions
//	compare.go   decision and expectation → difference
//	coverage.go  the entries of a policy that no case has reached
//	report.go    the report; text.go for users, cases.go for CI
package suiterunner

import (
	"bytes"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/policystore"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/object"
	"github.com/evergate/evergate/policy/suite"
)

// Run runs the suites in files. It runs only the cases whose names match only, or all cases if only is nil. Errors in
// the input are in the report.
func Run(files []File, only *regexp.Regexp) *Report {
	r := &runner{Report: Report{Suites: []Suite{}, Coverage: []Coverage{}}, only: only, policies: map[string]*coverage{}}
	for _, file := range files {
		result, err := r.suite(file)
		if result != nil {
			r.Suites = append(r.Suites, *result)
		} else {
			r.Summary.Unread++
		}
		if err != nil {
			r.failed = append(r.failed, r.fail(err)...)
		}
	}
	r.finish()
	return &r.Report
}

// fail adds the lines of an error to the report, and returns them.
func (r *runner) fail(err error) []string {
	before := len(r.Errors)
	for line := range strings.Lines(err.Error()) {
		r.Errors = append(r.Errors, strings.TrimSpace(line))
	}
	return r.Errors[before:]
}

// maxSuite is far more than a suite may contain, in bytes. The limits in package suite return better error messages.
const maxSuite = 64 << 20

// runner runs the suites one after another. Suites of the same policy share its coverage.
type runner struct {
	Report
	only     *regexp.Regexp
	policies map[string]*coverage // by the policy files
	order    []*coverage
}

// suite runs a suite. If its policy does not load, the result contains its cases, which are not run. It is nil if the
// suite cannot be read.
func (r *runner) suite(of File) (*Suite, error) {
	file := of.Path
	data, err := input.Read(file, maxSuite)
	if err != nil {
		return nil, err
	}
	s, err := suite.Decode(text.Path(file), data)
	if err != nil {
		return nil, err
	}
	s.File = file
	files, err := newFiles(of)
	if err != nil {
		return nil, err
	}
	result := &Suite{File: text.Path(file), Policy: text.Escape(strings.Join(s.Policy, ", ")), Cases: []Case{}}
	covered, failed := r.policy(s, files)
	if failed != nil {
		failed = fmt.Errorf("%s: policy: %w", text.Path(file), failed)
	} else {
		result.Policy, result.Hash = covered.name, covered.policy.Hash()
	}
	for i := range s.Cases {
		c := &s.Cases[i]
		if r.only != nil && !r.only.MatchString(c.Name) {
			r.Summary.Left++
			continue
		}
		ran := Case{Name: c.Name, Line: c.Place.Line, Column: c.Place.Column, Error: "the policy of the suite does not load"}
		if failed == nil {
			ran = r.run(s, c, files, covered)
		}
		result.Cases = append(result.Cases, ran)
	}
	return result, failed
}

// run decides a case, and compares the decision with its expectation.
func (r *runner) run(s *suite.Suite, c *suite.Case, files *files, covered *coverage) Case {
	decision, err := decide(s, c, files, covered.policy)
	if err == nil {
		err = checkNames(&c.Expect, covered.policy)
	}
	if err != nil {
		r.fail(fmt.Errorf("%s:%d:%d: %s: %w", text.Path(s.File), c.Place.Line, c.Place.Column, c.Name, err))
		return Case{Name: c.Name, Line: c.Place.Line, Column: c.Place.Column, Error: err.Error()}
	}
	covered.reach(decision)
	return compare(c, decision)
}

// checkNames returns an error if a case expects a rule or a check that the policy does not have.
func checkNames(e *suite.Expect, p *policy.Policy) error {
	for _, expected := range []struct {
		field string
		ids   []string
	}{{suite.FieldDenied, e.Denied}, {suite.FieldWarned, e.Warned}} {
		for _, id := range expected.ids {
			if err := p.CheckID(id); err != nil {
				return fmt.Errorf("%s: %s: %w", expected.field, text.Name(id), err)
			}
		}
	}
	return nil
}

// policy loads the policy of a suite, once for all suites that have the same.
func (r *runner) policy(s *suite.Suite, files *files) (*coverage, error) {
	var names []string
	for _, name := range s.Policy {
		names = append(names, pathIn(s, name))
	}
	key := text.Escape(strings.Join(names, ", "))
	if known, ok := r.policies[key]; ok {
		return known, nil
	}
	var read []policy.File
	for _, name := range names {
		found, err := files.policy(name)
		if err != nil {
			return nil, err
		}
		read = append(read, found...)
	}
	p, err := policy.Load(policystore.Unwrap(read)...)
	if err != nil {
		return nil, err
	}
	c := &coverage{name: key, policy: p, reached: map[string]bool{}}
	r.policies[key], r.order = c, append(r.order, c)
	return c, nil
}

// pathIn returns the path of a file that is given in a suite. The path in the suite is relative to the directory of the
// suite.
func pathIn(s *suite.Suite, name string) string {
	if filepath.IsAbs(name) {
		return name
	}
	return filepath.Join(filepath.Dir(s.File), name)
}

// decide decides a case.
func decide(s *suite.Suite, c *suite.Case, files *files, p *policy.Policy) (*offline.Result, error) {
	obj, err := objectOf(s, files, c.Object, c.At, c.File)
	if err != nil {
		return nil, err
	}
	o := offline.Options{
		Policy: p, Namespace: c.Namespace, User: c.User, Groups: c.Groups, Now: c.Now, Explain: true,
		Reviews: obj.Kind == "AdmissionReview",
	}
	if o.Namespace == "" {
		o.Namespace = "default"
	}
	if c.Old != nil || c.OldFile != "" {
		old, err := objectOf(s, files, c.Old, c.Place, c.OldFile)
		if err != nil {
			return nil, fmt.Errorf("old: %w", err)
		}
		if o.Old, err = offline.NewIndex(one(old), o.Namespace); err != nil {
			return nil, fmt.Errorf("old: %w", err)
		}
	}
	if o.Reviews && (o.Old != nil || c.User != "" || c.Groups != nil) {
		return nil, errors.New("an AdmissionReview contains the user and the operation: leave out old, user and groups")
	}
	if c.Set != "" && c.Set != "*" && !slices.Contains(p.Sets(), c.Set) {
		return nil, fmt.Errorf("set: the policy has no rule in %s", c.Set)
	}
	o.Sets = p.SetsOf([]string{c.Set})
	report := offline.Review(o, func(yield func(offline.Object, error) bool) {
		if yield(obj, nil) && c.Others != nil {
			offline.ReadText(text.Path(s.File)+": others", bytes.NewReader(c.Others))(yield)
		}
	})
	switch {
	case len(report.Errors) > 0:
		return nil, errors.New(report.Errors[0])
	case report.Summary.MirrorPods > 0:
		return nil, errors.New("the Pod has the annotation of a mirror Pod, so the decision depends on the user: add user")
	case len(report.Results) == 0:
		return nil, fmt.Errorf("objects of kind %s are not validated: leave the case out", obj.Kind)
	case o.Old != nil && report.Results[0].Operation != object.Update:
		return nil, errors.New("old: this is another object: it has another kind, namespace or name")
	}
	return &report.Results[0], nil
}

// objectOf returns an object that is written in a suite, or the only object in a file.
func objectOf(
	s *suite.Suite, files *files, document []byte, at suite.Place, file string,
) (offline.Object, error) {
	if document != nil {
		return offline.ParseObject(offline.Origin{File: text.Path(s.File), Line: at.Line}, document)
	}
	path := pathIn(s, file)
	opened, err := files.open(path)
	if err != nil {
		return offline.Object{}, err
	}
	defer opened.Close()
	var found []offline.Object
	for object, err := range offline.ReadText(text.Path(path), opened) {
		if err != nil {
			return offline.Object{}, err
		}
		if found = append(found, object); len(found) > 1 {
			return offline.Object{}, fmt.Errorf("%s contains more than one object: a case is about one object", path)
		}
	}
	if len(found) == 0 {
		return offline.Object{}, fmt.Errorf("%s does not contain an object", path)
	}
	return found[0], nil
}

// one returns a sequence of one object.
func one(object offline.Object) iter.Seq2[offline.Object, error] {
	return func(yield func(offline.Object, error) bool) { yield(object, nil) }
}
