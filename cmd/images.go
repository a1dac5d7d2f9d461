package cmd

import (
	"time"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/cmd/internal/cli"
	"github.com/evergate/evergate/offline/images"
)

func newImagesCommand() *cobra.Command {
	var path string
	var in inputFlags
	var request requestFlags
	var limit int
	format := cli.NewChoice("text", "pairs", "regsync", "hauler")
	c := &cobra.Command{
		Use:   "images --policy POLICY FILE...",
		Short: "List the images of Pods with their mirrors",
		Long: `Images lists each image of the Pods and workloads in the input once, with the image that is pulled instead, or
would be pulled if the mirrors entry were in mode enforce. It reads the same input as review. For Pods that have been
rewritten, it lists the original images in their annotation, which tenants may write.

Exit codes: 0 success, 1 an image is malformed, denied or left out, 2 bad flags, a bad policy or unreadable input.`,
		Example: `  kubectl get pods,cronjobs -A -o json | evergate images --policy policy.yaml -f - -o pairs`,
		Args:    cli.FilesOf("filename"),
		RunE: func(c *cobra.Command, _ []string) error {
			err := firstOf(
				mistake{path == "", cli.ErrNoPolicy.Error()},
				mistake{len(in.files) == 0, noManifests},
				stdinTwice(append(in.files, path)...),
			)
			if err == nil {
				request.Policy, err = loadPolicy(path, c.InOrStdin())
			}
			if err == nil {
				err = request.checkSets(c.ErrOrStderr(), request.Policy)
			}
			if err != nil {
				return err
			}
			request.Sets = request.Policy.SetsOf(request.Sets)
			objects, err := in.read(c.InOrStdin())
			if err != nil {
				return err
			}
			list := images.New(request.Options, newProgress(c.ErrOrStderr(), time.Now).count(objects))
			if err := list.Write(c.OutOrStdout(), format.Word, limit); err != nil {
				return err
			}
			return cli.Conclude(c.ErrOrStderr(), list.Errors, list.Problems)
		},
	}
	flags := c.Flags()
	flags.SortFlags = false
	definePolicy(flags, &path)
	in.define(flags)
	request.define(flags)
	flags.VarP(&format, "output", "o", "how to write the list: text, or for programs that copy the images pairs, "+
		"regsync or hauler, which leaves out images with a digest")
	flags.IntVar(&limit, "limit", listedObjects, "maximum number of images in text; 0 lists all")
	return c
}
