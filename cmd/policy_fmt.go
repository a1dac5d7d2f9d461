package cmd

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/internal/linediff"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/policy"
	"github.com/evergate/evergate/policystore"
)

// exitDiffers says that policy fmt -d has found a file that is not formatted.
const exitDiffers = 1

// fmtFlags are the flags of evergate policy fmt.
type fmtFlags struct{ write, diff bool }

func newPolicyFmtCommand() *cobra.Command {
	var f fmtFlags
	c := &cobra.Command{
		Use:   "fmt [-w] [-d] FILE...",
		Short: "Format policy files: order of fields, indentation, blank lines",
		Long: `Fmt prints policy files with their fields in the order of the schema, indented by two spaces, without
repeated blank lines. Comments and values stay as they are written, and the policy means the same; its hash, which is
that of its text, changes. Lists and mappings in brackets that span several lines stay as they are. A directory stands
for its *.yaml and *.yml files, - for standard input.

Exit codes: 0 formatted, 1 with -d: a file is not formatted, 2 a file is not a policy, cannot be formatted, or cannot
be read or written; then it stays as it is.`,
		Example: "  evergate policy fmt -w policy/\n  evergate policy fmt -d policy.yaml   # in a pipeline",
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return errors.New("format which policy? name its file or directory")
			}
			return nil
		},
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args, c.InOrStdin(), c.OutOrStdout())
		},
		ValidArgsFunction: completePolicies,
	}
	c.Flags().BoolVarP(&f.write, "write", "w", false, "write each file that changes, instead of printing it")
	c.Flags().BoolVarP(&f.diff, "diff", "d", false, "print the difference, and exit with 1 where there is one")
	return c
}

// run formats each file, and goes on after an error.
func (f *fmtFlags) run(paths []string, stdin io.Reader, stdout io.Writer) error {
	var errs []error
	differs := false
	for _, path := range paths {
		files, err := readAsWritten(path, stdin)
		errs = append(errs, err)
		for _, file := range files {
			changed, err := f.format(file, path == offline.Stdin, stdout)
			errs = append(errs, err)
			differs = differs || changed
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	if f.diff && differs {
		return &exitError{code: exitDiffers}
	}
	return nil
}

// readAsWritten reads policy files, and no blocks of manifests. Each is named by its path.
func readAsWritten(path string, stdin io.Reader) ([]policy.File, error) {
	if path != offline.Stdin {
		files, err := policystore.Read(path)
		info, statErr := os.Stat(path)
		for i := range files { // they are named without their directory
			if statErr == nil && info.IsDir() {
				files[i].Name = filepath.Join(path, files[i].Name)
			} else {
				files[i].Name = path
			}
		}
		return files, err
	}
	data, err := io.ReadAll(io.LimitReader(stdin, maxPolicyInput))
	if err != nil {
		return nil, fmt.Errorf("read the policy from stdin: %w", err)
	}
	return []policy.File{{Name: "stdin", Data: data}}, nil
}

// format formats one file, and reports whether that changes it.
func (f *fmtFlags) format(file policy.File, piped bool, stdout io.Writer) (changed bool, err error) {
	formatted, err := policy.Format(policy.File{Name: text.Path(file.Name), Data: file.Data})
	if err != nil {
		return false, err
	}
	changed = !bytes.Equal(file.Data, formatted)
	if changed && f.diff {
		diff := linediff.Unified(text.Path(file.Name), text.Path(file.Name)+" (formatted)", file.Data, formatted)
		if _, err := io.WriteString(stdout, diff); err != nil {
			return changed, err
		}
	}
	switch {
	case changed && f.write && !piped:
		return changed, rewrite(file.Name, formatted)
	case !f.diff && (!f.write || piped):
		_, err = stdout.Write(formatted)
	}
	return changed, err
}

// rewrite replaces the content of a file, and keeps its mode.
func rewrite(path string, text []byte) error {
	info, err := os.Stat(path)
	if err == nil {
		err = os.WriteFile(path, text, info.Mode().Perm())
	}
	if err != nil {
		return fmt.Errorf("write the formatted policy: %w", err)
	}
	return nil
}

// completePolicies completes the names of policy files.
func completePolicies(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
	return []cobra.Completion{"yaml", "yml"}, cobra.ShellCompDirectiveFilterFileExt
}
