package cmd

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/offline/output"
)

// The linker sets these for releases: -X github.com/evergate/evergate/cmd.version=v1.2.3, and commit and date in the
// same way. The go command records defaults for values that are not set.
var version, commit, date string //nolint:gochecknoglobals // the linker can only set variables

// buildVersion identifies a build.
type buildVersion struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`  // of the commit or the release, in the format of RFC 3339
	Dirty   bool   `json:"dirty,omitempty"` // built with changes that are not in the commit
	Go      string `json:"go,omitempty"`
}

func newVersionCommand() *cobra.Command {
	format := output.NewFlag(output.Values()...)
	c := &cobra.Command{
		Use:   "version",
		Short: "Print the version of Evergate",
		Args:  noArgs("leave it out"),
		RunE: func(c *cobra.Command, _ []string) error {
			return thisBuild().write(c.OutOrStdout(), format.Format())
		},
	}
	c.Flags().VarP(&format, "output", "o", format.Usage("the version"))
	return c
}

// thisBuild returns the build of the running binary.
func thisBuild() buildVersion {
	info, _ := debug.ReadBuildInfo() // nil only for binaries that were built without modules
	return buildVersion{Version: version, Commit: commit, Date: date}.with(info)
}

// with sets values that the linker has not set from the records of the go command. info may be nil.
func (v buildVersion) with(info *debug.BuildInfo) buildVersion {
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

func (v buildVersion) write(w io.Writer, f output.Format) error {
	if f != output.Text {
		return output.Encode(w, f, v)
	}
	_, err := fmt.Fprintln(w, v)
	return err
}

// String returns the build on one line.
func (v buildVersion) String() string {
	line := "evergate " + v.Version
	if v.Commit != "" {
		line += ", commit " + v.Commit
		if v.Dirty {
			line += " with changes"
		}
	}
	if v.Date != "" {
		line += ", " + v.Date
	}
	if v.Go != "" {
		line += ", " + v.Go
	}
	return line
}
