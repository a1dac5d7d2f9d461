// Evergate is a Kubernetes admission webhook that rewrites Pod images and validates workloads, network objects and
// certificates.
package main

import (
	"context"
	"os"

	"github.com/evergate/evergate/cmd"
)

func main() {
	os.Exit(cmd.Run(context.Background(), os.Args[1:], os.Environ(), os.Stdin, os.Stdout, os.Stderr))
}
