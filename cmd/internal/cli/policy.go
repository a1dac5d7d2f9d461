package cli

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/lifecycle/policystore"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
)

// maxPolicyInput limits the bytes that are read from standard input. It is many times the size of a policy. The
// limits in package policy return better error messages.
const maxPolicyInput = 64 << 20

// ReadPolicy reads the policy at path, which must exist: a file, a directory, or - for standard input.
func ReadPolicy(path string, stdin io.Reader) ([]policy.File, error) {
	if path != offline.Stdin {
		return policystore.Read(path)
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxPolicyInput))
	if err != nil {
		return nil, fmt.Errorf("read the policy from stdin: %w", err)
	}
	return []policy.File{{Name: "stdin", Data: data}}, nil
}

// FilesOf returns a validator that adds arguments to the files of a flag.
func FilesOf(flag string) cobra.PositionalArgs {
	return func(c *cobra.Command, args []string) error {
		for _, arg := range args {
			f := c.Flags().Lookup(flag)
			if _, many := f.Value.(pflag.SliceValue); f.Changed && !many {
				return fmt.Errorf("%s reads only one file or directory: leave out %s", c.CommandPath(), text.Quote(arg))
			}
			if err := c.Flags().Set(flag, arg); err != nil {
				return err
			}
		}
		return nil
	}
}

// ErrNoPolicy is the error if a command that needs a policy does not get one.
var ErrNoPolicy = errors.New("no policy: add its file or directory with --policy")
