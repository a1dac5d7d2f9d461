// Program argocd runs one process of Argo CD: the application controller, the repository server, or a Redis in memory.
// It does not contain the other processes of Argo CD, because they would double the time to compile it.
package main

import (
	"fmt"
	"os"

	"github.com/alicebob/miniredis/v2"
	controller "github.com/argoproj/argo-cd/v3/cmd/argocd-application-controller/commands"
	repository "github.com/argoproj/argo-cd/v3/cmd/argocd-repo-server/commands"
	"github.com/spf13/cobra"
)

func main() {
	root := &cobra.Command{Use: "argocd", SilenceUsage: true}
	root.AddCommand(controller.NewCommand(), repository.NewCommand(), &cobra.Command{
		Use:  "redis ADDRESS",
		Args: cobra.ExactArgs(1),
		RunE: func(_ *cobra.Command, args []string) error {
			if err := miniredis.NewMiniRedis().StartAddr(args[0]); err != nil {
				return fmt.Errorf("start Redis: %w", err)
			}
			select {} // until the process is killed
		},
	})
	if root.Execute() != nil { // it prints the error
		os.Exit(1)
	}
}
