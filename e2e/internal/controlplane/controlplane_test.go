package controlplane

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// After Wait, a test may remove the directory that the programs write to.
func TestWait(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	c := &ControlPlane{dir: t.TempDir(), bin: "/usr/bin", ended: make(chan error, 1)}
	if err := c.run(ctx, "tail", []string{"-f", "/dev/null"}); err != nil { // it does not end by itself
		t.Fatal(err)
	}
	end()
	c.Wait()
	if len(c.ended) != 1 {
		t.Error("Wait has returned, and the program has not ended")
	}
}

// TestStartRetries checks that Start chooses other ports if a port was taken in the meantime, and fails for other
// reasons.
func TestStartRetries(t *testing.T) {
	for _, test := range []struct {
		reason string
		starts int
	}{
		{"listen tcp 127.0.0.1:2379: bind: address already in use", attempts},
		{"no space left on device", 1},
	} {
		bin, dir := t.TempDir(), t.TempDir()
		started := filepath.Join(dir, "started")
		for name, script := range map[string]string{
			"etcd":           "echo \"$@\" >>" + started + "; echo '" + test.reason + "'; exit 1",
			"kube-apiserver": "exec tail -f /dev/null",
		} {
			if err := os.WriteFile(filepath.Join(bin, name), []byte("#!/bin/sh\n"+script+"\n"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		_, err := Start(t.Context(), Binaries(bin), dir)
		if err == nil || !strings.Contains(err.Error(), test.reason) {
			t.Errorf("%v, want the reason %s", err, test.reason)
		}
		text, err := os.ReadFile(started)
		if err != nil {
			t.Fatal(err)
		}
		different := map[string]bool{}
		for line := range strings.Lines(string(text)) {
			different[line] = true
		}
		if len(different) != test.starts || strings.Count(string(text), "\n") != test.starts {
			t.Errorf("%s: started with\n%s, want %d starts on different ports", test.reason, text, test.starts)
		}
	}
}
