// Command registry is distribution's own, of its storage drivers and authentications only those that the rig uses: its
// whole command takes the libraries of three clouds, which are most of the time to compile it.
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
		os.Exit(1) // it has said why
	}
}
