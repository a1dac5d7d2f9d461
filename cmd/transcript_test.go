package cmd

import (
	"bytes"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "update the transcripts in testdata")

// TestTranscripts runs the commands in each testdata/*.transcript and compares their output: stdout, then stderr with
// "! " before each line, then the exit code if it is not 0. To add a case, write its command line and run the test
// with -update. Variables may precede a command, and < FILE may follow it. A case is for output that a page shows, or for
// code that no other test runs.
func TestTranscripts(t *testing.T) {
	t.Chdir("testdata")
	files, err := filepath.Glob("*.transcript")
	if err != nil || len(files) == 0 {
		t.Fatal("no transcripts", err)
	}
	for _, file := range files {
		t.Run(file, func(t *testing.T) {
			want, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var got bytes.Buffer
			for line := range strings.Lines(string(want)) {
				if command, ok := strings.CutPrefix(line, "$ "); ok {
					fmt.Fprintf(&got, "$ %s\n", strings.TrimSpace(command))
					got.WriteString(transcript(t, command) + "\n")
				}
			}
			if *update {
				if err := os.WriteFile(file, got.Bytes(), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if diff := cmp.Diff(string(want), got.String()); diff != "" {
				t.Errorf("go test ./cmd -update updates %s (-want +got)\n%s", file, diff)
			}
		})
	}
}

func transcript(t *testing.T, command string) string {
	t.Helper()
	variables, command, ok := strings.Cut(command, "evergate ")
	if !ok {
		variables, command = "", variables
	}
	command, input, _ := strings.Cut(command, "<")
	stdin := io.Reader(strings.NewReader(""))
	if input = strings.TrimSpace(input); input != "" {
		file, err := os.Open(input)
		if err != nil {
			t.Fatal(err)
		}
		defer file.Close()
		stdin = file
	}
	var stdout, stderr bytes.Buffer
	code := Run(t.Context(), strings.Fields(command), strings.Fields(variables), stdin, &stdout, &stderr)
	for line := range strings.Lines(stderr.String()) {
		stdout.WriteString("! " + line)
	}
	if code != 0 {
		fmt.Fprintf(&stdout, "exit code %d\n", code)
	}
	return stdout.String()
}
