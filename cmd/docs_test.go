package cmd

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/spf13/pflag"

	"github.com/evergate/evergate/lifecycle/settings"
)

const (
	servePage = "../docs/serve.md"
	flagsFrom = "<!-- go test ./cmd -update writes this table -->\n"
	flagsTo   = "<!-- end of table -->\n"
)

// The table of flags in docs/serve.md is generated from the flags. The rest of the page mentions only existing flags.
func TestDocumentedFlags(t *testing.T) {
	text, err := os.ReadFile(servePage)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, _ := strings.Cut(string(text), flagsFrom)
	table, after, ok := strings.Cut(rest, flagsTo)
	if !ok {
		t.Fatalf("%s has no table between\n%s and\n%s", servePage, flagsFrom, flagsTo)
	}
	flags := newServeCommand().Flags()
	want := flagsTable(flags)
	if *update {
		if err := os.WriteFile(servePage, []byte(before+flagsFrom+want+flagsTo+after), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if diff := cmp.Diff(want, table); diff != "" {
		t.Errorf("go test ./cmd -update updates the table of %s (-want +got):\n%s", servePage, diff)
	}
	// Flags of kube-apiserver, curl and kubectl debug.
	notOurs := []string{"--admission-control-config-file", "--cacert", "--image", "--target", "--profile"}
	for _, name := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(before+after, -1) {
		if flags.Lookup(strings.TrimPrefix(name, "--")) == nil && !slices.Contains(notOurs, name) {
			t.Errorf("%s mentions %s, which does not exist", servePage, name)
		}
	}
	for _, name := range regexp.MustCompile(`EVERGATE_[A-Z_]+`).FindAllString(before+after, -1) {
		flag := strings.ReplaceAll(strings.ToLower(strings.TrimPrefix(name, settings.Prefix)), "_", "-")
		if flags.Lookup(flag) == nil {
			t.Errorf("%s mentions %s, which does not set a flag", servePage, name)
		}
	}
}

// flagsTable has a row for each flag, in the order of the help.
func flagsTable(flags *pflag.FlagSet) string {
	var b strings.Builder
	b.WriteString("| flag | default | meaning |\n| --- | --- | --- |\n")
	flags.VisitAll(func(f *pflag.Flag) {
		value, usage := pflag.UnquoteUsage(f)
		flag := strings.TrimSpace("--" + f.Name + " " + value)
		if f.Shorthand != "" {
			flag = "-" + f.Shorthand + ", " + flag
		}
		byDefault := ""
		if !slices.Contains([]string{"", "0", "0s", "false", "[]"}, f.DefValue) {
			byDefault = "`" + strings.ToLower(f.DefValue) + "`"
		}
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", flag, byDefault, strings.ReplaceAll(usage, "<", "\\<"))
	})
	return b.String()
}
