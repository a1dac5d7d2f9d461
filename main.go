// Evergate is a Kubernetes admission webhook that rewrites images and validates Ingresses and Services.
package main

import (
	"context"
	"os"

	"github.com/evergate/evergate/cmd"
)

func main() {
	os.Exit(cmd.Run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
