// Package process runs the built binary as a cluster would: as a separate process that tests control with signals. Its
// log consists of JSON lines on standard error.
package process

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
)

// Process is a running evergate.
type Process struct {
	Addr string // of the serving port; set by AwaitReady
	Ops  string // of the ops port; set by AwaitReady

	cmd  *exec.Cmd
	done chan struct{}
	exit int

	mu      sync.Mutex
	lines   []string
	entries []Entry
	waiting []chan struct{}
}

// Entry is one line of the log.
type Entry map[string]any

// Is reports whether the line's message is msg.
func (e Entry) Is(msg string) bool { return e["msg"] == msg }

// Start runs the binary until ctx ends or a signal stops it. The listeners are on loopback, on ports that the kernel
// chooses.
func Start(ctx context.Context, binary string, args ...string) (*Process, error) {
	return StartWith(ctx, nil, binary, args...)
}

// StartWith is like Start, with variables (name=value) in addition to this process's environment.
func StartWith(ctx context.Context, variables []string, binary string, args ...string) (*Process, error) {
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--ops-listen", "127.0.0.1:0", "--log-format", "json"},
		args...)
	p := &Process{cmd: exec.CommandContext(ctx, binary, args...), done: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), variables...)
	logs, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, err
	}
	go p.follow(logs)
	return p, nil
}

// AwaitReady waits until the process is ready for reviews, and sets its addresses.
func (p *Process) AwaitReady(ctx context.Context) error {
	if _, err := p.AwaitPhase(ctx, "ready"); err != nil {
		return fmt.Errorf("%w; its log:\n%s", err, p.Log())
	}
	listening, err := p.AwaitPhase(ctx, "listening")
	if err != nil {
		return err
	}
	ops, err := p.Await(ctx, func(e Entry) bool { return e.Is("ops port bound") })
	if err != nil {
		return err
	}
	p.Addr, p.Ops = fmt.Sprint(listening["address"]), fmt.Sprint(ops["address"])
	return nil
}

// AwaitPhase waits until the process has entered a phase of its life.
func (p *Process) AwaitPhase(ctx context.Context, phase string) (Entry, error) {
	return p.Await(ctx, func(e Entry) bool { return e.Is("phase changed") && e["to"] == phase })
}

// follow reads the log until the process has closed it, and then waits for the process.
func (p *Process) follow(logs io.Reader) {
	lines := bufio.NewScanner(logs)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Entry
		_ = json.Unmarshal(lines.Bytes(), &e) // a line that is not JSON is kept without fields
		p.mu.Lock()
		p.lines = append(p.lines, lines.Text())
		p.entries = append(p.entries, e)
		p.wake()
		p.mu.Unlock()
	}
	var failed *exec.ExitError
	if err := p.cmd.Wait(); errors.As(err, &failed) {
		p.exit = failed.ExitCode()
	}
	close(p.done)
}

func (p *Process) wake() {
	for _, w := range p.waiting {
		close(w)
	}
	p.waiting = nil
}

// Await returns the first line of the log, past or future, that match accepts.
func (p *Process) Await(ctx context.Context, match func(Entry) bool) (Entry, error) {
	for seen := 0; ; {
		p.mu.Lock()
		for ; seen < len(p.entries); seen++ {
			if e := p.entries[seen]; match(e) {
				p.mu.Unlock()
				return e, nil
			}
		}
		more := make(chan struct{})
		p.waiting = append(p.waiting, more)
		p.mu.Unlock()
		select {
		case <-more:
		case <-p.done:
			return nil, fmt.Errorf("process ended with code %d", p.exit)
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// Count returns how many lines of the log so far match accepts.
func (p *Process) Count(match func(Entry) bool) int {
	p.mu.Lock()
	defer p.mu.Unlock()
	n := 0
	for _, e := range p.entries {
		if match(e) {
			n++
		}
	}
	return n
}

// Log returns the log so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Terminate sends SIGTERM, like the kubelet, and does not wait.
func (p *Process) Terminate() error { return p.Signal(syscall.SIGTERM) }

// Wait waits until the process has ended and returns its exit code, or -1 if a signal killed it.
func (p *Process) Wait() int {
	<-p.done
	return p.exit
}

// Done returns a channel that is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID returns the process ID.
func (p *Process) PID() int { return p.cmd.Process.Pid }
