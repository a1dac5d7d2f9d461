package cmd

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/internal/input"
	"github.com/evergate/evergate/offline"
	"github.com/evergate/evergate/offline/mirrors"
	"github.com/evergate/evergate/offline/output"
)

func newImportCommand() *cobra.Command {
	return cli.NewGroup("import", "Convert the configuration of other software to a policy", newImportMirrorsCommand())
}

// importMirrorsFlags are the flags of evergate import mirrors.
type importMirrorsFlags struct {
	accept bool
	images string
	format *output.Format
}

func newImportMirrorsCommand() *cobra.Command {
	var f importMirrorsFlags
	c := &cobra.Command{
		Use:   "mirrors FILE...",
		Short: "Convert tables of mirrors to the mirrors block of a policy",
		Long: `Mirrors reads tables of mirrors, prints a policy with a mirrors block, and prints a report to standard error.
FILE is one of:

  ImageDigestMirrorSet, ImageTagMirrorSet, ImageContentSourcePolicy of OpenShift
  registries.conf of CRI-O and Podman
  hosts.toml of containerd in the folder of its registry, such as certs.d/docker.io/hosts.toml
  registries.yaml of k3s and RKE2
  the rules of harbor-container-webhook, in its configuration or in the values of its chart

Several files are one table. - is standard input. Mirrors reads each image that it generates from the table with both
the table and the policy. A row is exact if all of these images are pulled first from the same place as before. By
default, the policy contains only exact rows. A policy has one mirror for an image and never falls back to the original
registry, so the report lists lost mirrors and fallbacks as notes.

With --check-images, mirrors also compares the images in manifests or in a dump of a cluster.

Exit codes: 0 all rows are exact and no checked image changes, 1 a row or a checked image differs, 2 bad flags, or input
that cannot be read.`,
		Example: `  evergate import mirrors registries.conf >mirrors.yaml
  oc get imagedigestmirrorset,imagetagmirrorset -o yaml | evergate import mirrors - >mirrors.yaml
  kubectl get pods -A -o json | evergate import mirrors registries.yaml --check-images - >mirrors.yaml`,
		RunE: func(c *cobra.Command, args []string) error {
			return f.run(args, c.InOrStdin(), c.OutOrStdout(), c.ErrOrStderr())
		},
	}
	c.Flags().BoolVar(&f.accept, "accept-differences", false,
		"also write the rows that pull some images from another place, with a comment")
	c.Flags().StringVar(&f.images, "check-images", "",
		"compare the images of the Pods and workloads in this `file` or directory, or - (stdin)")
	f.format = cli.DefineFormat(c.Flags(), "the report")
	return c
}

func (f *importMirrorsFlags) run(paths []string, stdin io.Reader, stdout, stderr io.Writer) error {
	if err := firstOf(
		mistake{len(paths) == 0, "no table of mirrors: add a file or - for stdin"},
		stdinTwice(slices.Concat(paths, []string{f.images})...),
	); err != nil {
		return err
	}
	var files []mirrors.File
	for _, path := range paths {
		data, err := readTable(path, stdin)
		if err != nil {
			return fmt.Errorf("read the table: %w", err)
		}
		files = append(files, mirrors.File{Name: path, Data: data})
	}
	table, err := mirrors.Read(files)
	if err != nil {
		return err
	}
	imported, err := mirrors.Import(table, f.accept)
	if err != nil {
		return err
	}
	var images []string
	if f.images != "" {
		if images, err = mirrors.Images(offline.Read([]string{f.images}, stdin)); err != nil {
			return err
		}
		if len(images) == 0 {
			return errors.New("--check-images has no Pods or workloads: use manifests, or kubectl get pods -A -o json")
		}
	}
	if _, err := io.WriteString(stdout, imported.Policy()); err != nil {
		return err
	}
	report := imported.Report(images)
	if err := cli.Write(stderr, *f.format, report, output.Options{}); err != nil || report.IsExact() {
		return err
	}
	return cli.Exit(cli.Found)
}

// maxTable is the maximum size of a file with a table, in bytes. The tables of large clusters have some hundred rows.
const maxTable = 4 << 20

// readTable reads a file, or standard input.
func readTable(path string, stdin io.Reader) ([]byte, error) {
	if path == offline.Stdin {
		return io.ReadAll(io.LimitReader(stdin, maxTable))
	}
	return input.Read(path, maxTable)
}
