package cmd

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// session is a block of a document that shows a command and its output.
var session = regexp.MustCompile("(?s)```console\n(\\$ evergate [^\n]*)\n(.*?)```")

// Commands in documents have the same output as in testdata/*.transcript.
func TestDocumentedTranscripts(t *testing.T) {
	const page = "../docs/testing-policies.md"
	printed := map[string]string{}
	files, err := filepath.Glob("testdata/*.transcript")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for block := range strings.SplitSeq("\n"+string(text), "\n$ ") {
			command, output, _ := strings.Cut(block, "\n")
			printed["$ "+command] = strings.TrimRight(output, "\n") + "\n"
		}
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	shown := 0
	got := session.ReplaceAllStringFunc(string(text), func(block string) string {
		shown++
		command := session.FindStringSubmatch(block)[1]
		output, ok := printed[command]
		if !ok {
			t.Errorf("%s: no transcript contains %s", page, command)
		}
		return "```console\n" + command + "\n" + output + "```"
	})
	if shown < 3 {
		t.Errorf("%s shows %d commands", page, shown)
	}
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	} else if got != string(text) {
		t.Errorf("%s differs from the output of the command: run go test ./cmd -update twice", page)
	}
}
