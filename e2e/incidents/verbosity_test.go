package incidents

import (
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// TestLogLevel changes the log level at run time with a signal, from a debug container as in docs/serve.md. The image
// does not contain a program that sends signals, and the ops port is open to readers.
func TestLogLevel(t *testing.T) {
	if testing.Short() {
		t.Skip("not an incident: skipped by -short")
	}
	l := open(t)
	l.NeedRig(t, "loads an image with kill in it")
	busybox, err := exec.LookPath("busybox") // a static binary, with which the rig's images are built
	must(t, err)
	const image = "evergate.e2e/busybox:1"
	l.LoadBinary(t, image, busybox)
	l.install(t, patched())
	replica := l.awaitReplicas(t, 3)[0].Name
	l.undo(t, "-n", system, "delete", "pod", replica, "--wait=false") // together with its debug containers
	for _, change := range []string{`"from":"INFO","to":"DEBUG"`, `"from":"DEBUG","to":"INFO"`} {
		l.Kubectl(t, "", "-n", system, "debug", replica, "--image="+image, "--target=evergate", "--profile=restricted",
			"--arguments-only", "--", "kill", "-USR1", "1")
		l.await(t, "the log to contain "+change, time.Minute, func(ctx context.Context) error {
			log, said, err := l.TryKubectl(ctx, "", "-n", system, "logs", replica, "-c", "evergate")
			if err != nil {
				return errors.New(said)
			}
			if !strings.Contains(log, change) {
				return errors.New("it does not")
			}
			return nil
		})
	}
}
