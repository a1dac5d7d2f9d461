package cmd

import (
	"errors"
	"fmt"
	"io"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/internal/output"
	"github.com/evergate/evergate/internal/settings"
	"github.com/evergate/evergate/policytest"
)

// testFlags are the flags of evergate test.
type testFlags struct {
	run             string
	requireCoverage bool
	output          output.Flag
	text            *textFlags
}

func newTestCommand(env settings.Environment) *cobra.Command {
	f := testFlags{output: output.NewFlag(output.All()...), text: newTextFlags(env, failOnError)}
	c := &cobra.Command{
		Use:   "test DIRECTORY...",
		Short: "Run the tests of policies: suites of objects, with what is expected of each",
		Long: `Test runs suites: files called *_test.yaml, in directories with all beneath them or named themselves. A
suite names a policy, and cases: an object, who sends it, and what the policy is expected to do, which is decided by
the code that answers kube-apiserver. docs/testing-policies.md has all fields.

For a case that failed, test prints the difference between what is expected and what is decided, as fields of the
suite. At the end it lists the entries of the policies that no case has reached.

Exit codes: 0 all cases passed, 1 a case failed, or with --require-coverage an entry was not reached, with --fail-on
warn also without it, 2 bad flags, or a suite, a policy or an object that is not understood.`,
		Example: `  evergate test policies/
  evergate test policies/ --run 'latest|digest'
  evergate test policies/ --require-coverage -o junit > report.xml`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("test what? name a directory with *_test.yaml files, or such a file")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return f.test(args, c.OutOrStdout(), c.ErrOrStderr())
		},
		ValidArgsFunction: completePolicies,
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.run, "run", "", "run only cases whose names this regular `expression` matches")
	flags.BoolVar(&f.requireCoverage, "require-coverage", false, "fail where no case reaches an entry of a policy")
	flags.VarP(&f.output, "output", "o", f.output.Usage("the report"))
	f.text.define(flags)
	return c
}

func (f *testFlags) test(paths []string, stdout, stderr io.Writer) error {
	only, err := f.pattern()
	if err != nil {
		return err
	}
	files, err := policytest.Find(paths)
	if err != nil {
		return err
	}
	report := policytest.Run(files, only)
	if only != nil && report.Summary.Cases == 0 && len(report.Errors) == 0 {
		return fmt.Errorf("--run %s: no case has such a name", f.run)
	}
	if err := f.write(stdout, report); err != nil {
		return err
	}
	for _, line := range report.Errors {
		printError(stderr, errors.New(line))
	}
	uncovered := f.coverageFails() && !report.Covered()
	switch {
	case len(report.Errors) > 0:
		return &exitError{code: exitUsage}
	case report.Summary.Failed > 0 || uncovered:
		return &exitError{code: exitFound}
	}
	return nil
}

// coverageFails reports whether an entry that no case reaches fails.
func (f *testFlags) coverageFails() bool { return f.requireCoverage || f.text.failOnWarnings() }

// pattern returns which cases are run; nil for all.
func (f *testFlags) pattern() (*regexp.Regexp, error) {
	if f.run == "" {
		return nil, nil
	}
	if f.coverageFails() {
		return nil, errors.New("--run leaves cases out, and what they reach: leave out --require-coverage and --fail-on")
	}
	only, err := regexp.Compile(f.run)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	return only, nil
}

func (f *testFlags) write(stdout io.Writer, r *policytest.Report) error {
	colors := f.text.colors(stdout)
	stdout = f.text.writer(stdout)
	if format := f.output.Format(); format != output.Text {
		return writeReport(stdout, format, r, output.Report{Command: "test"}, func() []output.Case {
			return r.Cases(f.coverageFails())
		})
	}
	err := r.WriteText(stdout, policytest.TextOptions{Colors: colors, OnlyFailures: f.text.onlyFailures})
	if err != nil {
		return fmt.Errorf("cannot write the report: %w", err)
	}
	return nil
}
