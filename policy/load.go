package policy

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/evergate/evergate/policy/internal/rule"
	"github.com/evergate/evergate/policy/internal/strict"
)

// These are the apiVersion and kind of a policy file. A policy is a file format, not a custom resource.
const (
	fileAPIVersion = "evergate.dev/v1alpha1"
	fileKind       = "EvergatePolicy"
)

// File is one policy file. It is a key of the ConfigMap or a file on disk.
type File struct {
	Name string // for errors
	Data []byte
	// Lines is the number of lines in the file before Data. Columns is the number of characters before each line of Data.
	// They are not zero if the policy is a block in a manifest. Positions in errors include them.
	Lines, Columns int
	// Problems are mistakes around Data, with which the policy does not load. Warnings are added to the warnings of the
	// policy.
	Problems, Warnings []Problem
}

// isSuite reports whether a file is a test suite. A test suite may be in the same directory as a policy, and is not
// part of the policy. isSuite recognizes it by its name and by the field cases, which policies do not have.
func (f File) isSuite() bool {
	named := strings.HasSuffix(f.Name, "_test.yaml") || strings.HasSuffix(f.Name, "_test.yml")
	return named && (bytes.HasPrefix(f.Data, []byte("cases:")) || bytes.Contains(f.Data, []byte("\ncases:")))
}

// errOnlySuites returns the error for files that are all test suites. Without this error, the policy would be empty.
func errOnlySuites(name string) error {
	at := strict.Pos{File: name, Line: 1, Column: 1}
	return strict.Errors{at.Errorf("this is a suite of tests, not a policy: evergate test runs it")}
}

func (f File) source() strict.Source {
	return strict.Source{File: f.Name, Data: f.Data, Lines: f.Lines, Columns: f.Columns}
}

// IsFile reports whether the name of a file in a directory, or of a key in a ConfigMap, is the name of a policy file.
func IsFile(name string) bool {
	return strings.HasSuffix(name, ".yaml") || strings.HasSuffix(name, ".yml")
}

// Load compiles a policy from files. It merges the files in the order of their names and applies the limits for files.
// Without files, or if all files are empty, it returns the empty policy, which does not rewrite images and does not
// deny objects. The error contains one mistake per line, with file, line, column and field in that order. It contains
// the first hundred mistakes and the number of the remaining mistakes.
func Load(files ...File) (*Policy, error) {
	return LoadWithin(context.Background(), fileLimits(), files...)
}

// LoadWithin does the same as Load, with other limits. If ctx is done before the policy is loaded, the error wraps the
// cause of ctx.
func LoadWithin(ctx context.Context, limits Limits, files ...File) (*Policy, error) {
	policies := inOrder(files)
	if len(files) > 0 && len(policies) == 0 {
		return nil, errOnlySuites(files[0].Name)
	}
	files = policies
	d := strict.NewDecoder(ctx, strict.Limits{
		Values: limits.Values, Entries: limits.Entries, Texts: limits.Patterns, Cost: limits.RegexSteps,
	})
	errs := d.Errors()
	limits.check(files, errs)
	var all document
	if errs.Len() == 0 {
		for _, f := range files {
			for _, p := range f.Problems {
				errs.Errorf(p.pos(), "%s", p.Message)
			}
			all.merge(d, f)
		}
	}
	var p *Policy
	compare := rule.NewComparisons(ctx, limits.Comparisons)
	if errs.Len() == 0 {
		p = all.compile(compare, errs)
	} else if !d.Stopped() {
		all.compare(compare, errs)
	}
	switch {
	case ctx.Err() != nil:
		return nil, errStopped(ctx)
	case errs.Len() > 0:
		return nil, hintTemplates(errs.Errors(), files)
	}
	for _, f := range files {
		for _, w := range f.Warnings {
			p.warnings = append(p.warnings, w.pos().Errorf("%s", w.Message))
		}
	}
	p.hash = hash(files)
	for _, in := range p.sets {
		in.hash = p.hash
	}
	return p, nil
}

// inOrder returns the policy files, without test suites, in the order in which they are merged. The order is by file
// name without directory, because ConfigMap keys do not have directories.
func inOrder(files []File) []File {
	policies := slices.DeleteFunc(slices.Clone(files), File.isSuite)
	slices.SortStableFunc(policies, func(a, b File) int {
		return cmp.Or(strings.Compare(path.Base(a.Name), path.Base(b.Name)), strings.Compare(a.Name, b.Name))
	})
	return policies
}

// SyntaxError returns an error with file, line and column if a file is not valid YAML. It returns nil if the file is
// valid YAML, whatever its content. The limits for files apply.
func SyntaxError(f File) error {
	l := fileLimits()
	d := strict.NewDecoder(context.Background(), strict.Limits{Values: l.Values})
	for range d.Documents(f.source()) {
		// The loop only collects errors.
	}
	if errs := d.Errors().Errors(); errs != nil {
		return errs
	}
	return nil
}

// NotRendered returns err, which is an error from SyntaxError. If the file looks like a template, it adds a hint to the
// error.
func NotRendered(err error, f File) error {
	if errs, ok := errors.AsType[strict.Errors](err); ok {
		return hintTemplates(errs, []File{f})
	}
	return err
}

// hintTemplates adds a hint to one error for each file that contains template actions. It chooses the first error which
// reports that the file is not valid YAML, or whose line contains an action. YAML parses an action as a mapping.
func hintTemplates(errs strict.Errors, files []File) strict.Errors {
	for _, f := range files {
		if !hasAction(f.Data) {
			continue
		}
		i := slices.IndexFunc(errs, func(e strict.Error) bool {
			return e.File == f.Name &&
				(strings.HasPrefix(e.Msg, "not valid YAML") || hasAction(lineOf(f.Data, e.Line-f.Lines)))
		})
		if i >= 0 {
			errs[i].Msg += "; the file contains {{, like a template: render it first, for example with helm template"
		}
	}
	return errs
}

// lineOf returns line n of a text. Lines count from 1. It returns nil if the text has fewer lines.
func lineOf(data []byte, n int) []byte {
	for line := range bytes.SplitSeq(data, []byte{'\n'}) {
		if n--; n == 0 {
			return line
		}
	}
	return nil
}

// hasAction reports whether a text contains a template action. {{namespace}} does not count, because it is a mistake in
// a host.
func hasAction(b []byte) bool {
	return bytes.Contains(b, []byte("{{ ")) || bytes.Contains(b, []byte("{{-")) || bytes.Contains(b, []byte("{{."))
}

// Mistakes returns the number of mistakes in an error from Load, including mistakes that the error only counts.
func Mistakes(err error) int {
	if errs, ok := errors.AsType[strict.Errors](err); ok {
		return errs.Total()
	}
	return 1
}

// hash returns the SHA-256 of the contents of files, truncated to 12 hexadecimal digits, which people can compare. The
// names and the order of the files do not matter. A file in a repository has the same hash as its copy in a ConfigMap.
func hash(files []File) string {
	var sums []string
	for _, f := range files {
		sum := sha256.Sum256(f.Data)
		sums = append(sums, string(sum[:]))
	}
	slices.Sort(sums)
	all := sha256.Sum256([]byte(strings.Join(sums, "")))
	return hex.EncodeToString(all[:])[:12]
}
