package cmd

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/lifecycle/policystore"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// maxPolicyInput limits the bytes that are read from standard input. It is many times the size of a policy. The
// limits in package policy return better error messages.
const maxPolicyInput = 64 << 20

// loadPolicy loads the policy at path, which must exist: a file, a directory, or - for standard input. A file may
// also be the manifest of the ConfigMap that contains the policy.
func loadPolicy(path string, stdin io.Reader) (*policy.Policy, error) {
	files, err := readPolicy(path, stdin)
	if err != nil {
		return nil, err
	}
	return policy.Load(files...)
}

func readPolicy(path string, stdin io.Reader) ([]policy.File, error) {
	if path == offline.Stdin {
		data, err := io.ReadAll(io.LimitReader(stdin, maxPolicyInput))
		if err != nil {
			return nil, fmt.Errorf("read the policy from stdin: %w", err)
		}
		return policystore.Unwrap([]policy.File{{Name: "stdin", Data: data}}), nil
	}
	files, err := policystore.Read(path)
	if err != nil {
		return nil, err
	}
	return policystore.Unwrap(files), nil
}

// errNoPolicy is the error if a command that needs a policy does not get one.
var errNoPolicy = errors.New("no policy: add its file or directory with --policy")

// definePolicy defines the flag of a command that reads one policy.
func definePolicy(flags *pflag.FlagSet, path *string) {
	flags.StringVarP(path, "policy", "p", "",
		"`file` or directory of the policy, the manifest of its ConfigMap, or - (stdin)")
}

// completeSuites completes the names of test suites.
func completeSuites(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
