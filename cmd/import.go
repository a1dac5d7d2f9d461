package cmd

import (
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/internal/text"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/mirrors"
	"github.com/evergate/evergate/offline/output"
)

const (
	maxTables = 1000
	maxTable  = 1 << 20 // bytes; the tables of large clusters have a few hundred rows
)

func newImportCommand() *cobra.Command {
	return cli.NewGroup("import", "Convert the configuration of other software to a policy", newImportMirrorsCommand())
}

// importMirrorsFlags are the flags of evergate import mirrors.
type importMirrorsFlags struct {
	accept bool
	images []string
	format *output.Format
}

func newImportMirrorsCommand() *cobra.Command {
	var f importMirrorsFlags
	c := &cobra.Command{
		Use:   "mirrors FILE...",
		Short: "Convert tables of mirrors to the mirrors block of a policy",
		Long: `Mirrors reads tables of mirrors, prints a policy with the exact rows, and prints a report to standard error.
FILE is an ImageDigestMirrorSet, ImageTagMirrorSet or ImageContentSourcePolicy of OpenShift, registries.conf of CRI-O,
hosts.toml of containerd in the folder of its registry, registries.yaml of k3s, the rules of harbor-container-webhook,
or - (stdin). Several files are one table. See docs/policy/mirrors.md#import-a-table-of-mirrors.

Exit codes: 0 all rows are exact and no checked image changes, 1 a row or a checked image differs, 2 bad flags, or input
that cannot be read.`,
		Example: `  evergate import mirrors registries.conf >mirrors.yaml
  kubectl get pods -A -o json | evergate import mirrors registries.conf --check-images - >mirrors.yaml`,
		Args: cli.Args(1, maxTables, "no table of mirrors: add a file or - for stdin"),
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().BoolVar(&f.accept, "accept-differences", false,
		"also write the rows that pull some images from another place, with a comment")
	c.Flags().StringArrayVar(&f.images, "check-images", nil,
		"also compare the images of Pods and workloads in this `file` or directory, or - (stdin); repeatable")
	f.format = cli.DefineFormat(c.Flags(), "the report")
	return c
}

func (f *importMirrorsFlags) run(paths []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := firstOf(stdinTwice(slices.Concat(paths, f.images)...)); err != nil {
		return err
	}
	var files []mirrors.File
	for _, path := range paths {
		file, err := readFile(path, stdin, maxTable)
		if err != nil {
			return err
		}
		files = append(files, file)
	}
	table, err := mirrors.Read(files)
	if err != nil {
		return err
	}
	imported, err := mirrors.Import(table, f.accept)
	if err != nil {
		return err
	}
	if _, err := io.WriteString(stdout, imported.Policy()); err != nil {
		return err
	}
	report := imported.Report(offline.Read(f.images, stdin))
	if err := cli.Write(stderr, *f.format, report, output.Options{}); err != nil {
		return err
	}
	if len(report.Errors) > 0 || report.IsExact() {
		return cli.Conclude(stderr, report.Errors, nil)
	}
	return cli.Exit(cli.Found)
}

// readFile reads a file, or standard input.
func readFile(path string, stdin io.Reader, limit int64) (mirrors.File, error) {
	if path != offline.Stdin {
		data, err := input.Read(path, limit)
		return mirrors.File{Name: path, Data: data}, err
	}
	data, err := io.ReadAll(io.LimitReader(stdin, limit+1))
	if err == nil && int64(len(data)) > limit {
		err = fmt.Errorf("stdin has more than %s bytes, which is the limit", text.Thousands(int(limit)))
	}
	return mirrors.File{Name: "stdin", Data: data}, err
}
