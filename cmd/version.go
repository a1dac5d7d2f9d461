package cmd

import (
	"cmp"
	"fmt"
	"io"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/internal/output"
)

// Set by the linker for releases: -X github.com/evergate/evergate/cmd.version=v1.2.3, likewise commit and date. What is
// not set comes from what the go command records.
var version, commit, date string //nolint:gochecknoglobals // the linker can set nothing else

// buildVersion says which build this is.
type buildVersion struct {
	Version string `json:"version"`
	Commit  string `json:"commit,omitempty"`
	Date    string `json:"date,omitempty"`  // of the commit, or of the release: RFC 3339
	Dirty   bool   `json:"dirty,omitempty"` // built with changes that are not in the commit
	Go      string `json:"go,omitempty"`
}

func newVersionCommand() *cobra.Command {
	format := output.NewFlag(output.Values()...)
	c := &cobra.Command{
		Use:   "version",
		Short: "Say which build of Evergate this is",
		Args:  noArgs("leave it out"),
		RunE: func(c *cobra.Command, _ []string) error {
			return thisBuild().write(c.OutOrStdout(), format.Format())
		},
	}
	c.Flags().VarP(&format, "output", "o", format.Usage("it"))
	return c
}

// thisBuild is the build that runs.
func thisBuild() buildVersion {
	info, _ := debug.ReadBuildInfo() // nil, but for binaries built without modules
	return buildVersion{Version: version, Commit: commit, Date: date}.with(info)
}

// with fills what the linker has not set from what the go command has recorded; info may be nil.
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

// String returns the build in a line.
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
