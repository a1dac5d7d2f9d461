// Package suite reads test suites for policies. Package suiterunner runs them.
//
// A suite is a YAML document in a file called *_test.yaml:
//
//	policy: [hardened.yaml]        # files or directories, relative to the directory of the suite
//	cases:
//	- name: latest is denied
//	  object: {apiVersion: v1, kind: Pod, …}
//	  denied: [only-mirrors/images.deniedTags]
//
// suite.go reads a suite, and expect.go contains the expectations of a case.
package suite

import (
	"context"
	"strings"
	"time"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/policy/internal/strict"
)

// The apiVersion and kind that a suite may contain.
const (
	apiVersion = "evergate.dev/v1alpha1"
	kind       = "EvergatePolicyTest"
)

// The limits of a suite are ten times the size of a long suite. YAML becomes a tree of about 50 times the size of its
// text.
const (
	maxBytes  = 4 << 20
	maxValues = 400_000
	maxCases  = 10_000
)

// IsFile reports whether a file has the name of a suite.
func IsFile(name string) bool {
	return strings.HasSuffix(name, "_test.yaml") || strings.HasSuffix(name, "_test.yml")
}

// Suite is a test suite.
type Suite struct {
	File   string
	Policy []string // files and directories, relative to the directory of the suite
	Cases  []Case
}

// Place is a place in a suite. Lines and columns start at 1.
type Place struct{ Line, Column int }

// Case contains an object, the attributes of a request, and the expected decision.
type Case struct {
	Name   string
	Place  Place
	Object []byte // YAML; nil if the object is in File
	At     Place  // of the object
	File   string // relative to the directory of the suite

	Old     []byte // the object before an update, as YAML; nil if it is in OldFile or does not exist
	OldFile string
	Others  []byte // a List of other existing objects, as YAML; may be nil

	Namespace string // of an object without a namespace
	User      string
	Groups    []string
	Set       string    // a rule set that applies too; * means all of them
	Now       time.Time // at which exceptions are checked for expiry; at the zero time, none has expired

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
		faults.Fieldf("policy", "it is empty: list at least one policy file")
	}
	if len(d.Cases) == 0 {
		faults.Fieldf("cases", "it is empty: add at least one case")
	}
	return faults.Err()
}

type writtenCase struct {
	Pos       strict.Pos  `yaml:"-"`
	Name      string      `yaml:"name,required"`
	Object    *strict.Raw `yaml:"object"`
	File      string      `yaml:"file"`
	Old       *strict.Raw `yaml:"old"`    // a mapping, or the path of a file
	Others    *strict.Raw `yaml:"others"` // the unique block compares the object with them
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
		faults.Fieldf("name", "it is empty: describe the case")
	}
	switch {
	case c.Object == nil && c.File == "":
		faults.Fieldf("name", "the case has no object: add object, or file with the path of a manifest")
	case c.Object != nil && c.File != "":
		faults.Fieldf("file", "the case already has an object: leave out object or file")
	case c.Object != nil && !c.Object.IsMapping():
		faults.Fieldf("object", "want a Kubernetes object; to use a manifest, write its path in file")
	}
	if c.Old != nil {
		if _, isFile := c.Old.Text(); !isFile && !c.Old.IsMapping() {
			faults.Fieldf("old", "want a Kubernetes object, or the path of a manifest")
		}
	}
	faults.Add(c.Expect.validate())
	return faults.Err()
}

// moment is a date, which means its beginning in UTC, or a time in the format of RFC 3339.
type moment struct{ time.Time }

// UnmarshalText implements encoding.TextUnmarshaler.
func (m *moment) UnmarshalText(b []byte) (err error) {
	m.Time, err = ParseTime(string(b))
	return err
}

// Dated implements strict.Dated.
func (*moment) Dated() {}

// Decode parses a suite. The error has one line per mistake, with file, line, column and field.
func Decode(file string, data []byte) (*Suite, error) {
	d := strict.NewDecoder(context.Background(), strict.Limits{
		Of: "the suite", Values: maxValues, Entries: maxCases, Texts: maxValues,
	})
	whole := strict.Pos{File: file, Line: 1, Column: 1}
	if len(data) > maxBytes {
		d.Errors().Errorf(whole, "it has %s bytes, at most %s are allowed", text.Thousands(len(data)),
			text.Thousands(maxBytes))
		return nil, d.Errors().Errors()
	}
	s := &Suite{File: file}
	documents := 0
	for doc := range d.Documents(strict.Source{File: file, Data: data}) {
		var written document
		if documents++; documents > 1 {
			d.Errors().Errorf(whole, "it has several documents: a suite has only one")
			break
		}
		if d.Decode(doc, &written) {
			s.add(&written, d.Errors())
		}
	}
	if documents == 0 && d.Errors().Len() == 0 {
		d.Errors().Errorf(whole, "it is empty: a suite contains policy and cases")
	}
	if errs := d.Errors().Errors(); errs != nil {
		return nil, errs
	}
	return s, nil
}

// add adds the content of a document.
func (s *Suite) add(d *document, errs *strict.Collector) {
	s.Policy = d.Policy
	names := map[string]strict.Pos{}
	for i := range d.Cases {
		w := &d.Cases[i]
		if first, twice := names[w.Name]; twice {
			errs.Errorf(w.Pos, "the case in line %[2]d is also named %[1]s: names must be unique in a suite",
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
		if w.Others != nil {
			items, err := w.Others.YAML()
			if err != nil {
				errs.Errorf(w.Others.Pos, "%v", err)
			}
			c.Others = []byte("apiVersion: v1\nkind: List\nitems:\n " + strings.ReplaceAll(string(items), "\n", "\n "))
		}
		s.Cases = append(s.Cases, c)
	}
}
