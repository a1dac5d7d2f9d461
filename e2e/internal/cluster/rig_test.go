package cluster

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// A cluster without running processes that nobody has stopped may be removed with all of its data. A cluster that was
// stopped to be started again, and a cluster that runs partly, may not be removed.
func TestKilledClusterIsKnown(t *testing.T) {
	const alive, dead = `echo "$$ $(born $$)"`, `echo "$$ 0"` // the number of a process, and when it began
	for name, test := range map[string]struct {
		processes map[string]string // as the rig records them
		want      string
	}{
		"none":         {nil, "no"},
		"stopped":      {map[string]string{}, "no"},
		"killed":       {map[string]string{"etcd": dead, "node-a": dead}, "yes"},
		"runs in part": {map[string]string{"etcd": dead, "node-a": alive}, "no"},
	} {
		t.Run(name, func(t *testing.T) {
			script := ". ../../rig/processes.sh\n"
			state := t.TempDir()
			if test.processes != nil {
				if err := os.Mkdir(filepath.Join(state, "run"), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			for process, note := range test.processes {
				script += note + ` >"$state/run/` + process + "\"\n"
			}
			cmd := exec.CommandContext(t.Context(), "bash", "-euc", script+"if killed; then echo yes; else echo no; fi")
			cmd.Env = append(os.Environ(), "state="+state)
			out, err := cmd.CombinedOutput()
			if got := string(out); err != nil || got != test.want+"\n" {
				t.Errorf("killed: %s (%v), want %s", got, err, test.want)
			}
		})
	}
}
