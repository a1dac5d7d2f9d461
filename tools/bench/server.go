package main

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"time"
)

// server is a measured process: the floor, the peer, or evergate with a policy.
type server struct {
	name string
	addr string       // for reviews
	ops  string       // for metrics
	line atomic.Int64 // the length of the longest line of the log since it was set to 0

	cmd    *exec.Cmd
	client *http.Client
}

// start runs a server and waits until it is ready. The caller must stop it.
func start(ctx context.Context, name, program string, args []string) (*server, error) {
	s := &server{name: name, cmd: exec.CommandContext(ctx, program, args...)}
	// Small nodes leave two cores for a webhook, and the limit makes results from larger machines comparable.
	s.cmd.Env = []string{"GOMAXPROCS=2"}
	stderr, err := s.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	log := bufio.NewReader(stderr) // a Scanner would stop at a line of 64 KiB, and the server would then block
	if err := s.await(log); err != nil {
		_ = s.cmd.Wait()
		return nil, err
	}
	go func() {
		for s.read(log) == nil {
		}
	}()
	return s, nil
}

// await reads the log until the server is ready. It returns an error with the log if it ends before.
func (s *server) await(log *bufio.Reader) error {
	var seen bytes.Buffer
	for {
		text, err := log.ReadBytes('\n')
		seen.Write(text)
		if err != nil {
			return fmt.Errorf("%s did not become ready: %w; its log:\n%s", s.name, err, seen.Bytes())
		}
		var line struct{ Msg, To, Address string }
		switch err := json.Unmarshal(text, &line); {
		case err != nil:
		case line.Msg == "ops port bound":
			s.ops = line.Address
		case line.Msg == "phase changed":
			s.addr = cmp.Or(line.Address, s.addr)
			if line.To == "ready" {
				return nil
			}
		}
	}
}

// read reads a line of the log. It prints a line that is not JSON, which is the reason why a server has ended.
func (s *server) read(log *bufio.Reader) error {
	text, err := log.ReadBytes('\n')
	s.line.Store(max(s.line.Load(), int64(len(text))))
	if !bytes.HasPrefix(text, []byte("{")) {
		_, _ = os.Stderr.Write(text)
	}
	return err
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
	if err != nil || len(threads) == 0 {
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

// used returns how much processor time the process uses while work runs, for each of n reviews.
func (s *server) used(n int, work func() error) (time.Duration, error) {
	before, err := s.cpu()
	if err != nil {
		return 0, err
	}
	if err := work(); err != nil {
		return 0, err
	}
	after, err := s.cpu()
	return (after - before) / time.Duration(n), err
}

// allocated returns how many bytes evergate has allocated since its start.
func (s *server) allocated(ctx context.Context) (int64, error) {
	_, text, err := s.call(ctx, http.MethodGet, "http://"+s.ops+"/metrics", nil)
	if err != nil {
		return 0, err
	}
	_, rest, _ := strings.Cut(string(text), "\ngo_memstats_alloc_bytes_total ")
	var n float64
	_, err = fmt.Sscan(rest, &n)
	return int64(n), err
}
