package cmd

import (
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// envPrefix begins the names of all variables that set a flag.
const envPrefix = "EVERGATE_"

// environment holds the variables that begin with envPrefix and are not empty, by name.
type environment map[string]string

func newEnvironment(environ []string) environment {
	env := environment{}
	for _, entry := range environ {
		if name, value, _ := strings.Cut(entry, "="); strings.HasPrefix(name, envPrefix) && value != "" {
			env[name] = value
		}
	}
	return env
}

// variable is the name of the variable that sets a flag.
func variable(flag string) string {
	return envPrefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// hasVariable says whether a flag has a variable. Help has none: a variable would disable the command.
func hasVariable(f *pflag.Flag) bool { return f.Name != "help" }

// apply sets every flag that the command line has not set from its variable.
func (env environment) apply(flags *pflag.FlagSet) error {
	var failed error
	flags.VisitAll(func(f *pflag.Flag) {
		value, ok := env[variable(f.Name)]
		if !ok || f.Changed || !hasVariable(f) || failed != nil {
			return
		}
		if err := setFlag(flags, f, value); err != nil {
			failed = fmt.Errorf("the environment variable %s: %w", variable(f.Name), err)
		}
	})
	return failed
}

func setFlag(flags *pflag.FlagSet, f *pflag.Flag, value string) error {
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return plain(flags.Set(f.Name, value), value)
	}
	values, err := csv.NewReader(strings.NewReader(value)).Read()
	if err != nil {
		return fmt.Errorf("%q is not a list of values separated by commas: %w", value, err)
	}
	f.Changed = true
	return list.Replace(values)
}

// plain removes from an error of package pflag what refers to the command line, and to Go.
func plain(err error, value string) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = invalid.Unwrap()
		if _, ok := errors.AsType[*strconv.NumError](err); ok {
			return fmt.Errorf("%q is not a %s", value, invalid.GetFlag().Value.Type())
		}
	}
	return err
}

// ofService matches the variables that Kubernetes puts into every Pod for the Services of its namespace, of which
// evergate is likely to be one: EVERGATE_SERVICE_HOST, EVERGATE_PORT, EVERGATE_OPS_PORT_443_TCP_ADDR. No flag may have
// such a name.
var ofService = regexp.MustCompile(
	`^EVERGATE_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_.+)?)?)$`)

// unknown returns a warning for each variable that sets no flag of any command: most likely it is misspelt.
func (env environment) unknown(root *cobra.Command) []error {
	known := map[string]bool{}
	eachFlag(root, func(f *pflag.Flag) { known[variable(f.Name)] = true })
	var warnings []error
	for name := range env {
		if !known[name] && !ofService.MatchString(name) {
			flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, envPrefix)), "_", "-")
			warnings = append(warnings, fmt.Errorf("warning: the environment variable %s is ignored: there is no flag --%s",
				name, flag))
		}
	}
	slices.SortFunc(warnings, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return warnings
}

// describeVariables names in the help of each flag the variable that sets it.
func describeVariables(root *cobra.Command) {
	eachFlag(root, func(f *pflag.Flag) { f.Usage += " [" + variable(f.Name) + "]" })
}

// eachFlag calls visit for the flags of a command and of all below it.
func eachFlag(c *cobra.Command, visit func(*pflag.Flag)) {
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if hasVariable(f) {
			visit(f)
		}
	})
	for _, sub := range c.Commands() {
		eachFlag(sub, visit)
	}
}
