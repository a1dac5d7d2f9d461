package cmd

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"
)

// strangeNames are file names that a pull request may contain, without extensions.
var strangeNames = []string{
	"a\n::stop-commands::token", "b\r::error::x", "c\x1b[2Jd", "e\u009b2Jf", "g\u202eh", "::warning::i",
	"j##vso[task.complete]k", "l\x7fm", "n\xffo", "p%0A::error::q",
}

// commands matches commands for CI runners, at the beginning of a line or anywhere.
var commands = regexp.MustCompile(`(?m)^\s*::|##`)

// TestFilesFromStrangers runs every command that reads files, in every format, on files whose names and contents a
// stranger has chosen. The output must not control a terminal or a CI runner, and the command must not block.
func TestFilesFromStrangers(t *testing.T) {
	const (
		head     = "apiVersion: evergate.dev/v1alpha1\nkind: EvergatePolicy\n"
		policy   = head + "pods:\n- {name: tags, mode: enforce, images: {deniedTags: [latest]}}\n"
		broken   = head + "pods:\n- {name: \"\x7f\", mode: wrong}\n"
		manifest = "apiVersion: v1\nkind: Pod\nmetadata: {name: \"x\\u009b##[error]y\\n::error::z\"}\n" +
			"spec: {containers: [{name: c, image: nginx:latest}]}\n"
		suite = "policy: [../policy.yaml]\ncases:\n- name: \"c\\u009b##[error]d\"\n  object: {apiVersion: v1, kind: Pod, " +
			"metadata: {name: \"e\\n::error::f\"}, " +
			"spec: {containers: [{name: c, image: \"nginx##[error]:latest\"}]}}\n  allowed: true\n"
	)
	dir := t.TempDir()
	write := func(name, content string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write("policy.yaml", policy)
	for i, name := range strangeNames {
		write("manifests/"+name+".yaml", manifest)
		write("manifests/"+name+"-bad.yaml", "kind: [")
		write("manifests/"+name+"-values.yaml", "replicas: 1\n")
		write("policies/"+name+".yaml", broken)
		write("suites/"+name+"_test.yaml", suite)
		write(fmt.Sprintf("policies-%d/%s.yaml", i, name), broken)
	}
	for _, sub := range []string{"manifests", "suites"} {
		for name, target := range map[string]string{
			"zero.yaml": "/dev/zero", "zero_test.yaml": "/dev/zero",
			"out.yaml": "../policy.yaml", "out_test.yaml": "../policy.yaml",
		} {
			if err := os.Symlink(target, filepath.Join(dir, sub, name)); err != nil {
				t.Fatal(err)
			}
		}
		for _, name := range []string{"fifo.yaml", "fifo_test.yaml", "kustomization.yaml"} {
			if err := syscall.Mkfifo(filepath.Join(dir, sub, name), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Chdir(dir)
	named := func(sub, suffix string) (args []string) {
		for _, name := range strangeNames {
			args = append(args, filepath.Join(sub, name+suffix))
		}
		return args
	}
	repeat := func(flag string, values []string) (args []string) {
		for _, v := range values {
			args = append(args, flag, v)
		}
		return args
	}
	all := []string{"text", "json", "yaml", "junit", "sarif", "github"}
	values := all[:3]
	for _, test := range []struct {
		args    []string
		formats []string
	}{
		{[]string{"review", "--policy", "policy.yaml", "-f", "manifests"}, all},
		{append([]string{"review", "--policy", "policy.yaml"}, repeat("-f", named("manifests", ".yaml"))...), all},
		{append([]string{"review", "--policy", "policy.yaml"}, repeat("-f", named("manifests", "-bad.yaml"))...), all},
		{append([]string{"review", "--policy", "policy.yaml"}, repeat("-f", named("manifests", "-absent.yaml"))...), all},
		{[]string{"review", "--policy", "policy.yaml", "-f", "manifests/fifo.yaml", "-f", "manifests/zero.yaml"}, all},
		{[]string{"review", "--policy", "policies/" + strangeNames[0] + ".yaml", "-f", "manifests"}, all},
		{[]string{"plan", "--old", "policy.yaml", "--new", "policy.yaml", "-f", "manifests", "--all"}, values},
		{append([]string{"policy", "check"}, repeat("--policy", named("policies", ".yaml"))...), all},
		{append([]string{"policy", "check"}, repeat("--policy", named("policies", "-absent.yaml"))...), all},
		{[]string{"policy", "check", "--policy", "policies-0"}, all},
		{[]string{"policy", "check", "--policy", "manifests/fifo.yaml", "--policy", "manifests/zero.yaml"}, all},
		{[]string{"test", "suites"}, all},
		{append([]string{"test"}, named("suites", "_test.yaml")...), all},
		{[]string{"preflight", "-f", "manifests"}, values},
		{append([]string{"preflight"}, repeat("-f", named("manifests", "-bad.yaml"))...), values},
		{append([]string{"import", "mirrors"}, named("policies", ".yaml")...), values},
		{append([]string{"import", "mirrors"}, named("manifests", "-bad.yaml")...), values},
		{append([]string{"import", "mirrors"}, named("manifests", "-absent.yaml")...), values},
		{append([]string{"export"}, repeat("--policy", named("policies", ".yaml"))...), []string{""}},
	} {
		for _, format := range test.formats {
			t.Run(strings.Join(test.args[:2], " ")+" "+format, func(t *testing.T) {
				args := slices.Clone(test.args)
				if format != "" {
					args = append(args, "-o", format)
				}
				checkPrinted(t, format, args)
			})
		}
	}
}

// checkPrinted runs a command, which must end, and checks both of its outputs.
func checkPrinted(t *testing.T, format string, args []string) {
	t.Helper()
	var stdout, stderr bytes.Buffer
	done := make(chan int, 1)
	go func() {
		done <- Run(t.Context(), args, nil, strings.NewReader(""), &stdout, &stderr)
	}()
	select {
	case <-done:
	case <-time.After(5 * time.Minute): // it only ends a test that hangs
		t.Fatal("it does not end")
	}
	for name, out := range map[string]string{"stdout": stdout.String(), "stderr": stderr.String()} {
		if name == "stdout" && format == "github" {
			own := regexp.MustCompile(`(?m)^::(error|warning|notice) [^\n]*::`)
			out = own.ReplaceAllString(out, "")
		}
		if i := strings.IndexFunc(out, func(c rune) bool { return c != '\n' && !unicode.IsPrint(c) }); i >= 0 {
			t.Errorf("%s contains the unprintable %q: …%q", name, out[i:i+2], out[max(0, i-80):min(len(out), i+40)])
		}
		if at := commands.FindStringIndex(out); at != nil {
			t.Errorf("%s has a command: …%q", name, out[max(0, at[0]-80):min(len(out), at[1]+60)])
		}
	}
	if stdout.Len()+stderr.Len() == 0 {
		t.Error("nothing was printed")
	}
}
