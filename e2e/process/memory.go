package process

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strings"
)

// Memory is what the kernel says of a process's resident memory, in bytes.
type Memory struct {
	Now  int64
	Peak int64 // since the process started
}

// Memory reads the resident memory of the process. It works on Linux only.
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

// Files counts what the process has open: files, sockets, connections.
func (p *Process) Files() (int, error) {
	entries, err := os.ReadDir(fmt.Sprintf("/proc/%d/fd", p.PID()))
	return len(entries), err
}
