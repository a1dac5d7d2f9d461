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

// Cgroup is a limit like a container's. A memory limit includes the kernel's memory for sockets, which the memory of
// the process itself does not.
type Cgroup struct {
	dir string
	v1  bool
}

// ErrNoCgroup means that resources cannot be limited on this machine or by this user.
var ErrNoCgroup = errors.New("resources cannot be limited here")

// hierarchies is the mount of version 2, and the parent directory of the mounts of version 1.
const hierarchies = "/sys/fs/cgroup"

// Confine moves the process into a new cgroup with a limit of bytes. Remove removes the cgroup.
func (p *Process) Confine(limit int64) (*Cgroup, error) {
	c, files := &Cgroup{hierarchies, false}, []string{"memory.max"}
	if _, err := os.Stat(filepath.Join(hierarchies, "memory")); err == nil {
		// In version 1, the second limit is separate from the first, and its memory is counted only if it is limited.
		c, files = &Cgroup{filepath.Join(hierarchies, "memory"), true},
			[]string{"memory.limit_in_bytes", "memory.kmem.tcp.limit_in_bytes"}
	}
	c.dir = filepath.Join(c.dir, fmt.Sprintf("evergate-%d", p.PID()))
	err := os.Mkdir(c.dir, 0o755)
	for _, file := range files {
		err = errors.Join(err, os.WriteFile(filepath.Join(c.dir, file), fmt.Append(nil, limit), 0o600))
	}
	err = errors.Join(err, os.WriteFile(filepath.Join(c.dir, "cgroup.procs"), fmt.Append(nil, p.PID()), 0o600))
	if err != nil {
		_ = os.Remove(c.dir)
		return nil, fmt.Errorf("%w: %w", ErrNoCgroup, err)
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
