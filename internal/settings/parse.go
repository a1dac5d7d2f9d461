package settings

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/telemetry"
)

// Unknown is the placeholder for an unknown value in an argument or variable, for example the value of a key in a
// Secret. Real values cannot contain it, because they cannot contain NUL bytes.
const Unknown = "\x00"

func isUnknown(s string) bool { return strings.Contains(s, Unknown) }

// Container contains the known part of the configuration of evergate serve in a container.
type Container struct {
	Args []string // after serve
	Env  Environment
	// Hidden contains prefixes of the names of variables that may be set without being in Env. The prefix "" means
	// every variable.
	Hidden []string
}

// Parsed contains the flags of evergate serve in a container. If Known does not report a flag, the flag has its
// default, or a string with Unknown instead of the unknown part.
type Parsed struct {
	Serve
	unknown map[string]bool // by flag
}

// Known reports whether the values of all these flags are known.
func (p *Parsed) Known(flags ...string) bool {
	return !slices.ContainsFunc(flags, func(name string) bool { return p.unknown[name] })
}

// Parse returns the settings and every error that would prevent evergate serve from starting. It does not read the
// files in the settings. It does not report errors that depend on unknown values.
func (c Container) Parse() (*Parsed, []error) {
	p := &Parsed{unknown: map[string]bool{}}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.SetOutput(io.Discard) // --help would write to it
	p.Define(flags)
	partial, errs := p.parse(flags, c.Args)
	flags.VisitAll(func(f *pflag.Flag) {
		hidden := partial || c.hides(Variable(f.Name))
		if hidden && !f.Changed && f.Name != "dev" { // --dev is for laptops, so a hidden variable does not set it
			p.unknown[f.Name] = true
		}
	})
	errs = append(errs, p.apply(flags, c.Env)...)
	p.complete(flags)
	for _, r := range p.problems() {
		if p.Known(r.flags...) {
			errs = append(errs, r.err)
		}
	}
	return p, append(errs, separate(telemetry.CheckEnvironment(c.tracing))...)
}

// parse sets flags from arguments. It continues after an error, to find all errors. partial reports whether there may
// be more arguments than are known.
func (p *Parsed) parse(flags *pflag.FlagSet, args []string) (partial bool, errs []error) {
	var rejected []error
	set := func(f *pflag.Flag, value string) error {
		if isUnknown(value) {
			return p.set(flags, f, value)
		}
		if err := flags.Set(f.Name, value); err != nil {
			f.Changed, p.unknown[f.Name] = true, true
			rejected = append(rejected, err)
		}
		return nil
	}
	err := flags.ParseAll(args, set)
	for name := missing(flags, err); name != ""; name = missing(flags, err) {
		if isUnknown(name) {
			partial = true
		} else {
			errs = append(errs, err)
		}
		flags.String(name, "", "") // the next pass then continues after it
		flags.Lookup(name).NoOptDefVal = "true"
		rejected = nil
		err = flags.ParseAll(args, set)
	}
	switch {
	case errors.Is(err, pflag.ErrHelp):
		errs = append(errs, errors.New("with --help, the process only prints its help"))
	case err != nil:
		errs = append(errs, err)
	}
	errs = append(errs, rejected...)
	partial = partial || slices.ContainsFunc(flags.Args(), isUnknown)
	words := slices.DeleteFunc(flags.Args(), isUnknown)
	if len(words) > 0 && len(errs) == 0 { // otherwise it may be the value of an invalid flag
		errs = append(errs, fmt.Errorf("evergate serve does not accept the argument %q: %s", words[0], ArgsHint))
	}
	return partial, errs
}

// set records that the value of a flag is unknown. A string keeps its known part.
func (p *Parsed) set(flags *pflag.FlagSet, f *pflag.Flag, value string) error {
	p.unknown[f.Name] = true
	if f.Value.Type() == "string" {
		return flags.Set(f.Name, value) // a string flag accepts any value here
	}
	f.Changed = true
	return nil
}

// ArgsHint explains how to configure evergate serve, for errors about arguments that are not flags.
const ArgsHint = "everything is set by flags"

// missing returns the name of the flag in an error about a flag that does not exist. It returns an empty string for
// other errors.
func missing(flags *pflag.FlagSet, err error) string {
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || e.GetSpecifiedShortnames() != "" || flags.Lookup(e.GetSpecifiedName()) != nil {
		return ""
	}
	return e.GetSpecifiedName()
}

// apply sets flags from variables with known values.
func (p *Parsed) apply(flags *pflag.FlagSet, env Environment) []error {
	known := Environment{}
	flags.VisitAll(func(f *pflag.Flag) {
		name := Variable(f.Name)
		switch value := env[name]; {
		case f.Changed || value == "":
		case isUnknown(value):
			_ = p.set(flags, f, value)
		default:
			known[name] = value
		}
	})
	errs := separate(known.Apply(flags))
	flags.VisitAll(func(f *pflag.Flag) {
		if known[Variable(f.Name)] != "" && !f.Changed {
			p.unknown[f.Name] = true // its value is invalid
		}
	})
	return errs
}

// hides reports whether a variable may be set without being known.
func (c Container) hides(name string) bool {
	if _, ok := c.Env[name]; ok {
		return false
	}
	return slices.ContainsFunc(c.Hidden, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}

// tracing returns the value of an OpenTelemetry variable. It replaces unknown parts with valid values.
func (c Container) tracing(name string) string {
	value := c.Env[name]
	switch {
	case !isUnknown(value):
		return value
	case strings.HasSuffix(name, "_ENDPOINT"):
		return "http://unknown" // the value does not matter, but without an endpoint the other variables have no effect
	case name == "OTEL_RESOURCE_ATTRIBUTES" && value != Unknown: // contains the names of Pods and nodes
		return strings.ReplaceAll(value, Unknown, "unknown")
	}
	return ""
}

// separate returns the errors in a joined error.
func separate(err error) []error {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		var all []error
		for _, err := range joined.Unwrap() {
			all = append(all, separate(err)...)
		}
		return all
	}
	if err == nil {
		return nil
	}
	return []error{err}
}

// SetsFlag reports whether a variable sets a flag of evergate serve.
func SetsFlag(variable string) bool {
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	new(Serve).Define(flags)
	found := false
	flags.VisitAll(func(f *pflag.Flag) { found = found || Variable(f.Name) == variable })
	return found
}
