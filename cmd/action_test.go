package cmd

import (
	"crypto/sha256"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"
	"testing"

	"go.yaml.in/yaml/v3"
)

// action is action.yml, with the fields that the tests use.
type action struct {
	Inputs map[string]struct{ Default string }
	Runs   struct {
		Steps []struct {
			Env map[string]string
			Run string
		}
	}
}

// TestAction runs the steps of action.yml in a repository with a denied object. Releases are in a directory, and the
// program in a release is this test binary.
func TestAction(t *testing.T) {
	var a action
	parseFile(t, "../action.yml", &a)
	releases := t.TempDir()
	release(t, releases, "v0.1.0", true)
	release(t, releases, "v0.1.1", false)
	t.Chdir("testdata/action")
	for name, test := range map[string]struct {
		inputs map[string]string
		code   int
		want   string // in the output, or in the report
	}{
		"annotations":   {map[string]string{"paths": "deploy"}, 1, "::error file=deploy/web.yaml,line=4,"},
		"code scanning": {map[string]string{"paths": "deploy", "format": "sarif"}, 1, `"uri": "deploy/web.yaml"`},
		"a pattern":     {map[string]string{"paths": "deploy/api.yaml\ndeploy/w*.yaml"}, 2, "deploy/w*.yaml"},
		"a flag":        {map[string]string{"paths": "--help"}, 2, "--help"},
		"good manifest": {map[string]string{"paths": "deploy/api.yaml"}, 0, ""},
		"test":          {map[string]string{"command": "test", "paths": "suites", "format": "text"}, 0, "1 passed"},
		"policy check":  {map[string]string{"command": "policy check", "paths": "policy.yaml"}, 0, ""},
		"other command": {map[string]string{"command": "serve"}, 2, "unknown command serve"},
		"a branch":      {map[string]string{"version": "main"}, 2, "unknown version main"},
		"other bytes":   {map[string]string{"version": "v0.1.1"}, 1, "FAILED"},
		"no release":    {map[string]string{"version": "v0.2.0"}, 37, "v0.2.0"}, // 37 is curl's code for files
	} {
		t.Run(name, func(t *testing.T) {
			if _, ok := test.inputs["version"]; !ok {
				test.inputs["version"] = "v0.1.0"
			}
			log, code := a.run(t, test.inputs, releases)
			if code != test.code || !strings.Contains(log, test.want) {
				t.Errorf("exit code %d, want %d and %q\n%s", code, test.code, test.want, log)
			}
		})
	}
}

// run runs the steps until one fails, as a runner does. It returns their output with the report, and the exit code.
func (a *action) run(t *testing.T, inputs map[string]string, releases string) (log string, code int) {
	t.Helper()
	temp := t.TempDir()
	output := filepath.Join(temp, "output")
	processor := map[string]string{"amd64": "X64", "arm64": "ARM64"}[runtime.GOARCH]
	env := append(os.Environ(), "RUNNER_OS=Linux", "RUNNER_ARCH="+processor, "RUNNER_TEMP="+temp,
		"GITHUB_PATH="+filepath.Join(temp, "path"), "GITHUB_OUTPUT="+output,
		"PATH="+filepath.Join(temp, "evergate")+":"+os.Getenv("PATH"))
	input := regexp.MustCompile(`^\$\{\{ inputs\.(\w+) \}\}$`)
	for _, step := range a.Runs.Steps {
		// As for "shell: bash" in https://docs.github.com/actions/reference/workflows-and-actions/workflow-syntax.
		c := exec.CommandContext(t.Context(), "bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", step.Run)
		c.Env = env
		for key, value := range step.Env {
			if name := input.FindStringSubmatch(value); name != nil {
				given, ok := inputs[name[1]]
				if value = given; !ok {
					value = a.Inputs[name[1]].Default
				}
			}
			c.Env = append(c.Env, key+"="+value)
		}
		c.Env = append(c.Env, "RELEASES=file://"+releases)
		out, err := c.CombinedOutput()
		log += string(out)
		if code = c.ProcessState.ExitCode(); err != nil {
			break
		}
	}
	if outputs, err := os.ReadFile(output); err == nil {
		log += string(fileOf(t, strings.TrimSpace(strings.TrimPrefix(string(outputs), "report="))))
	}
	return log, code
}

// TestPreCommitHooks runs the commands of .pre-commit-hooks.yaml as pre-commit does, with the files of a commit.
func TestPreCommitHooks(t *testing.T) {
	var hooks []struct {
		ID, Entry string
		PassFiles *bool `yaml:"pass_filenames"`
	}
	parseFile(t, "../.pre-commit-hooks.yaml", &hooks)
	// By ID: the args of a user, and the files of a commit that passes and of a commit that doesn't.
	tests := map[string]struct{ args, good, bad string }{
		"evergate-review":       {"--policy policy.yaml", "deploy/api.yaml", "deploy/api.yaml deploy/web.yaml"},
		"evergate-policy-check": {"", "policy.yaml", "policy.yaml deploy/web.yaml"},
		"evergate-test":         {"suites", "policy.yaml", ""},
	}
	if len(hooks) != len(tests) {
		t.Errorf("%d hooks, want %d", len(hooks), len(tests))
	}
	t.Chdir("testdata/action")
	t.Setenv("PATH", program(t)+":"+os.Getenv("PATH"))
	for _, hook := range hooks {
		test := tests[hook.ID]
		for _, files := range []string{test.good, test.bad} {
			command := hook.Entry + " " + test.args
			switch {
			case hook.PassFiles == nil || *hook.PassFiles:
				command += " " + files
			case files == "": // the hook does not get the files, so another argument must fail
				command += " broken"
			}
			out, err := exec.CommandContext(t.Context(), "sh", "-c", command).CombinedOutput()
			if (files == test.good) != (err == nil) {
				t.Errorf("%s: %v\n%s", command, err, out)
			}
		}
	}
}

// program returns a directory with a program evergate that runs this test binary as evergate.
func program(t *testing.T) string {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	script := "#!/bin/sh\n" + argsVariable + "=$(printf '%s\\n' \"$@\") exec '" + self + "'\n"
	if err := os.WriteFile(filepath.Join(dir, "evergate"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	return dir
}

// release writes a release for this machine. Its checksum is of other bytes unless intact is true.
func release(t *testing.T, releases, version string, intact bool) {
	t.Helper()
	dir := filepath.Join(releases, version)
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	name := "evergate_" + version[1:] + "_linux_" + runtime.GOARCH + ".tar.gz"
	archive := filepath.Join(dir, name)
	shell(t, "tar -czf '"+archive+"' -C '"+program(t)+"' evergate")
	checksum := sha256.Sum256(fileOf(t, archive))
	if !intact {
		checksum[0]++
	}
	write(t, filepath.Join(dir, "checksums.txt"), fmt.Appendf(nil, "%x  %s\n%064x  %[2]s.spdx.json\n", checksum, name, 0))
}

func parseFile(t *testing.T, name string, into any) {
	t.Helper()
	if err := yaml.Unmarshal(fileOf(t, name), into); err != nil {
		t.Fatal(err)
	}
}

func fileOf(t *testing.T, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
