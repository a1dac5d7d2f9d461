// Package process runs the built binary as a cluster would: as a process of its own, controlled by signals and read by
// its log, which is JSON lines on standard error.
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

// Process is one running evergate.
type Process struct {
	Addr string // of the serving port; known when it is ready
	Ops  string // of the ops port, likewise

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

// StartWith is Start, with variables (name=value) beside those of this process's own environment.
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

// AwaitReady waits until the process is ready for reviews, and then knows its addresses.
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
		_ = json.Unmarshal(lines.Bytes(), &e) // what is not JSON is kept as a line and has no fields
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

// Await returns the first line of the log, past or to come, that match accepts.
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

// Log returns what the process has logged so far.
func (p *Process) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.lines, "\n")
}

// Signal sends a signal to the process.
func (p *Process) Signal(s os.Signal) error { return p.cmd.Process.Signal(s) }

// Terminate sends SIGTERM, as kubelet does, and does not wait.
func (p *Process) Terminate() error { return p.Signal(syscall.SIGTERM) }

// Wait returns the exit code when the process has ended; a process that was killed by a signal has -1.
func (p *Process) Wait() int {
	<-p.done
	return p.exit
}

// Done is closed when the process has ended.
func (p *Process) Done() <-chan struct{} { return p.done }

// PID returns the process id.
func (p *Process) PID() int { return p.cmd.Process.Pid }
