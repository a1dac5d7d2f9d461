package cmd

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/policy/suite"
)

// atFlag is the flag --at: a date, which means its beginning in UTC, or a time in the format of RFC 3339. The zero
// value means now.
type atFlag struct{ at time.Time }

// define adds the flag to the flags of a command.
func (f *atFlag) define(flags *pflag.FlagSet) {
	flags.Var(f, "at", "evaluate the policy at this `date` (its beginning in UTC) or time (default: now)")
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

// time returns the value of the flag.
func (f *atFlag) time() time.Time {
	if f.at.IsZero() {
		return time.Now()
	}
	return f.at
}
