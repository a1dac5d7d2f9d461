package cmd

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/policy/suite"
)

// atFlag is --at: a date, which is its beginning in UTC, or a time as RFC 3339 has it. Its zero value is now.
type atFlag struct{ at time.Time }

// define adds the flag to those of a command.
func (f *atFlag) define(flags *pflag.FlagSet) {
	flags.Var(f, "at", "judge as if it were this `date`, from its beginning in UTC, or this time (default: now)")
}

// Set implements pflag.Value.
func (f *atFlag) Set(s string) error {
	at, err := suite.ParseTime(s)
	if err == nil {
		f.at = at
	}
	return err
}

// String implements pflag.Value.
func (f *atFlag) String() string {
	if f.at.IsZero() {
		return ""
	}
	return f.at.Format(time.RFC3339)
}

// Type implements pflag.Value.
func (*atFlag) Type() string { return "date" }

// time returns what the flag says.
func (f *atFlag) time() time.Time {
	if f.at.IsZero() {
		return time.Now()
	}
	return f.at
}
