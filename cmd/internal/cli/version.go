package cli

import (
	"cmp"
	"runtime/debug"

	"github.com/evergate/evergate/offline/output"
)

// The linker sets these for releases: -X github.com/evergate/evergate/cmd/internal/cli.version=v1.2.3, and commit and
// date in the same way. The go command records defaults for values that are not set.
var version, commit, date string //nolint:gochecknoglobals // the linker can only set variables

// Version identifies a build. Its JSON is an interface.
type Version struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`  // of the commit or the release, in the format of RFC 3339
	Dirty   bool   `json:"dirty,omitempty"` // built with changes that are not in the commit
	Go      string `json:"go,omitempty"`
}

// Build returns the version of the running binary.
func Build() Version {
	info, _ := debug.ReadBuildInfo() // nil only for binaries that were built without modules
	return Version{Version: version, Commit: commit, Date: date}.with(info)
}

// with sets values that the linker has not set from the records of the go command. info may be nil.
func (v Version) with(info *debug.BuildInfo) Version {
	if info != nil {
		recorded := map[string]string{}
		for _, s := range info.Settings {
			recorded[s.Key] = s.Value
		}
		v.Dirty = v.Commit == "" && recorded["vcs.modified"] == "true"
		v.Version = cmp.Or(v.Version, info.Main.Version)
		v.Commit = cmp.Or(v.Commit, recorded["vcs.revision"])
		v.Date = cmp.Or(v.Date, recorded["vcs.time"])
		v.Go = info.GoVersion
	}
	v.Version = cmp.Or(v.Version, "unknown")
	return v
}

// WriteText writes the version on one line.
func (v Version) WriteText(p *output.Printer) { p.Line("evergate %s", v) }

// String returns the version on one line, without the name of the program.
func (v Version) String() string {
	commit := ""
	if v.Commit != "" {
		commit = "commit " + v.Commit
		if v.Dirty {
			commit += " with changes"
		}
	}
	return output.List(v.Version, commit, v.Date, v.Go)
}
