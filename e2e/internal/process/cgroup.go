package process

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// Cgroup is a memory limit like a container's. It includes the kernel's memory for sockets, which the memory of the
// process itself does not.
type Cgroup struct {
	dir string
	v1  bool
}

// ErrNoCgroup means that memory cannot be limited on this machine or by this user.
var ErrNoCgroup = errors.New("memory cannot be limited here")

// Confine moves the process into a new cgroup with a limit of bytes. Remove removes the cgroup.
func (p *Process) Confine(limit int64) (*Cgroup, error) {
	c := &Cgroup{dir: fmt.Sprintf("/sys/fs/cgroup/evergate-%d", p.PID())}
	settings := map[string]int64{"memory.max": limit}
	if _, err := os.Stat("/sys/fs/cgroup/memory"); err == nil {
		c.dir, c.v1 = fmt.Sprintf("/sys/fs/cgroup/memory/evergate-%d", p.PID()), true
		// In version 1, the second limit is separate from the first, and its memory is counted only if it is limited.
		settings = map[string]int64{"memory.limit_in_bytes": limit, "memory.kmem.tcp.limit_in_bytes": limit}
	}
	if err := os.Mkdir(c.dir, 0o755); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
	}
	settings["cgroup.procs"] = int64(p.PID())
	for _, name := range []string{"memory.max", "memory.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes",
		"cgroup.procs"} {
		value, ok := settings[name]
		if !ok {
			continue
		}
		if err := os.WriteFile(filepath.Join(c.dir, name), strconv.AppendInt(nil, value, 10), 0o600); err != nil {
			_ = os.Remove(c.dir)
			return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
		}
	}
	return c, nil
}

// Sockets returns the peak memory of sockets in the kernel. It returns 0 if it is not counted separately.
func (c *Cgroup) Sockets() (int64, error) {
	if !c.v1 {
		return 0, nil
	}
	return c.read("memory.kmem.tcp.max_usage_in_bytes")
}

// Peak returns the peak memory, including sockets.
func (c *Cgroup) Peak() (int64, error) {
	if !c.v1 {
		return c.read("memory.peak")
	}
	used, err := c.read("memory.max_usage_in_bytes")
	if err != nil {
		return 0, err
	}
	sockets, err := c.Sockets()
	return used + sockets, err
}

func (c *Cgroup) read(name string) (int64, error) {
	data, err := os.ReadFile(filepath.Join(c.dir, name))
	if err != nil {
		return 0, fmt.Errorf("read the memory of a cgroup: %w", err)
	}
	return strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64)
}

// Remove removes the cgroup after its process has ended.
func (c *Cgroup) Remove() error {
	if err := os.Remove(c.dir); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
