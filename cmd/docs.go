package cmd

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/cmd/internal/cli"
)

func newDocsManCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "man DIRECTORY",
		Short:   "Write manual pages of all commands to a directory",
		Long:    "Man writes a manual page (section 1) for each command to a directory, which it creates if necessary.",
		Example: "  evergate docs man ~/.local/share/man/man1 && man evergate-review",
		Args:    cli.Args(1, 1, "no directory: add the directory for the pages, such as ~/.local/share/man/man1"),
		RunE: func(c *cobra.Command, args []string) error {
			if err := os.MkdirAll(args[0], 0o755); err != nil {
				return fmt.Errorf("write manual pages: %w", err)
			}
			return writeManuals(c.Root(), args[0])
		},
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]cobra.Completion, cobra.ShellCompDirective) {
			return nil, cobra.ShellCompDirectiveFilterDirs
		},
	}
}

// writeManuals writes the page of a command and the pages of its subcommands.
func writeManuals(c *cobra.Command, dir string) error {
	name := filepath.Join(dir, manualName(c)+".1")
	if err := os.WriteFile(name, []byte(manual(c)), 0o644); err != nil {
		return fmt.Errorf("write manual pages: %w", err)
	}
	for _, sub := range c.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		if err := writeManuals(sub, dir); err != nil {
			return err
		}
	}
	return nil
}

// manualName returns the name of a page, such as evergate-policy-check.
func manualName(c *cobra.Command) string { return strings.ReplaceAll(c.CommandPath(), " ", "-") }

// manual returns the page of a command, with the macros of man(7). The package cobra/doc is not used because its
// Markdown support would add 0.3 MiB to the binary.
func manual(c *cobra.Command) string {
	var b strings.Builder
	section := func(title string) { fmt.Fprintf(&b, ".SH %s\n", title) }
	fmt.Fprintf(&b, ".TH \"%s\" \"1\" \"\" \"%s\" \"Evergate\"\n", strings.ToUpper(manualName(c)), roff(c.Root().Version))
	section("NAME")
	fmt.Fprintf(&b, "%s \\- %s\n", roff(manualName(c)), roff(c.Short))
	section("SYNOPSIS")
	fmt.Fprintf(&b, "%s\n", roff(c.UseLine()))
	section("DESCRIPTION")
	b.WriteString(strings.ReplaceAll(roff(cmp.Or(c.Long, c.Short)), "\n\n", "\n.PP\n") + "\n")
	options := false
	c.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		if !options {
			section("OPTIONS")
			options = true
		}
		value, usage := pflag.UnquoteUsage(f)
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		fmt.Fprintf(&b, ".TP\n%s\n%s\n", roff(strings.TrimSpace(name+" "+value)), roff(usage))
	})
	if c.Example != "" {
		section("EXAMPLES")
		fmt.Fprintf(&b, ".nf\n%s\n.fi\n", roff(c.Example))
	}
	if pages := related(c); len(pages) > 0 {
		section("SEE ALSO")
		fmt.Fprintf(&b, "%s\n", strings.Join(pages, ", "))
	}
	return b.String()
}

// related returns the pages of the parent command and of the subcommands.
func related(c *cobra.Command) []string {
	var pages []string
	if c.HasParent() {
		pages = append(pages, roff(manualName(c.Parent()))+"(1)")
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() {
			pages = append(pages, roff(manualName(sub))+"(1)")
		}
	}
	return pages
}

// roff escapes a text so that roff prints it unchanged.
func roff(s string) string {
	s = strings.NewReplacer(`\`, `\e`, "-", `\-`).Replace(s)
	lines := strings.Split(s, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
			lines[i] = `\&` + line
		}
	}
	return strings.Join(lines, "\n")
}
