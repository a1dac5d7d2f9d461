package settings

import (
	"encoding/csv"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
)

// Prefix is the beginning of the names of all environment variables that set a flag.
const Prefix = "EVERGATE_"

// Environment contains the environment variables of a process, by name. An empty variable counts as not set.
type Environment map[string]string

// NewEnvironment returns the environment in entries, which have the format of os.Environ.
func NewEnvironment(entries []string) Environment {
	env := Environment{}
	for _, entry := range entries {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// Variable returns the name of the environment variable that sets a flag.
func Variable(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// HasVariable reports whether a flag can be set by a variable. The flag help cannot, because such a variable would
// disable the command.
func HasVariable(f *pflag.Flag) bool { return f.Name != "help" }

// Apply sets every flag that was not set on the command line from its variable. The error has a line for each invalid
// variable.
func (env Environment) Apply(flags *pflag.FlagSet) error {
	var rejected []error
	flags.VisitAll(func(f *pflag.Flag) {
		value := env[Variable(f.Name)]
		if value == "" || f.Changed || !HasVariable(f) {
			return
		}
		if err := setFlag(flags, f, value); err != nil {
			rejected = append(rejected, fmt.Errorf("the environment variable %s: %w", Variable(f.Name), err))
		}
	})
	return errors.Join(rejected...)
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

// plain removes references to the command line and to Go from an error of package pflag.
func plain(err error, value string) error {
	if invalid, ok := errors.AsType[*pflag.InvalidValueError](err); ok {
		err = invalid.Unwrap()
		if _, ok := errors.AsType[*strconv.NumError](err); ok {
			return fmt.Errorf("%q is not a %s", value, invalid.GetFlag().Value.Type())
		}
	}
	return err
}

// OfService reports whether Kubernetes sets a variable with this name for a Service in every Pod of its namespace.
// The Service of Evergate is probably called evergate, which leads to EVERGATE_SERVICE_HOST, EVERGATE_PORT or
// EVERGATE_OPS_PORT_443_TCP_ADDR. Flags must not have such names.
func OfService(name string) bool {
	return regexp.MustCompile(
		`^EVERGATE_(.+_)?(SERVICE_HOST|SERVICE_PORT(_.+)?|PORT(_\d+_(TCP|UDP|SCTP)(_.+)?)?)$`).MatchString(name)
}

// Ignored returns an error for each variable that does not set a flag according to known. The name is probably
// misspelt.
func (env Environment) Ignored(known func(variable string) bool) []error {
	var ignored []error
	for name, value := range env {
		if strings.HasPrefix(name, Prefix) && value != "" && !known(name) && !OfService(name) {
			flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, Prefix)), "_", "-")
			ignored = append(ignored, fmt.Errorf("the environment variable %s is ignored: there is no flag --%s", name, flag))
		}
	}
	slices.SortFunc(ignored, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return ignored
}
