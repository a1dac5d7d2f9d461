package cmd

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/offline"
)

// noManifests is the error if a command that needs manifests does not get any.
const noManifests = "no manifests: add a file, a directory or - for stdin"

// defineIgnore defines the flag with patterns for files that are not read.
func defineIgnore(flags *pflag.FlagSet, patterns *[]string) {
	flags.StringArrayVar(patterns, "ignore", nil,
		"`pattern` (as in .gitignore) for files in directories that are not read; repeatable")
}

// parseIgnore parses the patterns of --ignore. Without patterns it returns nil.
func parseIgnore(patterns []string) (*offline.Ignore, error) {
	if len(patterns) == 0 {
		return nil, nil
	}
	ignore, err := offline.ParseIgnore(patterns)
	if err != nil {
		return nil, fmt.Errorf("--ignore: %w", err)
	}
	return ignore, nil
}
