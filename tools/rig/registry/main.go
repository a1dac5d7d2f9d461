// Command registry is distribution with only the storage drivers and authentication methods that the rig uses. The
// complete command includes the libraries of three clouds, which take most of its compile time.
//
//	registry serve CONFIG
package main

import (
	"os"

	"github.com/distribution/distribution/v3/registry"

	// Drivers register themselves.
	_ "github.com/distribution/distribution/v3/registry/auth/htpasswd"
	_ "github.com/distribution/distribution/v3/registry/storage/driver/filesystem"
)

func main() {
	if err := registry.RootCmd.Execute(); err != nil {
		os.Exit(1) // the command has printed the error
	}
}
