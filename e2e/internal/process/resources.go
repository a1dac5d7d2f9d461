package process

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// Memory is the resident memory of a process, as the kernel reports it, in bytes.
type Memory struct {
	Now  int64
	Peak int64 // since the process started
}

// Memory reads the resident memory of the process. It works only on Linux.
func (p *Process) Memory() (Memory, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.PID()))
	if err != nil {
		return Memory{}, fmt.Errorf("read the memory of the process: %w", err)
	}
	var m Memory
	for lines := bufio.NewScanner(bytes.NewReader(data)); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), ":")
		var field *int64
		switch name {
		case "VmRSS":
			field = &m.Now
		case "VmHWM": // high water mark
			field = &m.Peak
		default:
			continue
		}
		var kibibytes int64
		if _, err := fmt.Sscanf(value, "%d kB", &kibibytes); err != nil {
			return Memory{}, fmt.Errorf("read %s of the process: %w", name, err)
		}
		*field = kibibytes << 10
	}
	return m, nil
}

// Files returns the number of open files, sockets and connections of the process.
func (p *Process) Files() (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	return len(entries), err
}

// CPU returns the processor time that the process has used.
func (p *Process) CPU() (time.Duration, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.PID()))
	if err != nil {
		return 0, fmt.Errorf("read the processor time of the process: %w", err)
	}
	fields := strings.Fields(string(data)) // the second field is the name of the binary, which does not contain spaces
	const utime, stime = 13, 14
	var ticks int64
	for _, f := range []int{utime, stime} {
		n, err := strconv.ParseInt(fields[f], 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read the processor time of the process: %w", err)
		}
		ticks += n
	}
	return time.Duration(ticks) * time.Second / 100, nil // USER_HZ is 100 on every Linux that Go supports
}
