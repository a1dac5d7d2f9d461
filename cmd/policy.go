package cmd

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/policy"
)

func newPolicyCommand() *cobra.Command {
	var strict bool
	check := &cobra.Command{
		Use:   "check POLICY...",
		Short: "Say whether policies are valid, and everything that is wrong with them",
		Long: `Check loads each policy, which is a file, a directory of *.yaml and *.yml files that are merged as those of a
ConfigMap are, the manifest of such a ConfigMap, or - for standard input. Of a valid one it prints how many entries
are in force and the hash by which it is called in warnings, logs and metrics, and warns of what in it does less than
it looks like; of any other it prints everything that is wrong, a line each, with file, line, column and field.

Exit codes: 0 all are valid, 2 one is not, or cannot be read; with --strict also where there is a warning.`,
		Example: "  evergate policy check policy.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("check which policy? name its file or directory")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return checkPolicies(args, strict, c.InOrStdin(), c.OutOrStdout())
		},
	}
	check.Flags().BoolVar(&strict, "strict", false, "treat warnings as errors")
	return newGroup("policy", "Work on policy files", check)
}

// checkPolicies returns everything that is wrong with all of them.
func checkPolicies(paths []string, strict bool, stdin io.Reader, stdout io.Writer) error {
	var errs []error
	for _, path := range paths {
		p, err := loadPolicy(path, stdin)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		if p.Emptied() {
			errs = append(errs, fmt.Errorf("%s: the policy is empty, there is no entry in it: write allowEmpty: true in a "+
				"document if that is meant", path))
			continue
		}
		line := "ok: " + counted(p.Counts()) + "; hash " + p.Hash()
		if len(paths) > 1 {
			line = path + ": " + line
		}
		if strict && len(p.Warnings()) > 0 {
			errs = append(errs, errors.New(strings.Join(p.Warnings(), "\n")))
			continue
		}
		for _, warning := range p.Warnings() {
			line += "\nwarning: " + warning
		}
		if _, err := fmt.Fprintln(stdout, line); err != nil {
			return err
		}
	}
	return errors.Join(errs...)
}

// counted describes what is in force: "3 mirrors, 1 pods rule".
func counted(c policy.Counts) string {
	var parts []string
	for kind, n := range c.All() {
		rules := kind + " rules"
		if kind == "mirrors" {
			rules = kind
		}
		switch n {
		case 0:
		case 1:
			parts = append(parts, "1 "+strings.TrimSuffix(rules, "s"))
		default:
			parts = append(parts, strconv.Itoa(n)+" "+rules)
		}
	}
	if len(parts) == 0 {
		return "no entry is in force, so every object is allowed and no image is rewritten"
	}
	return strings.Join(parts, ", ")
}
