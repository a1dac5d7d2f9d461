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

// Unknown stands, in an argument or in the value of a variable, for what is not known: the value of a key of a Secret.
// Neither can hold it in truth, since a NUL byte ends both.
const Unknown = "\x00"

func isUnknown(s string) bool { return strings.Contains(s, Unknown) }

// Container is what evergate serve gets in a container, as far as it is known.
type Container struct {
	Args []string // behind serve
	Env  Environment
	// Hidden are what the names of variables begin with that may be set without being in Env; "" is every variable.
	Hidden []string
}

// Parsed is what the flags of evergate serve are set to in a container. A flag that Known does not report has its
// default, or a text with Unknown in place of what is not known.
type Parsed struct {
	Serve
	unknown map[string]bool // flags
}

// Known reports whether the values of all these flags are known.
func (p *Parsed) Known(flags ...string) bool {
	return !slices.ContainsFunc(flags, func(name string) bool { return p.unknown[name] })
}

// Parse returns the settings, and every error with which evergate serve would refuse them, by itself and whatever the
// files hold that they name. What depends on a value that is not known is not refused.
func (c Container) Parse() (*Parsed, []error) {
	p := &Parsed{unknown: map[string]bool{}}
	flags := pflag.NewFlagSet("serve", pflag.ContinueOnError)
	flags.SetOutput(io.Discard) // where --help would write to
	p.Define(flags)
	partial, errs := p.parse(flags, c.Args)
	flags.VisitAll(func(f *pflag.Flag) {
		hidden := partial || c.hides(Variable(f.Name))
		if hidden && !f.Changed && f.Name != "dev" { // which is for laptops, where nothing is hidden
			p.unknown[f.Name] = true
		}
	})
	errs = append(errs, p.apply(flags, c.Env)...)
	p.complete(flags)
	for _, r := range p.refusals() {
		if p.Known(r.flags...) {
			errs = append(errs, r.err)
		}
	}
	return p, append(errs, separate(telemetry.CheckEnvironment(c.tracing))...)
}

// parse sets flags from arguments. It goes on behind an error, so that all are found, and reports whether there may be
// more arguments than are known.
func (p *Parsed) parse(flags *pflag.FlagSet, args []string) (partial bool, errs []error) {
	var refused []error
	set := func(f *pflag.Flag, value string) error {
		if isUnknown(value) {
			return p.set(flags, f, value)
		}
		if err := flags.Set(f.Name, value); err != nil {
			f.Changed, p.unknown[f.Name] = true, true
			refused = append(refused, err)
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
		flags.String(name, "", "") // so that the next pass goes on behind it
		flags.Lookup(name).NoOptDefVal = "true"
		refused = nil
		err = flags.ParseAll(args, set)
	}
	switch {
	case errors.Is(err, pflag.ErrHelp):
		errs = append(errs, errors.New("--help makes it write its help and end"))
	case err != nil:
		errs = append(errs, err)
	}
	errs = append(errs, refused...)
	partial = partial || slices.ContainsFunc(flags.Args(), isUnknown)
	words := slices.DeleteFunc(flags.Args(), isUnknown)
	if len(words) > 0 && len(errs) == 0 { // otherwise it may be the value of a flag that is refused
		errs = append(errs, fmt.Errorf("evergate serve takes no argument like %q: %s", words[0], ArgsHint))
	}
	return partial, errs
}

// set notes that the value of a flag is not known. Of a text, what is known is kept.
func (p *Parsed) set(flags *pflag.FlagSet, f *pflag.Flag, value string) error {
	p.unknown[f.Name] = true
	if f.Value.Type() == "string" {
		return flags.Set(f.Name, value) // no text is refused here
	}
	f.Changed = true
	return nil
}

// ArgsHint says of arguments that are no flags what was probably meant.
const ArgsHint = "everything is set by flags"

// missing returns the name of the flag that an error says does not exist; empty for another error.
func missing(flags *pflag.FlagSet, err error) string {
	e, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || e.GetSpecifiedShortnames() != "" || flags.Lookup(e.GetSpecifiedName()) != nil {
		return ""
	}
	return e.GetSpecifiedName()
}

// apply sets flags from variables whose values are known.
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
			p.unknown[f.Name] = true // refused
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

// tracing returns the value of one of OpenTelemetry's variables, with something in place of what is not known that
// passes.
func (c Container) tracing(name string) string {
	value := c.Env[name]
	switch {
	case !isUnknown(value):
		return value
	case strings.HasSuffix(name, "_ENDPOINT"):
		return "http://unknown" // which one does not matter, but that there is one: without any, no other variable does
	case name == "OTEL_RESOURCE_ATTRIBUTES" && value != Unknown: // names of Pods and nodes
		return strings.ReplaceAll(value, Unknown, "unknown")
	}
	return ""
}

// separate returns the errors that were joined into one.
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
