package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// server is a measured process: the floor, or evergate with a policy.
type server struct {
	name  string
	floor bool
	addr  string        // for reviews
	ops   string        // for metrics
	took  time.Duration // from exec to ready

	cmd *exec.Cmd
	log *tail
}

// procs limits the cores that a server may use. Small nodes leave two cores for a webhook, and the limit makes results
// from larger machines comparable.
const procs = "GOMAXPROCS=2"

// start runs a server and waits until it is ready. The caller must stop it.
func start(ctx context.Context, name, binary string, args ...string) (*server, error) {
	s := &server{name: name, cmd: exec.CommandContext(ctx, binary, args...), log: new(tail)}
	s.cmd.Env = []string{procs}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	ready := make(chan bool, 1)
	go func() {
		defer close(ready)
		s.follow(stderr, func() { s.took = time.Since(begin); ready <- true })
	}()
	if !<-ready {
		_ = s.cmd.Wait()
		return nil, fmt.Errorf("%s did not become ready; the end of its log:\n%s", name, s.log)
	}
	return s, nil
}

// follow reads the log to its end, and calls ready when the log reports it.
func (s *server) follow(log io.Reader, ready func()) {
	// A Scanner would stop at a line of 64 KiB, and the server would then block because nothing reads its log.
	for lines := bufio.NewReader(log); ; {
		text, err := lines.ReadBytes('\n')
		if err != nil {
			return
		}
		s.log.add(string(text))
		var line struct{ Msg, To, Address string }
		if json.Unmarshal(text, &line) != nil {
			continue
		}
		switch {
		case line.Msg == "ops port bound":
			s.ops = line.Address
		case line.Msg == "phase changed" && line.Address != "":
			s.addr = line.Address
		}
		if line.Msg == "phase changed" && line.To == "ready" {
			ready()
		}
	}
}

// stop kills the process, because nothing at the end of its life is measured.
func (s *server) stop() {
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait() // an error means that it was killed
}

// cpu returns the processor time that the process has used, user and system, summed over its threads. Go ends only
// threads that a goroutine has locked, and neither server locks any.
//
// /proc/<pid>/stat has the same value in hundredths of a second, which is not precise enough for short turns.
func (s *server) cpu() (sum time.Duration, err error) {
	threads, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/schedstat", s.cmd.Process.Pid))
	if err != nil {
		return 0, err
	}
	if len(threads) == 0 {
		return 0, fmt.Errorf("no processor times of process %d: Linux with CONFIG_SCHED_INFO has them", s.cmd.Process.Pid)
	}
	for _, thread := range threads {
		data, err := os.ReadFile(thread)
		if err != nil {
			return 0, err
		}
		nanoseconds, _, _ := strings.Cut(string(data), " ")
		n, err := strconv.ParseInt(nanoseconds, 10, 64)
		if err != nil {
			return 0, err
		}
		sum += time.Duration(n)
	}
	return sum, nil
}

// memory is the resident memory of a process, in bytes: the current value and the peak since its start.
type memory struct{ now, peak int64 }

func (s *server) memory() (m memory, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.cmd.Process.Pid))
	if err != nil {
		return m, err
	}
	for line := range bytes.Lines(data) {
		name, value, _ := strings.Cut(string(line), ":")
		n, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		switch name {
		case "VmRSS":
			m.now = n << 10
		case "VmHWM":
			m.peak = n << 10
		}
	}
	if m.now == 0 || m.peak == 0 {
		return m, fmt.Errorf("no VmRSS or VmHWM in the status of process %d", s.cmd.Process.Pid)
	}
	return m, nil
}

// tail contains the last lines of a log and the length of its longest line.
type tail struct {
	mu    sync.Mutex
	lines []string
	most  int
}

func (t *tail) add(line string) {
	const kept, shown = 20, 4 << 10
	t.mu.Lock()
	defer t.mu.Unlock()
	t.most = max(t.most, len(line))
	t.lines = append(t.lines, line[:min(len(line), shown)])
	t.lines = t.lines[max(0, len(t.lines)-kept):]
}

// longest returns the length of the longest line since reset.
func (t *tail) longest() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.most
}

func (t *tail) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.most = 0
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return strings.Join(t.lines, "")
}
