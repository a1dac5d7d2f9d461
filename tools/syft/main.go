// Syft is the command line of github.com/anchore/syft, which writes the SBOMs of a release. The main package of that
// module also contains SQLite, which takes minutes to compile. Without SQLite, the catalogers of RPM packages fail.
package main

import (
	"runtime/debug"

	"github.com/anchore/clio"
	"github.com/anchore/syft/cmd/syft/cli"
)

func main() {
	id := clio.Identification{Name: "syft"}
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == "github.com/anchore/syft" {
				id.Version = m.Version // SBOMs contain it
			}
		}
	}
	cli.Application(id).Run()
}
