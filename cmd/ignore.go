package cmd

import (
	"fmt"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/offline"
)

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
