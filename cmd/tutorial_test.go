package cmd

import (
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestTutorial runs each command of the website's tutorial, and compares the output. "…" in an output matches any text.
// The README shows the same request as the tutorial.
func TestTutorial(t *testing.T) {
	t.Chdir(repository)
	temp := t.TempDir()
	page := strings.ReplaceAll(string(fileOf(t, "site/start/five-minutes.md")), "/tmp/", temp+"/")
	before, after, _ := strings.Cut(page, "```console\n")
	_, readme, _ := strings.Cut(string(fileOf(t, "README.md")), "```console\n")
	readme, _, _ = strings.Cut(readme, "```")
	page = before + "```console\n" + readme + "```\n\n```console\n" + after

	t.Setenv("MAKELEVEL", "0") // make prints directories if another make runs it
	t.Setenv("EVERGATE_DEV_CA", filepath.Join(temp, "ca.crt"))
	var server *served
	changes, outputs := "", 0
	for _, block := range fence.FindAllStringSubmatch(page, -1) {
		command, want, _ := strings.Cut(block[2], "\n")
		if block[1] == "console" {
			got := shell(t, strings.TrimPrefix(command, "$ "))
			pattern := strings.ReplaceAll(regexp.QuoteMeta(want), "…", "(?s:.*)")
			if outputs++; !regexp.MustCompile(`^` + pattern + `$`).MatchString(got) {
				t.Errorf("%s printed\n%s\nbut the page shows\n%s", command, got, want)
			}
			continue
		}
		for line := range strings.Lines(block[2]) {
			args, isServer := strings.CutPrefix(strings.TrimSpace(line), "go run . serve ")
			if isServer {
				server = startServe(t, nil, append(strings.Fields(args), "--dev-ca", filepath.Join(temp, "ca.crt"))...)
				t.Setenv("EVERGATE_DEV", "https://"+server.await(t, server.stderr, `"to":"listening".*"address":"([^"]+)"`))
				server.await(t, server.stderr, `"to":"ready"`)
				changes = "(?s)"
			} else if shell(t, line); server != nil {
				changes += `.*"policy changed"`
				server.await(t, server.stderr, changes)
			}
		}
	}
	home := string(fileOf(t, "site/index.md"))
	for _, finding := range regexp.MustCompile(`(?m)^  - hosts/.*$`).FindAllString(home, -1) {
		if !strings.Contains(page, strings.TrimSpace(finding)) {
			t.Errorf("the first page shows another finding: %s", finding)
		}
	}
	if outputs != 4 {
		t.Errorf("%d outputs were compared", outputs)
	}
}

// shell returns the output of a command, which must succeed.
func shell(t *testing.T, command string) string {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", command, err, out)
	}
	return string(out)
}
