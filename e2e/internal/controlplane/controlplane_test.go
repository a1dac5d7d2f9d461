package controlplane

import (
	"context"
	"testing"
)

// After Wait a test may remove the directory that the programs write into.
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
