package cmd

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/evergate/evergate/lifecycle/settings"
)

const cliPage = "../docs/cli.md"

const cliIntro = `# Command line

<!-- go test ./cmd -run CommandLinePage -update writes this page -->

This page lists every command of ` + "`evergate` with its flags, as `--help`" + ` shows them. The kubectl plugin has [its
own page](plugin.md). [Get the commands](cli-install.md) first.

`

// TestCommandLinePage checks docs/cli.md, which is written from the commands.
func TestCommandLinePage(t *testing.T) {
	var b strings.Builder
	b.WriteString(cliIntro)
	writeCommand(&b, newRootCommand(settings.NewEnvironment(nil)))
	want := strings.TrimRight(b.String(), "\n") + "\n"
	if *update {
		if err := os.WriteFile(cliPage, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(cliPage); err != nil || string(got) != want {
		t.Errorf("%s is out of date (%v): run go test ./cmd -run CommandLinePage -update", cliPage, err)
	}
}

// writeCommand writes the section of a command, and the sections of its subcommands.
func writeCommand(b *strings.Builder, c *cobra.Command) {
	fmt.Fprintf(b, "## %s\n\n", c.CommandPath())
	if c.Long == "" {
		fmt.Fprintf(b, "%s.\n\n", escapeMarkdown(c.Short))
	}
	for paragraph := range strings.SplitSeq(strings.TrimSpace(c.Long), "\n\n") {
		switch {
		case paragraph == "":
		case strings.HasPrefix(paragraph, "\t"), strings.Contains("\n"+paragraph, "\n  "):
			fmt.Fprintf(b, "```text\n%s\n```\n\n", strings.Trim(paragraph, "\n"))
		default:
			fmt.Fprintf(b, "%s\n\n", escapeMarkdown(paragraph))
		}
	}
	if c.Runnable() {
		fmt.Fprintf(b, "```text\n%s\n```\n\n", c.UseLine())
	}
	if c.Example != "" {
		example := regexp.MustCompile("(?m)^  ").ReplaceAllString(c.Example, "")
		fmt.Fprintf(b, "```sh\n%s\n```\n\n", strings.Trim(example, "\n"))
	}
	if flags := c.LocalFlags(); flags.HasAvailableFlags() {
		fmt.Fprintf(b, "%s\n", flagsTable(flags))
	}
	for _, sub := range c.Commands() {
		if sub.IsAvailableCommand() && c.Name() != "completion" {
			writeCommand(b, sub)
		}
	}
}

func escapeMarkdown(s string) string {
	return regexp.MustCompile("[*_<>`\\\\]|\\[|\\]").ReplaceAllString(s, `\$0`)
}
