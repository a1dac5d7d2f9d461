package cmd

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/evergate/evergate/lifecycle/settings"
)

const servePage = "../docs/serve.md"

// TestDocumentedFlags checks that docs/serve.md mentions only flags that exist.
func TestDocumentedFlags(t *testing.T) {
	page, err := os.ReadFile(servePage)
	if err != nil {
		t.Fatal(err)
	}
	text, flags := string(page), newServeCommand().Flags()
	// Flags of kube-apiserver and kubectl debug.
	notOurs := []string{"--admission-control-config-file", "--image", "--target", "--profile"}
	for _, name := range regexp.MustCompile(`--[a-z][a-z-]+`).FindAllString(text, -1) {
		if flags.Lookup(strings.TrimPrefix(name, "--")) == nil && !slices.Contains(notOurs, name) {
			t.Errorf("%s mentions %s, which does not exist", servePage, name)
		}
	}
	for _, name := range regexp.MustCompile(`EVERGATE_[A-Z_]+`).FindAllString(text, -1) {
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
