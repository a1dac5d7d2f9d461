package cmd

import (
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/lifecycle/settings"
	"github.com/evergate/evergate/offline/suiterunner"
)

// testFlags are the flags of evergate test.
type testFlags struct {
	run             string
	requireCoverage bool
	report          *cli.Report
}

func newTestCommand(env settings.Environment) *cobra.Command {
	f := testFlags{report: cli.NewReport(env, "error", cli.Warn)}
	c := &cobra.Command{
		Use:   "test DIRECTORY...",
		Short: "Run the test suites of policies",
		Long: `Test runs test suites. A suite is a file called *_test.yaml. For a directory, test runs all suites in it and
in its subdirectories. A suite contains a policy and cases. A case contains an object, the user that sends it, and the
expected decision. Test uses the same code as the webhook. docs/testing-policies.md describes all fields.

For a failed case, test prints the difference between the expected and the actual decision, as fields of the suite. At
the end it lists the entries of the policies that no case has reached.

Exit codes: 0 all cases passed, 1 a case failed (with --require-coverage or --fail-on warn also if an entry was not
reached), 2 bad flags, or a suite, a policy or an object that cannot be read.`,
		Example: `  evergate test policies/
  evergate test policies/ --run 'latest|digest'
  evergate test policies/ --require-coverage -o junit > report.xml`,
		Args: cli.Args(1, math.MaxInt, "no test suite: add a directory with *_test.yaml files, or such a file"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.test(args, c.OutOrStdout(), c.ErrOrStderr())
		},
		ValidArgsFunction: cobra.FixedCompletions([]string{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt),
	}
	flags := c.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.run, "run", "", "run only cases whose names match this regular `expression`")
	flags.BoolVar(&f.requireCoverage, "require-coverage", false, "fail if no case reaches an entry of a policy")
	f.report.Define(flags, "the report", "")
	return c
}

func (f *testFlags) test(paths []string, stdout, stderr io.Writer) error {
	only, err := f.pattern()
	if err != nil {
		return err
	}
	files, err := suiterunner.Find(paths)
	if err != nil {
		return err
	}
	report := suiterunner.Run(files, only)
	report.RequireCoverage = f.coverageFails()
	if only != nil && report.Summary.Cases == 0 && len(report.Errors) == 0 {
		return fmt.Errorf("--run %s: no case name matches", f.run)
	}
	if err := f.report.Write(stdout, "test", report); err != nil {
		return err
	}
	cli.Say(stderr, report.Errors...)
	switch {
	case len(report.Errors) > 0:
		return cli.Exit(cli.Usage)
	case report.Summary.Failed > 0, report.RequireCoverage && !report.Covered():
		return cli.Exit(cli.Found)
	}
	return nil
}

// coverageFails reports whether the command fails if no case reaches an entry.
func (f *testFlags) coverageFails() bool { return f.requireCoverage || f.report.FailOnWarnings() }

// pattern returns the pattern of the cases to run, or nil for all cases.
func (f *testFlags) pattern() (*regexp.Regexp, error) {
	if f.run == "" {
		return nil, nil
	}
	if f.coverageFails() {
		return nil, errors.New("--run leaves out cases, so coverage is unknown: leave out --require-coverage and --fail-on")
	}
	only, err := regexp.Compile(f.run)
	if err != nil {
		return nil, fmt.Errorf("--run: %w", err)
	}
	return only, nil
}
