package main

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/evergate/evergate/cmd/internal/cli"
)

// TestAsk checks that a policy is only applied after a yes. Any other answer leads to exit code 1.
func TestAsk(t *testing.T) {
	for answer, applies := range map[string]bool{
		"y\n": true, "Yes\n": true, " yes \n": true, "y": true,
		"n\n": false, "\n": false, "": false, "yesterday\n": false, "ja\n": false,
	} {
		var stderr bytes.Buffer
		a := &app{stdin: strings.NewReader(answer), stderr: &stderr}
		err := a.ask(t.Context(), "objects would be newly denied")
		if (err == nil) != applies {
			t.Errorf("%q: error %v", answer, err)
		}
		if err != nil && !strings.HasPrefix(err.Error(), "nothing was applied") {
			t.Errorf("%q: %v", answer, err)
		}
		if want := "evergate: objects would be newly denied. Apply the policy? [y/N] "; stderr.String() != want {
			t.Errorf("asked %q, want %q", stderr.String(), want)
		}
	}
}

// A signal ends a question and the reading of a policy from standard input, even if nothing is typed.
func TestInterruptedReads(t *testing.T) {
	for name, args := range map[string]func(ctx context.Context, a *app) error{
		"question": func(ctx context.Context, a *app) error { return a.ask(ctx, "objects would be newly denied") },
		"policy": func(ctx context.Context, a *app) error {
			_, err := a.readPolicy(ctx, "-")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				typed, keyboard := io.Pipe()
				ctx, interrupt := context.WithCancel(t.Context())
				done := make(chan error)
				go func() { done <- args(ctx, &app{stdin: typed, stderr: io.Discard}) }()
				synctest.Wait()
				interrupt()
				if err := <-done; err == nil {
					t.Error("it ended without an error")
				}
				_ = keyboard.Close() // ends the remaining read
			})
		})
	}
}

// An interrupted command ends with the exit code that shells use.
func TestInterrupted(t *testing.T) {
	ctx, interrupt := context.WithCancel(t.Context())
	interrupt()
	var stderr bytes.Buffer
	code := run(ctx, []string{"plan", "-f", "-"}, blocked{}, io.Discard, &stderr)
	if code != cli.Interrupted || !strings.HasSuffix(stderr.String(), "\nevergate: interrupted\n") {
		t.Errorf("exit code %d, %q", code, stderr.String())
	}
}

// blocked is a standard input without any data.
type blocked struct{}

func (blocked) Read([]byte) (int, error) { select {} }
