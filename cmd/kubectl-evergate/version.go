package main

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// The linker sets these for releases: -X main.version=v1.2.3, and commit and date in the same way.
var version, commit, date string //nolint:gochecknoglobals // the linker can only set variables

// thisBuild returns the version of the running binary, in the format of evergate --version.
func thisBuild() string {
	line := version
	if info, ok := debug.ReadBuildInfo(); ok {
		line = cmp.Or(line, info.Main.Version)
	}
	line = cmp.Or(line, "unknown")
	if commit != "" {
		line += ", commit " + commit
	}
	if date != "" {
		line += ", " + date
	}
	return line + ", " + runtime.Version()
}
