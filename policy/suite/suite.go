// Package suite reads suites of tests for policies, and writes what is expected into them. It knows their text alone:
// package policytest runs them.
//
// A suite is a YAML document in a file called *_test.yaml:
//
//	policy: [hardened.yaml]        # files or directories, from the directory of the suite
//	cases:
//	- name: latest is denied
//	  object: {apiVersion: v1, kind: Pod, …}
//	  denied: [only-mirrors/images.deniedTags]
//
// suite.go reads one, expect.go has what is expected, update.go writes it.
package suite

import (
	"context"
	"strings"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// The apiVersion and kind that a suite may name.
const (
	apiVersion = "evergate.dev/v1alpha1"
	kind       = "EvergatePolicyTest"
)

// The limits of a suite: ten times what a long one has. YAML becomes a tree of some fifty times its text.
const (
	maxBytes  = 4 << 20
	maxValues = 400_000
	maxCases  = 10_000
)

// IsFile reports whether a file is a suite, by its name.
func IsFile(name string) bool {
	return strings.HasSuffix(name, "_test.yaml") || strings.HasSuffix(name, "_test.yml")
}

// Suite is a suite of tests.
type Suite struct {
	File   string
	Policy []string // files and directories, from the directory of the suite
	Cases  []Case
}

// Place is a place in a suite. Lines and columns count from 1.
type Place struct{ Line, Column int }

// Case is an object, a request, and what is expected.
type Case struct {
	Name   string
	Place  Place
	Object []byte // YAML; nil where File names it
	At     Place  // of the object
	File   string // from the directory of the suite

	Old     []byte // the object before an update, as YAML; nil where OldFile names it, or there is none
	OldFile string

	Namespace string // of an object that names none
	User      string
	Groups    []string
	Set       string    // whose rules judge too; empty for none, * for all
	Now       time.Time // by which exceptions end; zero for before all of them

	Expect
}

// document is a suite as it is written.
type document struct {
	APIVersion string        `yaml:"apiVersion"`
	Kind       string        `yaml:"kind"`
	Policy     []string      `yaml:"policy,required"`
	Cases      []writtenCase `yaml:"cases,required"`
}

// Validate implements strict.Validator.
func (d *document) Validate() error {
	var faults strict.Faults
	if d.APIVersion != "" && d.APIVersion != apiVersion {
		faults.Fieldf("apiVersion", "%s is not supported: write %s, or leave it out", text.Quote(d.APIVersion), apiVersion)
	}
	if d.Kind != "" && d.Kind != kind {
		faults.Fieldf("kind", "%s is not a suite: write %s, or leave it out", text.Quote(d.Kind), kind)
	}
	if len(d.Policy) == 0 {
		faults.Fieldf("policy", "it names no file of a policy")
	}
	if len(d.Cases) == 0 {
		faults.Fieldf("cases", "it has no case")
	}
	return faults.Err()
}

type writtenCase struct {
	Pos       strict.Pos  `yaml:"-"`
	Name      string      `yaml:"name,required"`
	Object    *strict.Raw `yaml:"object"`
	File      string      `yaml:"file"`
	Old       *strict.Raw `yaml:"old"` // a mapping, or the name of a file
	Namespace string      `yaml:"namespace"`
	User      string      `yaml:"user"`
	Groups    []string    `yaml:"groups"`
	Set       string      `yaml:"set"`
	At        moment      `yaml:"at"`
	Expect
}

// Validate implements strict.Validator.
func (c *writtenCase) Validate() error {
	var faults strict.Faults
	if c.Name == "" {
		faults.Fieldf("name", "it is empty: write what the case shows")
	}
	switch {
	case c.Object == nil && c.File == "":
		faults.Fieldf("name", "the case has no object: write object, or file with the name of a manifest")
	case c.Object != nil && c.File != "":
		faults.Fieldf("file", "the case has an object already: write one of the two")
	case c.Object != nil && !c.Object.IsMapping():
		faults.Fieldf("object", "want an object of Kubernetes; the name of a manifest stands in file")
	}
	if c.Old != nil {
		if _, isFile := c.Old.Text(); !isFile && !c.Old.IsMapping() {
			faults.Fieldf("old", "want an object of Kubernetes, or the name of a manifest")
		}
	}
	faults.Add(c.Expect.validate())
	return faults.Err()
}

// moment is a date, which is its beginning in UTC, or a time as RFC 3339 has it.
type moment struct{ time.Time }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *moment) UnmarshalText(b []byte) (err error) {
	m.Time, err = ParseTime(string(b))
	return err
}

// Dated implements strict.Dated.
func (*moment) Dated() {}

// Decode reads a suite. The error has one mistake a line, with file, line, column and field.
func Decode(file string, data []byte) (*Suite, error) {
	d := strict.NewDecoder(context.Background(), strict.Limits{
		Of: "the suite", Values: maxValues, Entries: maxCases, Texts: maxValues,
	})
	whole := strict.Pos{File: file, Line: 1, Column: 1}
	if len(data) > maxBytes {
		d.Errors().Errorf(whole, "it has %s bytes, at most %s are read", text.Thousands(len(data)), text.Thousands(maxBytes))
		return nil, d.Errors().Errors()
	}
	s := &Suite{File: file}
	documents := 0
	for doc := range d.Documents(strict.Source{File: file, Data: data}) {
		var written document
		if documents++; documents > 1 {
			d.Errors().Errorf(whole, "it has several documents: a suite is one")
			break
		}
		if d.Decode(doc, &written) {
			s.add(&written, d.Errors())
		}
	}
	if documents == 0 && d.Errors().Len() == 0 {
		d.Errors().Errorf(whole, "it is empty: a suite has policy and cases")
	}
	if errs := d.Errors().Errors(); errs != nil {
		return nil, errs
	}
	return s, nil
}

// add takes over what is written.
func (s *Suite) add(d *document, errs *strict.Collector) {
	s.Policy = d.Policy
	names := map[string]strict.Pos{}
	for i := range d.Cases {
		w := &d.Cases[i]
		if first, twice := names[w.Name]; twice {
			errs.Errorf(w.Pos, "the name %s is that of the case in line %d too: names are unique in a suite",
				text.Quote(w.Name), first.Line)
		}
		names[w.Name] = w.Pos
		c := Case{
			Name: w.Name, Place: Place{w.Pos.Line, w.Pos.Column}, File: w.File, Namespace: w.Namespace, User: w.User,
			Groups: w.Groups, Set: w.Set, Now: w.At.Time, Expect: w.Expect,
		}
		var err error
		if w.Object != nil {
			c.At = Place{w.Object.Pos.Line, w.Object.Pos.Column}
			if c.Object, err = w.Object.YAML(); err != nil {
				errs.Errorf(w.Object.Pos, "%v", err)
			}
		}
		if w.Old != nil {
			if name, isFile := w.Old.Text(); isFile {
				c.OldFile = name
			} else if c.Old, err = w.Old.YAML(); err != nil {
				errs.Errorf(w.Old.Pos, "%v", err)
			}
		}
		s.Cases = append(s.Cases, c)
	}
}
