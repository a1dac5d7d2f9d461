package cmd

import (
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"time"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/policystore"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policy/suite"
)

// noManifests is the error if a command that needs manifests does not get any.
const noManifests = "no manifests: add a file, a directory or - for stdin"

// inputFlags select the manifests that a command reads.
type inputFlags struct {
	files  []string
	ignore []string
}

func (f *inputFlags) define(flags *pflag.FlagSet) {
	flags.StringArrayVarP(&f.files, "filename", "f", nil,
		"`file` or directory with manifests, or - (stdin); repeatable")
	flags.StringArrayVar(&f.ignore, "ignore", nil,
		"`pattern` (as in .gitignore) for files in directories that are not read; repeatable")
}

// read returns the objects in the manifests.
func (f *inputFlags) read(stdin io.Reader) (iter.Seq2[offline.Object, error], error) {
	ignore, err := offline.ParseIgnore(f.ignore)
	if err != nil {
		return nil, fmt.Errorf("--ignore: %w", err)
	}
	return offline.ReadIgnoring(f.files, stdin, ignore), nil
}

// requestFlags describe the requests that are decided. In Sets, * means all rule sets of a policy.
type requestFlags struct{ offline.Options }

func (f *requestFlags) define(flags *pflag.FlagSet) {
	flags.StringVarP(&f.Namespace, "namespace", "n", "default", "namespace of objects without a namespace")
	flags.StringVar(&f.User, "user", "", "user that applies the manifests")
	flags.StringArrayVar(&f.Groups, "group", nil, "a group of the user; repeatable")
	flags.StringArrayVar(&f.Sets, "set", nil, "also apply this rule `set`, or * for all; repeatable")
	defineAt(flags, &f.Now)
}

// checkSets returns an error for a rule set that none of the policies has. If --set is not used, it prints the rule
// sets that are not evaluated.
func (f *requestFlags) checkSets(stderr io.Writer, policies ...*policy.Policy) error {
	var known []string
	for _, p := range policies {
		if p != nil {
			known = append(known, p.Sets()...)
		}
	}
	slices.Sort(known)
	known = slices.Compact(known)
	if f.Sets == nil && len(known) > 0 {
		cli.Say(stderr, fmt.Sprintf("the rule sets %s are not evaluated: add --set NAME, or --set '*' for all",
			text.List(known)))
	}
	for _, set := range f.Sets {
		switch name := text.Truncate(set, text.Short); {
		case len(known) == 0:
			return fmt.Errorf("unknown rule set %s: the policy has no rule sets", name)
		case set != "*" && !slices.Contains(known, set):
			return fmt.Errorf("unknown rule set %s: use %s", name, text.List(known))
		}
	}
	return nil
}

// defineAt defines the flag --at, whose default is now.
func defineAt(flags *pflag.FlagSet, at *time.Time) {
	*at = time.Now()
	flags.Func("at", "evaluate the policy at this `date` (its beginning in UTC) or time (default: now)",
		func(s string) (err error) {
			*at, err = suite.ParseTime(s)
			return err
		})
}

// mistake is a missing flag, or a contradiction between flags.
type mistake struct {
	made bool
	what string
}

// firstOf returns the first mistake as an error.
func firstOf(mistakes ...mistake) error {
	for _, m := range mistakes {
		if m.made {
			return errors.New(m.what)
		}
	}
	return nil
}

// stdinTwice is the mistake that several inputs are read from standard input.
func stdinTwice(names ...string) mistake {
	first := slices.Index(names, offline.Stdin)
	return mistake{
		first >= 0 && slices.Contains(names[first+1:], offline.Stdin),
		"- (stdin) can be read only once: use files for the other inputs",
	}
}

// definePolicy defines the flag of a command that reads one policy.
func definePolicy(flags *pflag.FlagSet, path *string) {
	flags.StringVarP(path, "policy", "p", "",
		"`file` or directory of the policy, the manifest of its ConfigMap, or - (stdin)")
}

// loadPolicy loads the policy at path: a file, a directory, or - for standard input. A file may also be the manifest of
// the ConfigMap that contains the policy.
func loadPolicy(path string, stdin io.Reader) (*policy.Policy, error) {
	files, err := readPolicy(path, stdin)
	if err != nil {
		return nil, err
	}
	return policy.Load(files...)
}

func readPolicy(path string, stdin io.Reader) ([]policy.File, error) {
	files, err := cli.ReadPolicy(path, stdin)
	return policystore.Unwrap(files), err
}
